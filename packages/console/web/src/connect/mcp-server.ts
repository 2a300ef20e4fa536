const metadata = '/.well-known/oauth-protected-resource/mcp';
const msMax = 10_000;

/**
 * The program that serves MCP on the agent's machine if Baton's services run separately, because only the default run
 * serves MCP over HTTP. @returns undefined if this address serves MCP
 */
export async function findMcpServer(
  signal: AbortSignal,
): Promise<{ command: string; args: string[] } | undefined> {
  const answer = await fetch(metadata, { signal: AbortSignal.any([signal, AbortSignal.timeout(msMax)]) });
  const { resource } = answer.ok ? ((await answer.json()) as { resource?: unknown }) : {};
  return typeof resource === 'string' ? undefined : { command: 'baton', args: ['mcp'] };
}
