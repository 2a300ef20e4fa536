import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { assertTookLess, byDepth, isLongProof } from '@baton/testing/depth';
import { stopClock } from '../../testing/clock.ts';
import { type Actor, sendRequest, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, makeTask, makeWorker } from '../../testing/leases.ts';
import { requestContext, startWithMemory, type WithMemory } from '../../testing/memory/contexts.ts';
import type { MemoryBehaviour, TestMemory } from '../../testing/memory/memory-service.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { until } from '../../testing/wait-until.ts';

let started: WithMemory;
let baton: TestCoordination;
let memory: TestMemory;
let admin: Actor;
/** A process with a memory timeout of one second. */
let hasty: { url: string };
before(async () => {
  started = await startWithMemory();
  ({ baton, memory } = started);
  ({ admin } = baton);
  hasty = await baton.another({ CP_CONTEXT_TIMEOUT_SECONDS: '1' });
});
afterEach(() => memory.behave({}));
after(() => started.close());

/** The status of a context when the memory service behaves in this way. */
async function statusWhen(behaviour: MemoryBehaviour, ask = () => requestContext(admin)) {
  memory.behave(behaviour);
  const { memoryStatus, memory: pack, memoryTraceId, warnings, operational } = await ask();
  assert.equal(operational.principal.id, admin.principalId);
  if (memoryStatus !== 'ok') assert.deepEqual([pack, memoryTraceId], [null, null]);
  return [memoryStatus, ...warnings];
}

const askHastily = () =>
  done(sendRequest(`${hasty.url}/api/v1/context`, 'POST', { token: admin.token, body: { query: 'x' } }));
const withBody = (body: string, status = 200) => statusWhen({ answer: { status, body } });
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('is returned nevertheless, with a status that gives the reason', () => {
  test('when memory is silent: timeout, after the configured time', async () => {
    const began = performance.now();
    assert.deepEqual(await statusWhen({ delayMs: 60_000 }, askHastily), ['timeout']);
    assert.ok(performance.now() - began >= 990);
    assertTookLess(began, 6000);
  });

  test('when memory trickles a response that never ends: timeout, in the same time', async () => {
    const began = performance.now();
    assert.deepEqual(await statusWhen({ tricklesEveryMs: 20 }, askHastily), ['timeout']);
    assertTookLess(began, 6000);
  });

  test('when it hangs up, fails, or requests a later retry: unavailable', async () => {
    assert.deepEqual(await statusWhen({ hangsUp: true }), ['unavailable', 'memory_failed']);
    for (const status of [500, 503, 401, 429, 302])
      assert.deepEqual(await withBody('{}', status), ['unavailable', 'memory_failed'], `${status}`);
  });

  test('when its response is malformed, huge, too deep, or cannot be stored: unavailable', async () => {
    const unreadable = ['unavailable', 'memory_unreadable'];
    for (const body of ['', 'null', '[]', '{"sections":{}}', '{"sections":[1]}', 'not JSON'])
      assert.deepEqual(await withBody(body), unreadable, body);
    assert.deepEqual(await withBody(`{"sections":[${'{},'.repeat(500)}{}]}`), unreadable);
    assert.deepEqual(await withBody(`{"sections":[],"x":${nested(100)}}`), unreadable);
    assert.deepEqual(await withBody(`{"sections":[],"x":${nested(200_000)}}`), unreadable);
    assert.deepEqual(await withBody(`{"sections":[],"x":[${'0,'.repeat(200_001)}0]}`), unreadable);
    for (const text of ['\\u0000', '\\ud800'])
      for (const body of [`{"sections":[{"text":"${text}"}]}`, `{"sections":[{"${text}":1}]}`])
        assert.deepEqual(await withBody(body), unreadable);
    const long = `{"sections":[{"text":"${'x'.repeat(1_048_576)}"}]}`;
    assert.deepEqual(await withBody(long), ['unavailable', 'memory_failed']);
  });

  test("when its response contains another tenant's namespace: unavailable, and none of it is returned", async () => {
    const foreign = `tenant:${baton.otherTenantId}`;
    for (const named of [`"namespace":"${foreign}:ws:x"`, `"namespaces":["a","${foreign}"]`])
      assert.deepEqual(await withBody(`{"sections":[{"deep":[{${named}}]}]}`), [
        'unavailable',
        'memory_unreadable',
      ]);
    // A namespace that isn't the memory service's is ordinary data.
    assert.deepEqual(await withBody('{"sections":[{"namespace":"kube-system"}]}'), ['ok']);
  });

  test('when it refuses even the namespace of the tenant alone: unavailable', async () => {
    for (const status of [400, 403, 404, 422])
      assert.deepEqual(await withBody('{}', status), ['unavailable', 'memory_refused'], `${status}`);
  });

  test('when it refuses several namespaces, the tenant alone is requested: ok, with a warning', async () => {
    const { id: workspaceId } = await makeWorkspace(baton);
    const tree = `tenant:${baton.tenantId}:ws:${workspaceId}`;
    for (const status of [400, 403, 422]) {
      memory.behave({ refusesNamespace: { name: tree, status } });
      const { memoryStatus, warnings } = await requestContext(admin, { workspaceId });
      assert.deepEqual([memoryStatus, warnings], ['ok', ['memory_namespaces_refused']]);
    }
    memory.behave({ refusesNamespace: { name: tree, status: 404 } });
    const { memoryStatus, warnings } = await requestContext(admin, { workspaceId });
    assert.deepEqual([memoryStatus, warnings], ['unavailable', ['memory_refused']]);
  });

  test('when it exceeds the budget: ok, with a warning; unknown members are passed on', async () => {
    const body = '{"sections":[],"token_estimate":8001,"trace_id":7,"__proto__":{"a":1}}';
    assert.deepEqual(await withBody(body), ['ok', 'memory_over_budget']);
    const answer = await requestContext(admin);
    assert.deepEqual([answer.memoryTraceId, answer.memory.trace_id], [null, 7]);
    assert.ok(Object.hasOwn(answer.memory, '__proto__'));
  });
});

test('a hundred contexts with memory silent hold no connection and delay no claims', async () => {
  const worker = await makeWorker(baton);
  const tasks = await Promise.all(Array.from({ length: 20 }, () => makeTask(baton)));
  const claimAll = async (some: typeof tasks) => {
    const times: number[] = [];
    for (const { id } of some) {
      const began = performance.now();
      await claimTask(worker, id);
      times.push(performance.now() - began);
    }
    return times.sort((a, b) => a - b);
  };
  const quiet = await claimAll(tasks.slice(0, 5));
  const slow = await baton.another({
    CP_CONTEXT_TIMEOUT_SECONDS: byDepth('2', '4'),
    CP_DATABASE_CONNECTIONS_MAX: '4',
    // On a slow machine the last requests start after the first have timed out, so failures must not open the circuit.
    CP_CONTEXT_CIRCUIT_FAILURES: '1000',
  });
  const asked = memory.calls.length;
  memory.behave({ delayMs: 60_000 });
  const asking = Array.from({ length: 100 }, () =>
    fetch(`${slow.url}/api/v1/context`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' },
      body: '{"query":"x"}',
    }).then((response) => response.json() as Promise<{ memoryStatus: string }>),
  );
  await until(() => memory.calls.length >= asked + 100, 'asking');
  // The scrape itself uses a connection to read the gauges of the store.
  await until(async () => {
    const text = await (await fetch(`${slow.url}/metrics`)).text();
    return /^database_connections_in_use [01]$/m.test(text) && /^database_requests_waiting 0$/m.test(text);
  }, 'release of the connections');
  const meanwhile = await claimAll(tasks.slice(5));
  const [usual, slowest] = [quiet[2] as number, meanwhile[7] as number];
  if (isLongProof)
    assert.ok(slowest < Math.max(250, usual * 5), `a claim took ${slowest} ms instead of ${usual}`);
  const statuses = (await Promise.all(asking)).map(({ memoryStatus }) => memoryStatus);
  assert.deepEqual(new Set(statuses), new Set(['timeout']));
  await slow.close();
});

describe('the circuit', () => {
  const figures = async (url: string) => {
    const text = await (await fetch(`${url}/metrics`)).text();
    return (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  };

  test('opens after repeated failures, for one tenant, and closes by itself; health and metrics show it', async (t) => {
    const settings = { CP_CONTEXT_CIRCUIT_FAILURES: '3', CP_CONTEXT_CIRCUIT_SECONDS: '60' };
    const process = await baton.another(settings);
    const ask = async (actor: Actor) => {
      const response = await fetch(`${process.url}/api/v1/context`, {
        method: 'POST',
        headers: { authorization: `Bearer ${actor.token}`, 'content-type': 'application/json' },
        body: '{"query":"x"}',
      });
      const { memoryStatus, warnings } = (await response.json()) as any;
      return [memoryStatus, ...warnings];
    };
    const detail = async () => ((await (await fetch(`${process.url}/health/ready`)).json()) as any).detail;
    memory.behave({ answer: { status: 500 } }, `tenant:${baton.tenantId}`);
    for (let n = 0; n < 3; n += 1) assert.deepEqual(await ask(admin), ['unavailable', 'memory_failed']);
    const asked = memory.calls.length;
    assert.deepEqual(await ask(admin), ['unavailable', 'memory_circuit_open']);
    assert.equal(memory.calls.length, asked);
    assert.deepEqual((await detail()).memory, { circuitsOpen: 1 });
    const open = await figures(process.url);
    const names = [
      'context_circuits_open',
      'context_requests_total',
      'context_degraded_total',
      'context_provider_failures_total',
      'context_request_duration_seconds_count',
    ];
    assert.deepEqual(names.map(open), [1, 4, 4, 3, 4]);
    assert.ok(open('context_request_duration_seconds_sum') > 0);
    assert.deepEqual(await ask(baton.otherAdmin), ['ok']);
    memory.behave({}, `tenant:${baton.tenantId}`);
    stopClock(t)(60_000);
    assert.deepEqual(await ask(admin), ['ok']);
    assert.equal((await detail())?.memory, undefined);
    assert.equal((await figures(process.url))('context_circuits_open'), 0);
    await process.close();
  });
});

test('no response of the memory service appears in the log', async () => {
  const secret = 'what-memory-alone-knows-5173';
  const lines: string[] = [];
  const { listen } = await import('../../testing/coordination.ts');
  const { createLog } = await import('@baton/kernel/process/log');
  const destination = { write: (line: string) => void lines.push(line) };
  const closers: (() => Promise<void>)[] = [];
  const service = await listen(
    { ...baton.env },
    closers,
    createLog({ name: 'coordination', level: 'debug', destination }),
  );
  const ask = (path: string, body: object) =>
    fetch(`${service.url}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).then((response) => response.text());
  for (const [status, body] of [
    [500, secret],
    [400, `{"error":"${secret}"}`],
    [200, `{"sections":"${secret}"}`],
    [200, `{"sections":[{"text":"${secret}"}]}`],
  ] as const) {
    memory.behave({ answer: { status, body } });
    await ask('/context', { query: 'x' });
    await ask('/context/recall', { anchor: 'a:b' });
  }
  await service.close();
  assert.equal(lines.join('').includes(secret), false);
  await done(admin.get('/harness/context'));
});
