import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parseEnv, promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Session } from '@baton/sdk';
import { type BatonProcess, program, repository } from '@baton/testing/baton-process';
import { longTest } from '@baton/testing/depth';
import { connectionOf, leaseIn, type RunningBaton, shareRunningBaton } from './testing/running-baton.ts';

// `baton agent connect`: its output is put where its client reads it, and the client then does a task.

let baton: RunningBaton;
let folder: string;
before(async () => {
  baton = await shareRunningBaton();
  folder = mkdtempSync(join(tmpdir(), 'baton-connect-'));
});
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await baton?.stop();
});

interface Connecting {
  readonly key: string;
  /** The text to paste, without the sentences for the person. */
  readonly snippet: string;
  readonly process: BatonProcess;
}

/** Starts the command, and returns once it is waiting for the agent. */
async function connecting(words: readonly string[]): Promise<Connecting> {
  const key = `agent-${crypto.randomUUID().slice(0, 8)}`;
  const args = ['agent', 'connect', `Agent ${key}`, '--key', key, ...words];
  const process = program('packages/cli/src/main.ts', args, { BATON_HOME: baton.home });
  let snippet = '';
  process.child.stdout?.on('data', (chunk: Buffer) => (snippet += chunk.toString()));
  await process.prints(/Waiting for its first call/);
  return { key, snippet, process };
}

async function assertConnected({ process }: Connecting, pattern: RegExp): Promise<void> {
  assert.equal(await process.ended, 0, process.output());
  assert.match(process.output(), pattern);
}

const taskFor = async (key: string) =>
  (await baton.admin.tasks.create({ title: 'Say hello', assigneeId: `agent:${key}` })).id;

async function assertDone(taskId: string, key: string): Promise<Session> {
  assert.equal((await baton.admin.tasks.get(taskId)).systemStatusCategory, 'terminal_success');
  const [run] = (await baton.admin.runs.list({ taskId })).items;
  const { revision, principalId } = await baton.admin.agents.get(key);
  assert.deepEqual([run?.agentRevisionId, run?.principalId], [revision.id, principalId]);
  const { items } = await baton.admin.sessions.list({ principalId: principalId as string });
  assert.deepEqual(
    items.map(({ principalId: owner }) => owner),
    items.map(() => principalId),
  );
  return items.at(-1) as Session;
}

/** The server entry in a client's configuration file, as that client parses it. */
function serverIn(snippet: string): Record<string, unknown> {
  if (snippet.startsWith('{')) {
    const { mcpServers, servers } = JSON.parse(snippet) as Record<string, Record<string, object>>;
    return (mcpServers ?? servers)?.['baton'] as Record<string, unknown>;
  }
  assert.match(snippet, /^\[mcp_servers\.baton\]\n/);
  const values = [...snippet.matchAll(/^(\w+) = (.*)$/gm)].map(([, name = '', value = '']) => [
    name,
    // An inline table of strings is JSON except for the names and the equals signs.
    JSON.parse(value.replaceAll(/([{,] ?)(\w+) = /g, '$1"$2": ')) as unknown,
  ]);
  return Object.fromEntries(values) as Record<string, unknown>;
}

/** Takes one task and completes it, as a model that uses the tools would. */
async function work(client: Client): Promise<void> {
  const { call } = connectionOf(client);
  const lease = leaseIn(await call('work_next'));
  await call('work_done', { lease, summary: 'Said hello' });
}

const clientNamed = (title: string) => new Client({ name: 'the-client', title, version: '7.1' });

const membersOfHttp: Readonly<Record<string, readonly string[]>> = {
  'claude-code': ['type', 'url', 'headers'],
  codex: ['url', 'http_headers'],
  cursor: ['url', 'headers'],
  gemini: ['httpUrl', 'headers'],
  vscode: ['type', 'url', 'headers'],
  mcp: ['type', 'url', 'headers'],
};

for (const [name, members] of Object.entries(membersOfHttp))
  test(`the configuration for ${name} connects it over HTTP: it does a task, and is announced by its name`, async () => {
    const agent = await connecting(['--client', name]);
    const server = serverIn(agent.snippet);
    assert.deepEqual(Object.keys(server), members);
    const url = String(server['url'] ?? server['httpUrl']);
    const headers = (server['headers'] ?? server['http_headers']) as Record<string, string>;
    const taskId = await taskFor(agent.key);
    const client = clientNamed(`Client ${name}`);
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    await client.listTools();
    // The machine of a client over HTTP is not known, so it isn't named.
    await assertConnected(agent, new RegExp(`^Client ${name} is connected as Agent ${agent.key}\\.$`, 'm'));
    await work(client);
    await client.close();
    const { clientName, clientVersion, harnessType, hostname: host } = await assertDone(taskId, agent.key);
    assert.deepEqual(
      [clientName, clientVersion, harnessType, host],
      [`Client ${name}`, '7.1', 'baton-mcp', null],
    );
  });

for (const name of Object.keys(membersOfHttp)) {
  const testOf = ['codex', 'vscode'].includes(name) ? test : longTest;
  testOf(
    `with --stdio the configuration for ${name} starts a server on this machine, which it names`,
    async () => {
      const agent = await connecting(['--client', name, '--stdio']);
      const server = serverIn(agent.snippet) as unknown as {
        readonly command: string;
        readonly args: readonly string[];
        readonly env: Record<string, string>;
      };
      assert.deepEqual(Object.keys(server.env), ['BATON_URL', 'BATON_TOKEN']);
      const taskId = await taskFor(agent.key);
      const client = clientNamed('Codex');
      await client.connect(
        new StdioClientTransport({
          command: server.command,
          args: [...server.args],
          env: { PATH: '', HOME: folder, ...server.env },
          cwd: folder,
        }),
      );
      await assertConnected(agent, new RegExp(`^Codex on ${hostname()} is connected as `, 'm'));
      await work(client);
      await client.close();
      const session = await assertDone(taskId, agent.key);
      assert.deepEqual([session.clientName, session.hostname], ['Codex', hostname()]);
    },
  );
}

test('the script of a command does a task, in the workspace of the agent only', async () => {
  const slug = `desk-${crypto.randomUUID().slice(0, 8)}`;
  const workspace = await baton.admin.workspaces.create({ slug, name: 'Desk' });
  const exec = `printf '%s' "$BATON_TASK_TITLE's result"`;
  const agent = await connecting(['--client', 'command', '--workspace', slug, '--exec', exec]);
  const file = join(folder, `${agent.key}.sh`);
  writeFileSync(file, agent.snippet, { mode: 0o600 });
  assert.match(agent.snippet, /^#!\/bin\/sh\n/);
  const elsewhere = await baton.admin.tasks.create({ title: 'Elsewhere', priority: 'critical' });
  const { id: taskId } = await baton.admin.tasks.create({ title: 'Here', workspaceId: workspace.id });
  const script = agent.snippet.replace(/ agent run /, ' agent run --once ');
  writeFileSync(file, script);
  const child = spawn('sh', [file], {
    cwd: repository,
    env: { PATH: process.env.PATH, HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += String(chunk)));
  const code = await new Promise((resolve) => child.once('exit', resolve));
  assert.equal(code, 0, printed);
  await assertConnected(agent, new RegExp(`^${hostname()} on ${hostname()} is connected`, 'm'));
  const { hostname: host, harnessType } = await assertDone(taskId, agent.key);
  assert.deepEqual([host, harnessType], [hostname(), 'baton-runner']);
  assert.equal((await baton.admin.tasks.get(elsewhere.id)).status, 'todo');
});

test("the settings of a program that uses the SDK let the manual's first program do a task", async () => {
  const agent = await connecting(['--client', 'sdk']);
  const settings = parseEnv(agent.snippet);
  assert.deepEqual(Object.keys(settings).sort(), ['BATON_TOKEN', 'BATON_URL']);
  const taskId = await taskFor(agent.key);
  const own = join(repository, 'examples', 'agent-sdk', 'agent.mjs');
  const file = join(folder, '.env');
  writeFileSync(file, agent.snippet, { mode: 0o600 });
  await promisify(execFile)(process.execPath, [`--env-file=${file}`, own, '--once'], {
    cwd: repository,
    env: { PATH: process.env.PATH, HOME: folder },
  });
  await assertConnected(agent, new RegExp(`^My first agent on ${hostname()} is connected`, 'm'));
  await assertDone(taskId, agent.key);
});

test('work_next offers an agent the tasks of its workspace, and those of another one on request', async () => {
  const slug = `desk-${crypto.randomUUID().slice(0, 8)}`;
  const [own, other] = [
    await baton.admin.workspaces.create({ slug, name: 'Desk' }),
    await baton.admin.workspaces.create({ slug: `${slug}-2`, name: 'Other' }),
  ];
  const agent = await connecting(['--client', 'mcp', '--workspace', slug]);
  const server = serverIn(agent.snippet) as { url: string; headers: Record<string, string> };
  const client = clientNamed('Desk client');
  const { headers } = server;
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } }));
  await assertConnected(agent, /is connected/);
  const { call } = connectionOf(client);
  await baton.admin.tasks.create({ title: 'Theirs', workspaceId: other.id, priority: 'critical' });
  assert.match(await call('work_next'), /^No work is available/);
  await baton.admin.tasks.create({ title: 'Ours', workspaceId: own.id });
  assert.match(await call('work_next'), /Ours/);
  assert.match(await call('work_next', { workspaceId: other.id }), /Theirs/);
  await client.close();
});
