/** An MCP server that the client starts as a child process. */
export interface StdioServer {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** An MCP server that the client reaches over streamable HTTP. */
export interface HttpServer {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A client of the Model Context Protocol, and the form of its configuration. */
export interface McpClient {
  /** The name by which people know the client. */
  readonly title: string;
  /** The file that the client reads. */
  readonly file: string;
  /** The client's syntax for the environment variable BATON_TOKEN; undefined if it has none. */
  readonly reference: string | undefined;
  readonly format: 'json' | 'toml';
  writeStdio(server: StdioServer): string;
  /** Absent if the client's file can't contain the headers of a server. */
  writeHttp?(server: HttpServer): string;
}

export const tokenVariable = 'BATON_TOKEN';
/** The placeholder in the file of VS Code, which then prompts for the token and stores it. */
export const tokenInput = '${input:baton-token}';

const json = (value: object) => JSON.stringify(value, undefined, 2);
const inMcpServers = (server: object) => json({ mcpServers: { baton: server } });
const usual = {
  format: 'json',
  writeStdio: inMcpServers,
  writeHttp: (server: HttpServer) => inMcpServers({ type: 'http', ...server }),
} as const;

/** The clients whose configuration Baton writes. */
export const mcpClients = {
  'claude-code': {
    ...usual,
    title: 'Claude Code',
    file: '.mcp.json in the project',
    reference: `\${${tokenVariable}}`,
  },
  'claude-desktop': {
    title: 'Claude Desktop',
    file: 'claude_desktop_config.json (Settings, Developer, Edit Config)',
    reference: undefined,
    format: 'json',
    writeStdio: inMcpServers,
  },
  cursor: {
    ...usual,
    title: 'Cursor',
    file: '.cursor/mcp.json in the project, or ~/.cursor/mcp.json',
    reference: `\${env:${tokenVariable}}`,
    writeHttp: inMcpServers,
  },
  vscode: {
    title: 'VS Code',
    file: '.vscode/mcp.json in the project',
    reference: tokenInput,
    format: 'json',
    writeStdio: ({ env, ...server }) => {
      const asksToken = env[tokenVariable] === tokenInput;
      const description = "Personal access token of Baton's agent";
      const input = { type: 'promptString', id: 'baton-token', description, password: true };
      return json({
        ...(asksToken && { inputs: [input] }),
        servers: { baton: { type: 'stdio', ...server, env } },
      });
    },
    writeHttp: (server) => json({ servers: { baton: { type: 'http', ...server } } }),
  },
  codex: {
    title: 'Codex',
    file: '~/.codex/config.toml',
    // Codex passes on the variables that `env_vars` names.
    reference: '',
    format: 'toml',
    writeStdio: ({ command, args, env }) => {
      const { [tokenVariable]: token, ...plain } = env;
      const isInherited = token === '';
      return [
        '[mcp_servers.baton]',
        `command = ${JSON.stringify(command)}`,
        `args = ${JSON.stringify(args)}`,
        ...(isInherited ? [`env_vars = ${JSON.stringify([tokenVariable])}`] : []),
        `env = ${inlineTable(isInherited ? plain : env)}`,
      ].join('\n');
    },
    writeHttp: ({ url, headers }) =>
      ['[mcp_servers.baton]', `url = ${JSON.stringify(url)}`, `http_headers = ${inlineTable(headers)}`].join(
        '\n',
      ),
  },
  gemini: {
    title: 'Gemini CLI',
    file: '.gemini/settings.json in the project, or ~/.gemini/settings.json',
    reference: `$${tokenVariable}`,
    format: 'json',
    writeStdio: inMcpServers,
    // Gemini CLI expects the protocol's former transport (SSE) under `url`.
    writeHttp: ({ url, headers }) => inMcpServers({ httpUrl: url, headers }),
  },
} satisfies Record<string, McpClient>;

export type McpClientName = keyof typeof mcpClients;
export const mcpClientNames = Object.keys(mcpClients) as McpClientName[];

/** The form that most other clients read. */
export const anyMcpClient: McpClient = {
  ...usual,
  title: 'Any MCP client',
  file: "the client's MCP configuration",
  reference: undefined,
};

/** An inline TOML table, whose strings have the same syntax as in JSON. */
function inlineTable(values: Readonly<Record<string, string>>): string {
  const members = Object.entries(values).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  return `{ ${members.join(', ')} }`;
}
