// Third-party MCP clients from npm work through a task at /mcp.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { type Participant, type RunningBaton, sharedBaton } from '@baton/testing/running-baton';
import { clientsFolder, loadClient, withoutClients } from './testing/client-libraries.ts';

let baton: RunningBaton;
before(async () => {
  baton = await sharedBaton();
});
after(() => baton.stop());

/** Calls a tool and returns its text. */
type Call = (name: string, args: Record<string, unknown>) => Promise<string>;

interface Connected {
  readonly tools: readonly string[];
  readonly call: Call;
  close(): Promise<void>;
}

type Connect = (url: string, headers: Record<string, string>) => Promise<Connected>;

interface McpClient {
  connect(transport: unknown): Promise<void>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(call: { name: string; arguments: object }): Promise<{ content: { text?: string }[] }>;
  close(): Promise<void>;
}

/** The first major version of the protocol's SDK, which most clients use. */
const connectSdk: Connect = async (url, headers) => {
  const { Client } = await loadClient<{ Client: new (info: object) => McpClient }>(
    '@modelcontextprotocol/sdk/client/index.js',
  );
  const { StreamableHTTPClientTransport } = await loadClient<{
    StreamableHTTPClientTransport: new (url: URL, options: object) => unknown;
  }>('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const client = new Client({ name: 'tests', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return {
    tools: (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args) => {
      const { content } = await client.callTool({ name, arguments: args });
      return content.map(({ text }) => text).join('\n');
    },
    close: () => client.close(),
  };
};

interface LangChainTool {
  readonly name: string;
  invoke(args: object): Promise<unknown>;
}

const connectLangChain: Connect = async (url, headers) => {
  const { MultiServerMCPClient } = await loadClient<{
    MultiServerMCPClient: new (
      options: object,
    ) => {
      getTools(): Promise<LangChainTool[]>;
      close(): Promise<void>;
    };
  }>('@langchain/mcp-adapters');
  const client = new MultiServerMCPClient({
    throwOnLoadError: true,
    prefixToolNameWithServerName: false,
    additionalToolNamePrefix: '',
    mcpServers: { baton: { transport: 'http', url, headers } },
  });
  const tools = await client.getTools();
  return {
    tools: tools.map(({ name }) => name),
    call: async (name, args) => {
      const answer = await tools.find((tool) => tool.name === name)?.invoke(args);
      return typeof answer === 'string' ? answer : JSON.stringify(answer);
    },
    close: () => client.close(),
  };
};

const connectAiSdk: Connect = async (url, headers) => {
  interface AiTool {
    execute(args: object, options: object): Promise<{ content: { text?: string }[] }>;
  }
  const { createMCPClient } = await loadClient<{
    createMCPClient(options: object): Promise<{
      tools(): Promise<Record<string, AiTool>>;
      close(): Promise<void>;
    }>;
  }>('@ai-sdk/mcp');
  const client = await createMCPClient({ transport: { type: 'http', url, headers } });
  const tools = await client.tools();
  return {
    tools: Object.keys(tools),
    call: async (name, args) => {
      const answer = await tools[name]?.execute(args, { toolCallId: 'test', messages: [] });
      return (answer?.content ?? []).map(({ text }) => text).join('\n');
    },
    close: () => client.close(),
  };
};

/** A command-line client: each call is a process with a separate connection. */
const connectMcporter: Connect = async (url, headers) => {
  const home = mkdtempSync(join(tmpdir(), 'baton-mcporter-'));
  const config = join(home, 'mcporter.json');
  writeFileSync(config, JSON.stringify({ mcpServers: { baton: { baseUrl: url, headers } } }));
  const run = async (...words: string[]) => {
    const program = join(clientsFolder, 'node_modules/mcporter/dist/cli.js');
    const env = { PATH: process.env.PATH ?? '', HOME: home, NO_COLOR: '1' };
    const options = { env, cwd: home, timeout: 60_000 };
    return (await promisify(execFile)(process.execPath, [program, '--config', config, ...words], options))
      .stdout;
  };
  const listed = JSON.parse(await run('list', 'baton', '--json')) as { tools: { name: string }[] };
  return {
    tools: listed.tools.map(({ name }) => name),
    call: (name, args) => run('call', `baton.${name}`, '--args', JSON.stringify(args), '--output', 'text'),
    close: async () => rmSync(home, { recursive: true, force: true }),
  };
};

const clients: readonly (readonly [name: string, connect: Connect, needs: readonly string[]])[] = [
  ['@modelcontextprotocol/sdk', connectSdk, []],
  ['@langchain/mcp-adapters', connectLangChain, ['@langchain/core', '@langchain/langgraph']],
  ['@ai-sdk/mcp', connectAiSdk, []],
  ['mcporter', connectMcporter, []],
];

describe('third-party MCP clients', () => {
  for (const [name, connect, needs] of clients) {
    const skip = withoutClients(name, ...needs);
    if (skip !== false) console.warn(`SKIPPED: ${skip}`);
    test(`${name} lists the tools, and works through a task`, { skip }, async () => {
      const agent: Participant = await baton.participant();
      const task = await baton.admin.tasks.create({ title: `For ${name}`, assigneeId: agent.principalId });
      const connected = await connect(`${baton.url}/mcp`, { Authorization: `Bearer ${agent.token}` });
      try {
        for (const tool of ['work_next', 'work_checkpoint', 'work_done', 'ask_approval'])
          assert.ok(connected.tools.includes(tool), tool);
        const taken = await connected.call('work_next', { task: task.publicId });
        assert.match(taken, new RegExp(`You hold ${task.publicId}`));
        const [, lease = ''] = /Lease: ([\da-f-]{36})/.exec(taken) ?? [];
        // Free-form objects are included, because with the earlier schemas some models' clients couldn't pass them on.
        const data = { files: ['a.ts'], counts: { done: 1 } };
        assert.match(
          await connected.call('work_checkpoint', { lease, note: 'half of it', data }),
          /Checkpoint 1/,
        );
        assert.match(
          await connected.call('work_done', { lease, summary: 'it is done', output: { answer: 42 } }),
          new RegExp(`${task.publicId} is done`),
        );
        const [run] = (await baton.admin.runs.list({ taskId: task.id })).items;
        assert.deepEqual(run?.output, { summary: 'it is done', answer: 42 });
        const { checkpoints } = await baton.admin.runs.getContext(run?.id ?? '');
        assert.deepEqual(checkpoints[0]?.data, { note: 'half of it', ...data });
      } finally {
        await connected.close();
      }
    });
  }
});
