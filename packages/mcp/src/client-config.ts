import { type McpClient, type McpClientName, mcpClients, tokenVariable } from '@baton/sdk/connect';
import { programPath } from '../../../bin/invocation.mjs';

/**
 * Printed for clients whose files can't refer to a variable. A token is never printed, because such files end up in
 * repositories.
 */
const placeholder = 'the-token-of-the-agent';

/** The output of `baton mcp --config`: the configuration, and notes for the person, which don't belong in the file. */
export interface ClientConfig {
  readonly text: string;
  readonly notes: readonly string[];
}

/** The Baton that the server connects to, given by its address, or by its folder on this machine. */
export type Place = { readonly url: string } | { readonly home: string };

/**
 * Writes the configuration of a client that starts this Baton's MCP server. It contains the paths of this Node and this
 * program, because a client starts its servers in any folder, and often without the PATH of a shell. @param args the
 * server's arguments
 */
export function buildClientConfig(name: McpClientName, args: readonly string[], place: Place): ClientConfig {
  const client: McpClient = mcpClients[name];
  const isRemote = 'url' in place;
  const env: Record<string, string> = isRemote
    ? { BATON_URL: place.url, [tokenVariable]: client.reference ?? placeholder }
    : { BATON_HOME: place.home };
  const text = client.writeStdio({ command: process.execPath, args: [programPath, 'mcp', ...args], env });
  return { text, notes: [`For ${client.file}.`, isRemote ? tokenNote(name, client) : administratorNote] };
}

/** Where the client gets the token from. */
function tokenNote(name: McpClientName, { reference }: McpClient): string {
  if (reference === undefined) return `Replace ${placeholder} with the token.`;
  if (name === 'vscode') return 'It contains no token: VS Code prompts for it once, and stores it.';
  return `It contains no token: the client reads ${tokenVariable} from its environment.`;
}

const administratorNote =
  'The server acts as the administrator of the Baton of this machine. For a separate agent, run baton agent connect, or set BATON_URL and BATON_TOKEN and print it again (docs/mcp.md).';
