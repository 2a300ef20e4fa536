import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { repository } from '@baton/testing/baton-process';
import {
  agentPermissions,
  connectionOf,
  type RunningBaton,
  shareRunningBaton,
} from './testing/running-baton.ts';

type Entry =
  | { readonly command: string; readonly args: readonly string[]; readonly env: Record<string, string> }
  | { readonly url: string; readonly headers: Record<string, string> };

let baton: RunningBaton;
before(async () => {
  baton = await shareRunningBaton();
});
after(() => baton.stop());

const page = () => readFileSync(join(repository, 'docs/mcp.md'), 'utf8');

/** Every configuration that the page shows, with the addresses and tokens of this test. */
function configurations(token: string): Entry[] {
  const blocks = [...page().matchAll(/^```json\n(.*?)^```/gms)].map(([, json = '']) =>
    json
      .replaceAll('/path/to/baton', repository)
      .replaceAll('http://localhost:8080', baton.url)
      .replaceAll('the-token-of-the-agent', token),
  );
  return blocks.flatMap((json) => {
    const { mcpServers, servers } = JSON.parse(json) as Record<string, Record<string, Entry>>;
    return Object.values(mcpServers ?? servers ?? {});
  });
}

test('every configuration that the page shows starts a server that answers', async () => {
  const { token } = await baton.participant();
  const entries = configurations(token);
  assert.equal(entries.length, 5);
  for (const entry of entries) {
    const client = new Client({ name: 'tests', version: '1' });
    await client.connect(transportOf(entry));
    const tools = await connectionOf(client).tools();
    assert.equal(tools.includes('task_search'), true);
    assert.equal(tools.includes('work_next'), !JSON.stringify(entry).includes('read-only'));
    await client.close();
  }
});

function transportOf(entry: Entry): Transport {
  if ('url' in entry)
    return new StreamableHTTPClientTransport(new URL(entry.url), { requestInit: { headers: entry.headers } });
  const { command, args, env } = entry;
  const PATH = process.env.PATH ?? '';
  return new StdioClientTransport({ command, args: [...args], env: { ...env, PATH } });
}

test('the page names every tool, and the permissions that they need', async () => {
  const named = [...page().matchAll(/^\| `\w+` \|(.*)\|$/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w+_\w+)`/g)].map(([, name = '']) => name),
  );
  const all = await baton.connect(baton.connection.adminToken, ['--toolsets', 'all']);
  assert.deepEqual(named.sort(), await all.tools());
  for (const permission of agentPermissions) assert.ok(page().includes(`\`${permission}\``), permission);
});

/**
 * The protocol's own inspector takes 110 MB and isn't a dependency of this repository. Install it with `npm install
 * --prefix FOLDER @modelcontextprotocol/inspector@2.12.0`, and set MCP_INSPECTOR to its folder.
 */
const inspector = join(
  process.env.MCP_INSPECTOR ?? '/nowhere',
  'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
);

test('the inspector finds every tool in order, over standard input and output and over HTTP, and works through them', {
  skip: !existsSync(inspector) && 'MCP_INSPECTOR names no folder that holds @modelcontextprotocol/inspector',
}, async () => {
  const { token, principalId } = await baton.participant();
  const home = mkdtempSync(join(tmpdir(), 'baton-inspector-test-'));
  const servers = {
    stdio: [
      'node',
      join(repository, 'bin/baton.mjs'),
      'mcp',
      '-e',
      `BATON_URL=${baton.url}`,
      '-e',
      `BATON_TOKEN=${token}`,
    ],
    http: [`${baton.url}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${token}`],
  };
  // Each client releases its lease when it disconnects; otherwise the next call would find the lease under the same
  // token.
  const task = await baton.admin.tasks.create({ title: 'Inspected', assigneeId: principalId });
  try {
    for (const server of Object.values(servers)) {
      const inspect = async (...args: string[]) => {
        const env = { PATH: `${join(process.execPath, '..')}:${process.env.PATH}`, HOME: home };
        const words = [inspector, '--cli', ...server, '--method', ...args];
        const { stdout } = await promisify(execFile)(process.execPath, words, { env, cwd: home });
        return stdout;
      };
      // `--strict` ends with code 6 for a schema that some clients can't read.
      const { tools } = JSON.parse(await inspect('tools/list', '--strict')) as { tools: unknown[] };
      assert.equal(tools.length, 15);
      const words = ['--tool-name', 'work_next', '--tool-arg', 'assignedToMe=true', 'waitSeconds=10'];
      assert.match(await inspect('tools/call', ...words), new RegExp(`You hold ${task.publicId}`));
      assert.match(await inspect('resources/read', '--uri', `baton://task/${task.publicId}`), /Inspected/);
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
