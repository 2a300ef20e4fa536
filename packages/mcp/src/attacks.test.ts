import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { program, repository } from '@baton/testing/baton-process';
import { assertTookLess, byDepth } from '@baton/testing/depth';
import {
  clientOfEra,
  connectionOf,
  leaseIn,
  type Participant,
  type RunningBaton,
  startRunningBaton,
} from './testing/running-baton.ts';

/** The lifetime of access tokens here: soon after a token is revoked, its access tokens have expired. */
const accessTokenSeconds = 3;

const clientToKill = fileURLToPath(import.meta.resolve('./testing/client-to-kill.ts'));

let baton: RunningBaton;
before(async () => {
  baton = await startRunningBaton({ IAM_TOKEN_TTL_SECONDS: String(accessTokenSeconds) });
});
after(() => baton.stop());

const taskFor = ({ principalId }: Participant, title = 'a task') =>
  baton.admin.tasks.create({ title, assigneeId: principalId });
const claimsOf = async (taskId: string) => (await baton.admin.claims.list({ taskId })).items;

async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`never: ${what}`);
    await sleep(100);
  }
}

/** The program over standard input and output, used without an MCP client library. */
function rawServer(token: string) {
  const env = { PATH: process.env.PATH ?? '', BATON_URL: baton.url, BATON_TOKEN: token };
  const args = [join(repository, 'packages/mcp/src/main.ts'), '--lease-seconds', '600'];
  const server = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  server.stdin.on('error', () => undefined);
  const ask = (id: number | string, method: string, params: unknown) =>
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  ask(0, 'initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'x', version: '1' },
  });
  return { server, ask };
}

async function overHttp(token: string) {
  const client = clientOfEra('2025');
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${baton.url}/mcp`), { requestInit }));
  return connectionOf(client);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

// These tests run in sequence, because each takes any available task.
test('clients that race over HTTP get different tasks, one token or several', async () => {
  const people = await Promise.all([baton.participant(), baton.participant()]);
  await Promise.all(Array.from({ length: 6 }, () => baton.admin.tasks.create({ title: 'race' })));
  const clients = await Promise.all(people.map(({ token }) => overHttp(token)));
  const taken = await Promise.all(
    [...clients, ...clients, ...clients].map((mcp) => mcp.call('work_next', { waitSeconds: 20 })),
  );
  const refs = taken.map((text) => /You hold (\S+?)\./.exec(text)?.[1]);
  assert.equal(refs.includes(undefined), false);
  assert.equal(new Set(refs).size, taken.length);
  await Promise.all(clients.map((mcp) => mcp.close()));
});

// Each test has its own agent and tasks. They run in parallel, because most of the time they wait.
describe('attacks', { concurrency: 8 }, () => {
  for (const [what, server] of Object.entries({
    'the server itself': ['packages/mcp/src/main.ts'],
    'the command baton': ['bin/baton.mjs', 'mcp'],
  }))
    test(`a client that is killed loses its lease at once, where it started ${what}`, async () => {
      const one = await baton.participant();
      const task = await taskFor(one);
      const [file = '', ...words] = server;
      const args = [join(repository, file), ...words, '--lease-seconds', '600'];
      const env = { BATON_URL: baton.url, BATON_TOKEN: one.token };
      const client = program(clientToKill, args, env);
      const [, pid] = await client.prints(/server (\d+) holds a task/);
      assert.equal((await claimsOf(task.id))[0]?.status, 'active');
      client.child.kill('SIGKILL');
      const began = performance.now();
      await until('released', async () => (await claimsOf(task.id))[0]?.status === 'released');
      assertTookLess(began, 10_000, 'the release');
      await until('the server ends', () => !isRunning(Number(pid)));
    });

  test('a server that was suspended for longer than its lease writes nothing for it afterwards', async () => {
    const one = await baton.participant();
    const task = await taskFor(one);
    const stalled = await baton.connect(one.token, ['--lease-seconds', '10']);
    const lease = leaseIn(await stalled.call('work_next', { assignedToMe: true }));
    await stalled.call('work_checkpoint', { lease, note: 'before' });
    process.kill(stalled.pid, 'SIGSTOP');
    // Meanwhile the client sends a request. It waits in the pipe and is the first that the server reads when it
    // continues.
    const late = stalled.refused('work_done', { lease, summary: 'too late' });
    const next = await baton.connect(one.token);
    const again = leaseIn(await next.call('work_next', { assignedToMe: true, waitSeconds: 40 }));
    process.kill(stalled.pid, 'SIGCONT');
    assert.match(await late, /lost the lease|lease .* is lost/);
    assert.match(await stalled.refused('task_comment', { task: task.publicId, text: 'x', lease }), /lost/);
    await next.call('work_done', { lease: again, summary: 'in time' });
    const { items } = await baton.admin.runs.list({ taskId: task.id });
    assert.deepEqual(
      items.filter(({ status }) => status === 'succeeded').map(({ output }) => output?.summary),
      ['in time'],
    );
  });

  test('a token that is revoked in the midst of work ends the lease, in plain words', async () => {
    const one = await baton.participant();
    const task = await taskFor(one);
    const mcp = await baton.connect(one.token, ['--lease-seconds', '10']);
    const lease = leaseIn(await mcp.call('work_next', { assignedToMe: true }));
    await sleep(2 * accessTokenSeconds * 1000);
    assert.match(await mcp.call('work_checkpoint', { lease, note: 'token after token' }), /Checkpoint 1/);
    await baton.admin.identity.platformAccessTokens.revokeOwn({ token: one.token });
    await sleep(accessTokenSeconds * 1000);
    assert.match(await mcp.refused('task_search'), /token has expired or was revoked/);
    await until('its lease ends', async () => (await baton.admin.tasks.getClaimability(task.id)).claimable);
    const late = await mcp.refused('work_done', { lease, summary: 'too late' });
    assert.match(late, /lost the lease|token has expired or was revoked/);
    assert.notEqual((await baton.admin.tasks.get(task.id)).systemStatusCategory, 'terminal_success');
  });

  test('a client that sends 2,000 calls at once is answered each, and keeps its lease', async () => {
    const one = await baton.participant();
    await taskFor(one);
    // On a busy machine the calls can take longer than 10 s.
    const mcp = await baton.connect(one.token, ['--lease-seconds', byDepth('60', '10')]);
    const lease = leaseIn(await mcp.call('work_next', { assignedToMe: true }));
    const calls = Array.from({ length: byDepth(500, 2_000) }, () =>
      mcp.call('task_search', {}).catch((error: unknown) => String(error)),
    );
    const answers = await Promise.all(calls);
    const refused = answers.filter((answer) => /Too many requests at once/.test(answer));
    const found = answers.filter((answer) => /found|shown/.test(answer));
    assert.equal(refused.length + found.length, answers.length);
    assert.ok(found.length >= 200, String(found.length));
    assert.match(await mcp.call('work_checkpoint', { lease, note: 'mine' }), /Checkpoint 1/);
  });

  test('requests that were taken back make room for those that wait', async () => {
    const one = await baton.participant();
    const mcp = await baton.connect(one.token);
    const gone = new AbortController();
    const wait = { name: 'work_next', arguments: { assignedToMe: true, waitSeconds: 50 } };
    const waiting = Array.from({ length: 40 }, () =>
      mcp.client.callTool(wait, { signal: gone.signal }).catch(String),
    );
    await sleep(500);
    gone.abort();
    await Promise.all(waiting);
    assert.match(await mcp.call('task_search', { words: 'nothing' }), /No task/);
  });

  test('a request with the id of one that is under way is refused, and begins nothing', async () => {
    const { server, ask } = rawServer((await baton.participant()).token);
    const answers: { id: unknown; error?: { message: string } }[] = [];
    createInterface({ input: server.stdout }).on('line', (line) => answers.push(JSON.parse(line)));
    ask('same', 'tools/call', { name: 'work_next', arguments: { assignedToMe: true, waitSeconds: 50 } });
    for (let n = 0; n < 100; n += 1) ask('same', 'tools/call', { name: 'task_search', arguments: {} });
    ask('other', 'tools/call', { name: 'task_search', arguments: {} });
    await until('answered', () => answers.some(({ id }) => id === 'other'));
    const same = answers.filter(({ id }) => id === 'same').map(({ error }) => error?.message);
    assert.deepEqual(same, Array(100).fill('This id is in use: wait for its answer first.'));
    server.kill();
  });

  test('a client that sends requests and does not read ends its server, and its lease with it', async () => {
    const one = await baton.participant();
    const task = await taskFor(one);
    const { server, ask } = rawServer(one.token);
    const ended = new Promise((resolve) => server.once('exit', resolve));
    ask(1, 'tools/call', { name: 'work_next', arguments: { assignedToMe: true } });
    await until('taken', async () => (await claimsOf(task.id))[0]?.status === 'active');
    for (let id = 2; server.exitCode === null && id < 100_000; id += 1) {
      ask(id, 'tools/list', {});
      if (id % 50 === 0) await sleep(20);
    }
    await ended;
    await until('released', async () => (await claimsOf(task.id))[0]?.status === 'released');
  });
});
