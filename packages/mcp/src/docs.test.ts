import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { repository } from '../../../e2e/testing/baton-process.ts';
import {
  agentPermissions,
  connectionOf,
  type RunningBaton,
  startRunningBaton,
} from './testing/running-baton.ts';

type Entry =
  | { readonly command: string; readonly args: readonly string[]; readonly env: Record<string, string> }
  | { readonly url: string; readonly headers: Record<string, string> };

let baton: RunningBaton;
before(async () => {
  baton = await startRunningBaton();
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
  const all = await baton.connect(baton.connection.adminToken, [
    '--toolsets',
    'work,tasks,approvals,knowledge,admin',
  ]);
  assert.deepEqual(named.sort(), await all.tools());
  for (const permission of agentPermissions) assert.ok(page().includes(`\`${permission}\``), permission);
});
