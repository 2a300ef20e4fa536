import { programPath } from '../../../bin/invocation.mjs';

/** The configuration format for an MCP client that starts the server. */
interface Client {
  /** The file that the client reads. */
  readonly file: string;
  /** The client's syntax for a reference to an environment variable; undefined if it has none. */
  readonly reference: string | undefined;
  /** A note for the user about the token. */
  readonly token: string;
  write(server: Server): string;
}

interface Server {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const tokenVariable = 'BATON_TOKEN';
/**
 * For clients whose files can't refer to a variable. A token is never printed, because such files end up in
 * repositories.
 */
const placeholder = 'the-token-of-the-agent';

const tokenInput = '${input:baton-token}';
const fromEnvironment = `It contains no token: the client reads ${tokenVariable} from its environment.`;

const inMcpServers = (server: Server) => json({ mcpServers: { baton: server } });

const clients = {
  'claude-code': {
    file: '.mcp.json in the project',
    reference: `\${${tokenVariable}}`,
    token: fromEnvironment,
    write: inMcpServers,
  },
  'claude-desktop': {
    file: 'claude_desktop_config.json (Settings, Developer, Edit Config)',
    reference: undefined,
    token: `Replace ${placeholder} with the token.`,
    write: inMcpServers,
  },
  cursor: {
    file: '.cursor/mcp.json in the project, or ~/.cursor/mcp.json',
    reference: `\${env:${tokenVariable}}`,
    token: fromEnvironment,
    write: inMcpServers,
  },
  vscode: {
    file: '.vscode/mcp.json in the project',
    reference: tokenInput,
    token: 'It contains no token: VS Code prompts for it once, and stores it.',
    write: ({ env, ...server }) => {
      const asksToken = env[tokenVariable] === tokenInput;
      const description = "Personal access token of Baton's agent";
      const input = { type: 'promptString', id: 'baton-token', description, password: true };
      return json({
        ...(asksToken && { inputs: [input] }),
        servers: { baton: { type: 'stdio', ...server, env } },
      });
    },
  },
  codex: {
    file: '~/.codex/config.toml',
    // Codex passes on the variables that `env_vars` names.
    reference: '',
    token: fromEnvironment,
    write: ({ command, args, env }) => {
      const { [tokenVariable]: token, ...plain } = env;
      return [
        '[mcp_servers.baton]',
        `command = ${JSON.stringify(command)}`,
        `args = ${JSON.stringify(args)}`,
        ...(token === undefined ? [] : [`env_vars = ${JSON.stringify([tokenVariable])}`]),
        `env = { ${Object.entries(plain)
          .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
          .join(', ')} }`,
      ].join('\n');
    },
  },
  gemini: {
    file: '.gemini/settings.json in the project, or ~/.gemini/settings.json',
    reference: `$${tokenVariable}`,
    token: fromEnvironment,
    write: inMcpServers,
  },
} satisfies Record<string, Client>;

export type ClientName = keyof typeof clients;
export const clientNames = Object.keys(clients) as ClientName[];

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
export function buildClientConfig(name: ClientName, args: readonly string[], place: Place): ClientConfig {
  const client: Client = clients[name];
  const isRemote = 'url' in place;
  const env: Record<string, string> = isRemote
    ? { BATON_URL: place.url, [tokenVariable]: client.reference ?? placeholder }
    : { BATON_HOME: place.home };
  const text = client.write({ command: process.execPath, args: [programPath, 'mcp', ...args], env });
  return { text, notes: [`For ${client.file}.`, isRemote ? client.token : administratorNote] };
}

const administratorNote =
  'The server acts as the administrator of the Baton of this machine. For a separate agent, set BATON_URL and BATON_TOKEN, and print it again (docs/mcp.md).';

const json = (value: object) => JSON.stringify(value, undefined, 2);
