import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { startDatabaseProxy } from '@baton/kernel/testing/database/database-proxy';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { assertTookLess, longTest } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  done,
  endClaimLease,
  makeRun,
  makeTask,
  makeWorker,
  openSession,
  refused,
} from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { until } from '../../testing/wait-until.ts';
import { startWorker } from '../worker.ts';
import { createMeasures } from './measures.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const quiet = createLog({ name: 'worker', level: 'silent' });

/** The values of all lines, by name and labels. */
async function metricsAt(url: string, headers: Record<string, string> = {}): Promise<Map<string, number>> {
  const answer = await fetch(`${url}/metrics`, { headers });
  assert.equal(answer.status, 200);
  const lines = (await answer.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}

/** How some work changes the first process's counters and gauges. */
async function moved(work: () => Promise<unknown>): Promise<(name: string) => number> {
  const earlier = await metricsAt(baton.url);
  await work();
  const later = await metricsAt(baton.url);
  return (name) => (later.get(name) ?? 0) - (earlier.get(name) ?? 0);
}

/** The gauges of the store, read by a process that has not read any before. */
async function freshGauges(): Promise<(name: string) => number | undefined> {
  const process = await baton.another();
  const metrics = await metricsAt(process.url);
  await process.close();
  return (name) => metrics.get(name);
}

test('http_requests_total counts every response by method and status, including refusals and unknown methods', async () => {
  const by = await moved(async () => {
    await baton.admin.get('/tasks');
    await baton.admin.get('/tasks/TASK-999999');
    await baton.request('GET', '/nowhere');
    await baton.request('DELETE', '/api/v1/tasks');
    await fetch(`${baton.url}/api/v1/tasks`, { method: 'PROPFIND' });
  });
  const requests = (method: string, status: number) =>
    by(`http_requests_total{method="${method}",status="${status}"}`);
  // Each read of the metrics is counted with its response, so the second read includes the first.
  assert.equal(requests('GET', 200), 2);
  assert.equal(requests('GET', 404), 2);
  assert.equal(requests('DELETE', 405), 1);
  assert.equal(requests('OTHER', 404), 1);
  assert.equal(by('http_request_duration_seconds_count'), 2);
});

test('active_harness_sessions, active_claims and active_runs count live objects, and orphaned_runs counts runs without a live claim', async () => {
  const earlier = await freshGauges();
  const worker = await makeWorker(baton);
  const { task, run } = await makeRun(baton, worker);
  const held = await makeRun(baton, worker);
  const grown = (read: typeof earlier, name: string) => (read(name) ?? Number.NaN) - (earlier(name) ?? 0);
  const running = await freshGauges();
  const names = ['active_harness_sessions', 'active_claims', 'active_runs', 'orphaned_runs'];
  const grownOf = (read: typeof earlier) => names.map((name) => grown(read, name));
  assert.deepEqual(grownOf(running), [1, 2, 2, 0]);
  await endClaimLease(baton, task.id);
  assert.deepEqual(grownOf(await freshGauges()), [1, 1, 1, 1]);
  await done(worker.actor.post(`/runs/${held.run.id}:succeed`, {}));
  await done(worker.actor.post(`/runs/${run.id}:fail`, { failureReason: 'over' }));
  await done(worker.actor.post(`/sessions/${worker.sessionId}:close`, {}));
  assert.deepEqual(grownOf(await freshGauges()), [0, 0, 0, 0]);
});

test('claim_takeovers_total counts a dead claim that :claim, :reclaim or work:claim-next replaced, but no refused one', async () => {
  const [first, second] = [await makeWorker(baton), await makeWorker(baton)];
  const reclaim = (id: string) => second.actor.post(`/claims/${id}:reclaim`, { sessionId: second.sessionId });
  const takeOver = async (how: (task: any, claim: any) => Promise<unknown>) => {
    const task = await makeTask(baton, { priority: 'critical' });
    const claim = await claimTask(first, task.id);
    await refused(reclaim(claim.id), 409, 'claim_not_expired');
    await endClaimLease(baton, task.id);
    await how(task, claim);
  };
  const by = await moved(async () => {
    await takeOver((task) => claimTask(second, task.id));
    await takeOver((_task, claim) => done(reclaim(claim.id)));
    await takeOver(async (task) => {
      const next = await done(second.actor.post('/work:claim-next', { sessionId: second.sessionId }));
      assert.deepEqual(
        next.items.map(({ task: { id } }: any) => id),
        [task.id],
      );
    });
  });
  assert.equal(by('claim_takeovers_total'), 3);
});

test('stale_fencing_rejections_total counts every stale_claim and run_not_active, and no other refusal', async () => {
  const [first, second] = [await makeWorker(baton), await makeWorker(baton)];
  const { task, claim, run } = await makeRun(baton, first);
  await endClaimLease(baton, task.id);
  await claimTask(second, task.id);
  const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
  const by = await moved(async () => {
    await refused(first.actor.post(`/tasks/${task.id}:start-run`, keys), 409, 'stale_claim');
    await refused(first.actor.post(`/runs/${run.id}/checkpoints`, { kind: 'progress' }), 409, 'stale_claim');
    await done(first.actor.post(`/runs/${run.id}:fail`, { failureReason: 'over' }));
    await refused(first.actor.post(`/runs/${run.id}:succeed`, {}), 409, 'run_not_active');
    await refused(
      first.actor.post(`/tasks/${task.id}:claim`, { sessionId: first.sessionId }),
      409,
      'task_already_claimed',
    );
  });
  assert.equal(by('stale_fencing_rejections_total'), 3);
});

test('run_cancellations_total counts a cancelled run once, however often the call is repeated', async () => {
  const worker = await makeWorker(baton);
  const { run } = await makeRun(baton, worker);
  const cancel = () =>
    worker.actor.post(`/runs/${run.id}:cancel`, {}, { 'idempotency-key': `cancel-${run.id}` });
  const by = await moved(async () => {
    await done(cancel());
    assert.equal((await cancel()).headers.get('idempotency-replayed'), 'true');
  });
  assert.equal(by('run_cancellations_total'), 1);
});

test('event_replay_requests_total counts pages of the journal, and event_replay_events_total their events', async () => {
  await journalIsStable(baton.pool);
  await done(baton.admin.get('/events?limit=2'));
  const by = await moved(async () => {
    const { items } = await done(baton.admin.get('/events?limit=2'));
    assert.equal(items.length, 2);
    await refused(baton.admin.get('/events?limit=0'), 422, 'invalid_limit');
  });
  assert.equal(by('event_replay_requests_total'), 1);
  assert.equal(by('event_replay_events_total'), 2);
});

test('a process counts its own responses, and reads the same gauges of the store as another', async () => {
  const worker = await makeWorker(baton);
  await makeRun(baton, worker);
  const [left, right] = [await baton.another(), await baton.another()];
  const asked = async (url: string, times: number) => {
    for (let n = 0; n < times; n += 1) await fetch(`${url}/health/live`);
  };
  await Promise.all([asked(left.url, 3), asked(right.url, 5)]);
  const [ofLeft, ofRight] = [await metricsAt(left.url), await metricsAt(right.url)];
  const answered = 'http_requests_total{method="GET",status="200"}';
  assert.deepEqual([ofLeft.get(answered), ofRight.get(answered)], [3, 5]);
  for (const name of [
    'active_harness_sessions',
    'active_claims',
    'active_runs',
    'outbox_waiting',
    'outbox_dead',
  ])
    assert.equal(ofLeft.get(name), ofRight.get(name), name);
});

test('the gauges of the store are read once in 5 s, whatever the number of scrapers', async () => {
  const process = await baton.another();
  const sessions = async () => (await metricsAt(process.url)).get('active_harness_sessions') ?? Number.NaN;
  const startedAt = performance.now();
  const before = await sessions();
  await openSession(await baton.actor());
  const soon = await sessions();
  // If the machine took 5 s to get here, the gauges have been read again and may differ.
  if (performance.now() - startedAt < 5000) assert.equal(soon, before);
  await until(async () => (await sessions()) === before + 1, 'the next reading');
  assert.ok(performance.now() - startedAt >= 5000);
  await process.close();
});

test('no label of a metric refers to a tenant, a task or a run', async () => {
  const text = await (await fetch(`${baton.url}/metrics`)).text();
  const labels = new Set([...text.matchAll(/[{,](\w+)="/g)].map(([, label]) => label));
  assert.deepEqual([...labels].toSorted(), ['le', 'method', 'status']);
});

longTest('an unresponsive database delays /metrics by 3 s, and a comment replaces its gauges', async (t) => {
  const database = await startDatabaseProxy(baton.databaseUrl);
  t.after(() => database.cut());
  const process = await baton.another({ CP_DATABASE_URL: database.url });
  assert.ok((await metricsAt(process.url)).has('active_claims'));
  database.silence();
  await new Promise((done) => setTimeout(done, 5100));
  const startedAt = performance.now();
  const texts = await Promise.all([1, 2].map(async () => (await fetch(`${process.url}/metrics`)).text()));
  assertTookLess(startedAt, 9000);
  for (const text of texts) {
    assert.match(text, /^# DB gauges unavailable$/m);
    assert.match(text, /^claim_takeovers_total 0$/m);
    assert.match(text, /^database_connections_in_use [1-9]/m);
    assert.doesNotMatch(text, /^(active_|outbox_|journal_horizon|orphaned)/m);
  }
  database.speak();
  await until(async () => (await metricsAt(process.url)).has('active_claims'), 'the gauges');
  await process.close();
});

const token = 'token-of-the-scraper';

test('if CP_METRICS_TOKEN is set, only that bearer token reads /metrics, and it gives no other access', async () => {
  keepSecret('metrics token', token);
  const process = await baton.another({ CP_METRICS_TOKEN: token });
  const read = async (path: string, authorization?: string) => {
    const answer = await fetch(`${process.url}${path}`, authorization ? { headers: { authorization } } : {});
    return { status: answer.status, body: await answer.text() };
  };
  for (const wrong of [
    undefined,
    token,
    'Bearer',
    'Bearer wrong',
    `Bearer ${token}x`,
    `Basic ${token}`,
    `Bearer ${baton.admin.token}`,
  ]) {
    const { status, body } = await read('/metrics', wrong);
    assert.equal(status, 401, wrong);
    assert.equal(JSON.parse(body).error.code, 'invalid_credentials');
  }
  assert.equal((await read('/metrics', `Bearer ${token}`)).status, 200);
  assert.equal((await read('/metrics', `bearer ${token}`)).status, 200);
  assert.equal((await read('/api/v1/tasks', `Bearer ${token}`)).status, 401);
  assert.equal((await read('/health/live')).status, 200);
  await process.close();
});

async function startWatched(settings: Record<string, string> = {}) {
  const port = await freePort();
  const env = { ...baton.env, CP_WORKER_METRICS_PORT: port, ...settings };
  const worker = await startWorker({ env, log: quiet });
  return { worker, env, url: `http://127.0.0.1:${port}` };
}

test('the worker is monitored on CP_WORKER_METRICS_PORT: metrics, live and ready, and nothing else', async () => {
  const { worker, url, env } = await startWatched();
  const metrics = await metricsAt(url);
  assert.equal(metrics.get('run_cancellations_total'), 0);
  assert.ok(metrics.has('active_claims') && metrics.has('outbox_waiting'));
  assert.equal((await fetch(`${url}/health/live`)).status, 200);
  const ready = await fetch(`${url}/health/ready`);
  assert.equal(((await ready.json()) as { status: string }).status, 'ready');
  for (const path of ['/', '/metrics/', '/constructor', '/api/v1/tasks'])
    assert.equal((await fetch(`${url}${path}`)).status, 404, path);
  assert.equal((await fetch(`${url}/metrics`, { method: 'POST' })).status, 404);
  await assert.rejects(
    startWorker({ env, log: quiet }),
    /^Error: CP_WORKER_METRICS_PORT \d+ cannot be used\.$/,
  );
  await worker.close();
  await assert.rejects(fetch(`${url}/health/live`));
});

test("the worker's monitoring port requires CP_METRICS_TOKEN, and reports not ready without the database", async (t) => {
  const database = await startDatabaseProxy(baton.databaseUrl);
  const { worker, url } = await startWatched({ CP_METRICS_TOKEN: token, CP_DATABASE_URL: database.url });
  t.after(() => worker.close());
  assert.equal((await fetch(`${url}/metrics`)).status, 401);
  assert.ok((await metricsAt(url, { authorization: `Bearer ${token}` })).has('active_claims'));
  await database.cut();
  const ready = await fetch(`${url}/health/ready`);
  assert.deepEqual(
    [ready.status, await ready.json()],
    [503, { status: 'unavailable', reason: 'database_unreachable' }],
  );
});

test('without CP_WORKER_METRICS_PORT the worker opens no port', async () => {
  const measures = createMeasures();
  const worker = await startWorker({ env: baton.env, log: quiet, measures });
  const sockets = process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length;
  await worker.close();
  assert.equal(process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length, sockets);
});

test('the outbox shows undelivered events and dead letters', async () => {
  await baton.pool.run(sql`delete from outbox`);
  await makeTask(baton);
  const waiting = await freshGauges();
  assert.equal(waiting('outbox_waiting'), 1);
  const age = waiting('outbox_oldest_age_seconds') ?? Number.NaN;
  assert.ok(age > 0 && age < 60, `${age} s`);
  await baton.pool.run(sql`
    with gone as (delete from outbox returning event_sequence, tenant_id)
    insert into outbox_deliveries (lead, sink, tenant_id, event_sequences, oldest_position, is_new, available_at)
    select event_sequence, 'test', tenant_id, array[event_sequence], 1, false, now() from gone`);
  const handed = await freshGauges();
  assert.equal(handed('outbox_waiting'), 1);
  assert.ok((handed('outbox_oldest_age_seconds') ?? 0) >= age);
  await baton.pool.run(
    sql`update outbox_deliveries set attempts = 8, available_at = 'infinity', dead_at = now()`,
  );
  const dead = await freshGauges();
  assert.deepEqual([dead('outbox_dead'), dead('outbox_oldest_age_seconds')], [1, 0]);
  await baton.pool.run(sql`delete from outbox_deliveries`);
});
