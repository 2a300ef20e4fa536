import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { runProgram } from '../program.ts';

/** Replaces both services: a journal of 450 events in pages, one event a minute, and the two calls. */
const journal = Array.from({ length: 450 }, (_, n) => ({
  id: `id-${n}`,
  type: n % 2 === 0 ? 'task.created' : 'task.claimed',
  occurredAt: new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString(),
  payload: { text: `Zeile ${n} „ä“` },
  cursor: `ec1_${n}`,
}));
const asked: { path: string; query: URLSearchParams; key: string | undefined; body: unknown }[] = [];
/** Makes events long. */
let padding = '';
let failAtPage = Number.POSITIVE_INFINITY;
let home: string;

const server = createServer((request, response) => {
  void answer(request).then(({ status, body }) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  });
});

async function answer(request: IncomingMessage): Promise<{ status: number; body: object }> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://localhost');
  if (pathname.endsWith(':exchange')) return { status: 200, body: { accessToken: 'a.b.c', expiresIn: 300 } };
  const key = request.headers['idempotency-key'] as string | undefined;
  asked.push({ path: pathname, query, key, body: text === '' ? undefined : JSON.parse(text) });
  if (pathname.endsWith('/events')) return pageOf(query);
  if (pathname.endsWith(':archive'))
    return {
      status: 200,
      body: { archived: 2, journalFloorCursor: 'ec1_2', archiveFloorCursor: 'ec1_0', minAgeSeconds: 5 },
    };
  if (pathname.endsWith(':prune')) return { status: 200, body: { pruned: 0, archiveFloorCursor: 'ec1_0' } };
  return { status: 404, body: {} };
}

function pageOf(query: URLSearchParams): { status: number; body: object } {
  if (asked.length >= failAtPage)
    return { status: 500, body: { error: { code: 'internal_error', message: 'no' } } };
  const cursor = query.get('cursor');
  const from = cursor === null ? 0 : Number(cursor.slice(4)) + 1;
  const limit = Number(query.get('limit'));
  const items = journal
    .slice(from, from + limit)
    .filter(({ type }) => query.get('types') === null || type.startsWith(query.get('types') as string))
    .map((event) => (padding === '' ? event : { ...event, padding }));
  const end = Math.min(from + limit, journal.length);
  return { status: 200, body: { items, nextCursor: `ec1_${end - 1}`, hasMore: end < journal.length } };
}

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  home = mkdtempSync(join(tmpdir(), 'baton-cli-operations-'));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const rest = { issuer: 'i', tenantId: 't', iamBootstrapToken: 'b', adminToken: 'hush' };
  writeFileSync(
    join(home, 'connection.json'),
    JSON.stringify({ ...rest, coordinationUrl: url, identityUrl: `${url}/iam` }),
  );
});
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(home, { recursive: true });
});
beforeEach(() => {
  asked.length = 0;
  padding = '';
  failAtPage = Number.POSITIVE_INFINITY;
});

async function run(...args: string[]) {
  const lines: string[] = [];
  const stderr: string[] = [];
  const output = {
    line: (text: string) => lines.push(text),
    progress: (text: string) => stderr.push(text),
    isTerminal: false,
    columns: 80,
  };
  const code = await runProgram(['operations', ...args], { config: { home, environment: {} }, output });
  process.exitCode = 0;
  return { code, lines, stderr: stderr.join('') };
}
const idsIn = (lines: readonly string[]) => lines.map((line) => (JSON.parse(line) as { id: string }).id);
const idsOf = (from: number, end: number) => journal.slice(from, end).map(({ id }) => id);
const linesOf = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n');

test('export prints every event as one line of JSON, and the position for the next export', async () => {
  const { code, lines, stderr } = await run('export');
  assert.equal(code, 0);
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    journal,
  );
  assert.equal(stderr, '450 events exported. To continue later: --after ec1_449\n');
  assert.equal(asked.length, 3);
});

test('export takes a range of cursors, of times, and types', async () => {
  assert.deepEqual(
    idsIn((await run('export', '--after', 'ec1_9', '--through', 'ec1_20')).lines),
    idsOf(10, 21),
  );
  const times = ['--since', '2026-01-01T00:05:00Z', '--until', '2026-01-01T00:10:00Z'];
  assert.deepEqual(idsIn((await run('export', ...times)).lines), idsOf(5, 10));
  assert.equal(asked.length, 2, 'it stops once no later event can be in the range');
  assert.equal((await run('export', '--types', 'task.created')).lines.length, 225);
});

test("export fails if its last event doesn't exist", async () => {
  const { code, stderr } = await run('export', '--through', 'ec1_999');
  assert.equal(code, 1);
  assert.match(stderr, /^The journal ended without an event at ec1_999\.\n$/);
});

test('a file is new and private, and an interrupted export continues in it without loss or repetition', async () => {
  const file = join(home, 'journal.jsonl');
  failAtPage = 3;
  assert.equal((await run('export', '--file', file)).code, 1);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(idsIn(linesOf(file)), idsOf(0, 400));
  failAtPage = Number.POSITIVE_INFINITY;
  assert.match(
    (await run('export', '--file', file)).stderr,
    /journal\.jsonl exists: continue it with --resume/,
  );
  // Simulates a kill in the middle of a write.
  truncateSync(file, statSync(file).size - 30);
  const { code, lines } = await run('export', '--file', file, '--resume', '--json');
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(lines[0] as string), { events: 51, cursor: 'ec1_449' });
  assert.deepEqual(idsIn(linesOf(file)), idsOf(0, 450));
});

test('resume starts an empty file again, and rejects one that is not an export', async () => {
  const file = join(home, 'other.jsonl');
  writeFileSync(file, '');
  assert.equal((await run('export', '--file', file, '--resume')).lines[0]?.slice(0, 10), '450 events');
  appendFileSync(file, 'something else\n');
  assert.match((await run('export', '--file', file, '--resume')).stderr, /last line of .* is not an event/);
  assert.match((await run('export', '--resume')).stderr, /name it with --file/);
  assert.match(
    (await run('export', '--file', join(home, 'none'), '--resume')).stderr,
    /can't be written \(ENOENT\)/,
  );
});

test('archive and prune send the values of the options, under a key', async () => {
  const { lines } = await run('archive', '--before-seconds', '5', '--max-events', '7');
  assert.deepEqual(lines, ['2 events archived, through ec1_2.']);
  assert.deepEqual(asked[0]?.body, { beforeSeconds: 5, maxEvents: 7 });
  assert.match(asked[0]?.key ?? '', /^[0-9a-f]{32}$/);
  const pruned = await run('prune');
  assert.match(pruned.lines[0] ?? '', /^Nothing was deleted/);
  assert.deepEqual(asked[1]?.body, {});
  assert.deepEqual(JSON.parse((await run('prune', '--json')).lines[0] as string), {
    pruned: 0,
    archiveFloorCursor: 'ec1_0',
  });
});

test('an invalid number or time is a usage error', async () => {
  assert.equal((await run('archive', '--max-events', 'many')).code, 2);
  assert.equal((await run('export', '--since', 'yesterday')).code, 2);
  assert.equal((await run('export', '--since', '2026-01-01T00:00:00')).code, 2);
});

/** The command as a process, whose standard output is a pipe. */
function spawnExport() {
  const main = join(import.meta.dirname, '../main.ts');
  const child = spawn(process.execPath, [main, 'operations', 'export'], {
    env: { PATH: process.env.PATH, BATON_HOME: home },
  });
  const ended = once(child, 'exit') as Promise<[code: number]>;
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return { child, ended, stderr: () => stderr };
}
async function untilAsked(child: ChildProcess, pages: number): Promise<void> {
  while (asked.length < pages) {
    assert.equal(child.exitCode, null);
    await new Promise((done) => setTimeout(done, 20));
  }
}

test('export reads no further page until the reader of its output has read the previous one', async () => {
  padding = 'x'.repeat(20_000);
  const { child, ended, stderr } = spawnExport();
  await untilAsked(child, 1);
  await new Promise((done) => setTimeout(done, 1000));
  assert.equal(asked.length, 1);
  let text = '';
  for await (const part of child.stdout.setEncoding('utf8')) text += String(part);
  assert.deepEqual(idsIn(text.trimEnd().split('\n')), idsOf(0, 450));
  assert.deepEqual(await ended, [0, null]);
  assert.match(stderr(), /^450 events exported/);
});

test('export ends without an error when the reader of its output closes it', async () => {
  padding = 'x'.repeat(20_000);
  const { child, ended, stderr } = spawnExport();
  await once(child.stdout, 'data');
  child.stdout.destroy();
  assert.deepEqual(await ended, [0, null]);
  assert.equal(stderr(), '');
});
