import {
  anyMcpClient,
  type McpClient,
  type McpClientName,
  mcpClients,
  type StdioServer,
  tokenVariable,
} from './mcp-clients.ts';

const { 'claude-desktop': _stdioOnly, ...httpClients } = mcpClients;

/** The MCP clients that reach a Baton elsewhere without an installation. */
const mcp: Readonly<Record<Exclude<McpClientName, 'claude-desktop'> | 'mcp', McpClient>> = {
  ...httpClients,
  mcp: anyMcpClient,
};

/** What connects an agent: an MCP client, a command per task, or a program that uses the SDK. */
export type ConnectClient = keyof typeof mcp | 'command' | 'sdk';

/** The names of the clients as people see them, in the order in which they are offered. */
export const connectClients: Readonly<Record<ConnectClient, string>> = {
  'claude-code': mcp['claude-code'].title,
  codex: mcp.codex.title,
  cursor: mcp.cursor.title,
  gemini: mcp.gemini.title,
  vscode: mcp.vscode.title,
  mcp: mcp.mcp.title,
  command: 'A command for each task',
  sdk: 'A program that uses the SDK',
};
export const connectClientNames = Object.keys(connectClients) as ConnectClient[];

export const isMcpClient = (client: ConnectClient): client is keyof typeof mcp => Object.hasOwn(mcp, client);

/** The values that a snippet contains. */
export interface SnippetValues {
  /** The address of Baton that the agent uses. */
  readonly url: string;
  readonly token: string;
  readonly agentKey: string;
  /** The slug or the id of the workspace that the agent works in. */
  readonly workspace?: string | undefined;
  /** The command that the agent runs for each task; necessary for `command`. */
  readonly exec?: string | undefined;
  /** The words that run `baton` on the agent's machine; `baton` by default. */
  readonly program?: string | undefined;
  /** Starts the MCP server on the agent's machine, instead of reaching it over HTTP. */
  readonly stdio?: Pick<StdioServer, 'command' | 'args'> | undefined;
}

/** The text to paste, where to paste it, and what to do next. The text contains the token. */
export interface Snippet {
  readonly text: string;
  readonly file: string;
  readonly format: 'json' | 'toml' | 'sh' | 'env';
  readonly nextStep: string;
}

/**
 * Writes the configuration that connects an agent.
 * @throws TypeError for `command` without a command
 */
export function buildSnippet(client: ConnectClient, values: SnippetValues): Snippet {
  if (isMcpClient(client)) return mcpSnippet(mcp[client], values);
  return client === 'sdk' ? envSnippet(values) : scriptSnippet(values);
}

function mcpSnippet(client: McpClient, { url, token, stdio }: SnippetValues): Snippet {
  const { title, file, format, writeStdio, writeHttp } = client;
  const text =
    stdio !== undefined || writeHttp === undefined
      ? writeStdio({
          command: stdio?.command ?? 'baton',
          args: stdio?.args ?? ['mcp'],
          env: { BATON_URL: url, [tokenVariable]: token },
        })
      : writeHttp({ url: `${url}/mcp`, headers: { Authorization: `Bearer ${token}` } });
  const name = client === anyMcpClient ? 'the client' : title;
  return {
    text,
    file,
    format,
    nextStep: `Restart ${name}, and prompt it to take its next task from Baton.`,
  };
}

const warning = 'This file has its token: keep it out of repositories.';

function scriptSnippet(values: SnippetValues): Snippet {
  const { url, token, agentKey, workspace, exec, program = 'baton' } = values;
  if (exec === undefined || exec.trim() === '')
    throw new TypeError('an agent that runs a command needs the command');
  const within = workspace === undefined ? '' : ` --workspace ${shellWord(workspace)}`;
  return {
    text: [
      '#!/bin/sh',
      `# The agent ${agentKey} of Baton. ${warning}`,
      `export BATON_URL=${shellWord(url)}`,
      `export ${tokenVariable}=${shellWord(token)}`,
      `exec ${program} agent run${within} --exec ${shellWord(exec)}`,
    ].join('\n'),
    file: `${agentKey}.sh`,
    format: 'sh',
    nextStep: `Run sh ${agentKey}.sh, in a folder where the command ${program} runs this Baton.`,
  };
}

function envSnippet({ url, token, agentKey, workspace }: SnippetValues): Snippet {
  return {
    text: [
      `# The agent ${agentKey} of Baton. ${warning}`,
      `BATON_URL=${url}`,
      `${tokenVariable}=${token}`,
      ...(workspace === undefined ? [] : [`BATON_WORKSPACE=${workspace}`]),
    ].join('\n'),
    file: '.env of the program',
    format: 'env',
    nextStep: 'Start the program with node --env-file=.env; docs/agents.md has a first one.',
  };
}

/** Quotes a string as one word for a shell, whatever it contains. */
function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
