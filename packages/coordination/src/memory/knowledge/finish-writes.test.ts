import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { longTest } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { type Actor, type Answer, sendRequest, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf } from '../../testing/leases.ts';
import { startWithMemory, type WithMemory } from '../../testing/memory/contexts.ts';
import { documentOf, knowledgeEvents, snapshotOf } from '../../testing/memory/knowledge.ts';
import type { TestMemory } from '../../testing/memory/memory-service.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { type ServiceProcess, startProcess } from '../../testing/programs/service-processes.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { until } from '../../testing/wait-until.ts';
import { finishWrites } from './finish-writes.ts';
import { insertIntent } from './intents.sql.ts';

// Processes that are killed between the memory service's response and the event for the write.

let started: WithMemory;
let baton: TestCoordination;
let memory: TestMemory;
let admin: Actor;
let workers: ReturnType<typeof makeWorkerTools>[];
before(async () => {
  started = await startWithMemory({ CP_CONTEXT_INGEST_TIMEOUT_SECONDS: '10' });
  ({ baton, memory } = started);
  ({ admin } = baton);
  workers = [makeWorkerTools(baton), makeWorkerTools(baton)];
});
afterEach(() => memory.behave({}));
after(async () => {
  for (const worker of workers) await worker.close();
  await started.close();
});

/** Runs two concurrent workers after the lease of the crashed process has expired. */
async function finishAll(): Promise<void> {
  await baton.pool.run(sql`update knowledge_intents set due_at = now() - interval '1 s'`);
  await Promise.all(workers.map(({ tools }) => finishWrites(tools).run()));
}

const intents = () =>
  baton.pool.rows<{ kind: string; attempts: number; waits: boolean }>(sql`
    select kind, attempts, due_at > now() as waits from knowledge_intents order by kind`);

/** Kills a process while it is waiting to write the events for the memory service's response. */
async function killBeforeEvents(process: ServiceProcess, begun: () => Promise<boolean>): Promise<void> {
  const waiting = sql<{ n: number }>`
    select count(*)::int as n from pg_locks join pg_stat_activity using (pid)
    where not granted and locktype = 'transactionid' and datname = current_database()`;
  await until(begun);
  await baton.pool.transaction(async (tx) => {
    const held = await tx.rows(sql<{ id: string }>`select id from knowledge_intents for update`);
    await until(
      async () => ((await baton.pool.row(waiting))?.n ?? 0) >= held.length,
      'the processes wait for the lock',
    );
    await process.stop('SIGKILL');
  });
}

test('a write whose process dies between the response of memory and the event still gets exactly one event', async () => {
  const service = await startProcess('serve', baton.env);
  const { id } = await makeWorkspace(baton);
  const name = `p${newId()}`;
  const pack = { name, version: '1', scope: 'tenant', kinds: {} };
  memory.knowledge.handle('POST', '/api/memory/packages', new URLSearchParams(), {
    ...pack,
    name: 'known',
    namespace: `tenant:${baton.tenantId}`,
  });
  const writes = [
    ['POST', '/knowledge/snapshots', snapshotOf(id)],
    ['POST', '/knowledge/documents', documentOf(id)],
    ['POST', '/knowledge/packs', pack],
    ['PUT', `/workspaces/${id}/knowledge-packs`, { packs: ['known@1'] }],
  ] as const;
  const headers = writes.map(() => ({ 'idempotency-key': newId() }));
  const sendTo = (url: string, at: number): Promise<Answer> => {
    const [method, path, body] = writes[at] as (typeof writes)[number];
    const options = { token: admin.token, body, headers: headers[at] as Record<string, string> };
    return sendRequest(`${url}/api/v1${path}`, method, options);
  };
  memory.behave({ delayMs: 2000 });
  const sent = writes.map((_, at) => sendTo(service.url, at).catch(() => undefined));
  await killBeforeEvents(service, async () => (await intents()).length === writes.length);
  assert.deepEqual(new Set(await Promise.all(sent)), new Set([undefined]));
  memory.behave({});
  // Memory has all the writes; the journal doesn't have their events yet.
  assert.equal(memory.knowledge.documents(`tenant:${baton.tenantId}:ws:${id}`).length, 1);
  assert.deepEqual(await knowledgeEvents(baton, id), []);
  assert.deepEqual(
    (await intents()).map(({ kind }) => kind),
    ['configuration', 'document', 'pack', 'snapshot'],
  );

  await finishAll();
  assert.deepEqual(await intents(), []);
  const told = await knowledgeEvents(baton, id);
  assert.deepEqual(
    told.map(({ type, actor_id, payload }) => [type, actor_id, payload['duplicate']]).toSorted(),
    [
      ['knowledge.changed', admin.principalId, undefined],
      ['knowledge.document_stored', admin.principalId, undefined],
      ['knowledge.packs_configured', admin.principalId, undefined],
      ['knowledge.snapshot_reconciled', admin.principalId, false],
    ],
  );
  const registered = sql<{ n: number }>`
    select count(*)::int as n from events where type = 'knowledge.pack_registered' and payload ->> 'name' = ${name}`;
  assert.equal((await baton.pool.row(registered))?.n, 1);

  // A request repeated under the same key returns the response; memory is not called, and no event is written again.
  const asked = memory.calls.length;
  for (const at of writes.keys()) {
    const again = await sendTo(baton.url, at);
    assert.equal(again.headers.get('idempotency-replayed'), 'true', JSON.stringify(again.body));
    assert.ok(again.status === 200 || again.status === 201);
  }
  assert.equal(memory.calls.length, asked);
  assert.equal((await knowledgeEvents(baton, id)).length, told.length);
});

longTest('a worker that dies at the same point leaves the write to the next one', async () => {
  const { id } = await makeWorkspace(baton);
  await leaveIntent(id, 'killed-twice');
  memory.behave({ delayMs: 2000 });
  const worker = await startProcess('worker', baton.env);
  await baton.pool.run(sql`update knowledge_intents set due_at = now() - interval '1 s'`);
  await killBeforeEvents(worker, async () => (await intents())[0]?.attempts === 1);
  memory.behave({});
  assert.deepEqual(await knowledgeEvents(baton, id), []);
  await finishAll();
  assert.deepEqual(await intents(), []);
  assert.equal((await knowledgeEvents(baton, id)).length, 1);
});

/** A document written by a process that crashed. */
async function leaveIntent(workspaceId: string, naturalKey: string, idempotencyKey: string | null = null) {
  const namespace = `tenant:${baton.tenantId}:ws:${workspaceId}`;
  const facts = { naturalKey, title: 'T', type: 'document', chunkCount: 1, linkCount: 0 };
  const left = insertIntent(
    {
      id: newId(),
      tenant_id: baton.tenantId,
      kind: 'document',
      subject: naturalKey,
      path: '/api/brain/documents',
      body: JSON.stringify({ naturalKey, namespace, chunks: [{ text: 'a' }] }),
      facts: { ...facts, workspaceId, rootWorkspaceId: workspaceId, namespace },
      principal_id: admin.principalId,
      iam_principal_id: null,
      request_id: 'req_left',
      correlation_id: 'left',
      trace_run_id: 'run_left',
      idempotency_key: idempotencyKey,
      fingerprint: idempotencyKey === null ? null : 'left',
    },
    1000,
  );
  assert.equal(await baton.pool.run(left), 1);
}

test('a request without a response is retried later, and a refused one is abandoned without an event', async () => {
  const { id } = await makeWorkspace(baton);
  await leaveIntent(id, 'left');
  for (const behaviour of [{ hangsUp: true }, { answer: { status: 503 } }, { answer: { status: 403 } }]) {
    memory.behave(behaviour);
    await finishAll();
  }
  assert.deepEqual(await intents(), [{ kind: 'document', attempts: 3, waits: true }]);
  memory.behave({ answer: { status: 400 } });
  await finishAll();
  assert.deepEqual(await intents(), []);
  assert.deepEqual(await knowledgeEvents(baton, id), []);
});

test('a key that another call has used meanwhile keeps its response', async () => {
  const { id } = await makeWorkspace(baton);
  const key = newId();
  const headers = { 'idempotency-key': key };
  const task = await done(admin.post('/tasks', { title: 'Another call' }, headers), 201);
  await leaveIntent(id, 'keyed', key);
  await finishAll();
  const [event] = await eventsOf(baton, id).then((all) => all.slice(-1));
  assert.deepEqual([event?.type, event?.payload['title']], ['knowledge.document_stored', 'T']);
  assert.equal((await done(admin.post('/tasks', { title: 'Another call' }, headers), 201)).id, task.id);
});
