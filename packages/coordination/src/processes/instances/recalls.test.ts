import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf } from '../../testing/leases.ts';
import { startWithMemory, type WithMemory } from '../../testing/memory/contexts.ts';
import { startDelivery } from '../../testing/memory/memory-delivery.ts';
import type { TestMemory } from '../../testing/memory/memory-service.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import {
  humanStep,
  makeProcessAgent,
  makeProcessWorker,
  publishProcess,
  setStep,
  specOf,
  startProcessInstance,
} from '../../testing/processes/process-instances.ts';
import { startProcess } from '../../testing/programs/service-processes.ts';
import { observe } from '../../testing/rules/rules.ts';
import { until } from '../../testing/wait-until.ts';

// Tests memory queries and observations of steps.

let started: WithMemory;
let baton: TestCoordination;
let memory: TestMemory;
let admin: Actor;
let worker: ReturnType<typeof makeProcessWorker>;
let agent: Awaited<ReturnType<typeof makeProcessAgent>>;
before(async () => {
  started = await startWithMemory();
  ({ baton, memory } = started);
  ({ admin } = baton);
  worker = makeProcessWorker(baton);
  agent = await makeProcessAgent(baton);
});
afterEach(() => memory.behave({}));
after(async () => {
  await worker.close();
  await started.close();
});

const get = (id: string) => done(admin.get(`/process-instances/${id}`));
const start = async (steps: object[], data: object = {}, more: object = {}) =>
  startProcessInstance(admin, await publishProcess(admin, specOf(agent.key, steps, more)), data);
const told = async (id: string, type: string) =>
  (await eventsOf(baton, id))
    .filter((event) => event.type === `process.${type}`)
    .map(({ payload }) => payload);
const recallStep = (more: object = {}) => ({
  id: 'ask',
  recall: { anchors: ['service:{{ data.service }}'], ...more },
  export: { as: 'known' },
});
const askedOf = (service: string) =>
  memory.calls.filter(({ body }) => body.anchors?.includes(`service:${service}`));
const questions = () =>
  baton.pool.rows<{ instance_id: string; attempts: number }>(
    sql`select instance_id, attempts from process_recalls`,
  );
const askAgainNow = () => baton.pool.run(sql`update process_recalls set due_at = now() - interval '1 s'`);
const headOf = (made: any) => ({
  instanceId: made.id,
  definitionKey: made.definitionKey,
  version: 1,
  instanceKey: made.instanceKey,
  workspaceId: made.workspaceId,
});

test('a recall queries the memory of the tenant and of the tree, and its result continues the process', async () => {
  const workspace = await makeWorkspace(baton);
  const service = `s${newId()}`;
  const entity = { kind: 'service', key: `service:${service}`, tier: 1 };
  const fact = { subject: entity.key, predicate: 'runs_on', object: 'host:1' };
  memory.knowledge.know(`tenant:${baton.tenantId}`, { entities: [entity], facts: [fact] });
  const made = await start(
    [recallStep({ kinds: ['service'], maxTokens: 900 })],
    { service },
    {
      workspaceId: workspace.id,
    },
  );
  assert.equal(memory.calls.length, 0, 'no query inside of a transaction');
  await worker.run();
  const [asked, ...more] = askedOf(service);
  assert.equal(more.length, 0);
  const { anchors, kinds, depth, max_tokens, as_of, scope } = asked?.body ?? {};
  const tree = `tenant:${baton.tenantId}:ws:${workspace.id}`;
  assert.deepEqual(
    { anchors, kinds, depth, max_tokens, scope },
    {
      anchors: [entity.key],
      kinds: ['service'],
      depth: 1,
      max_tokens: 900,
      scope: { namespace: `tenant:${baton.tenantId}`, namespaces: [`tenant:${baton.tenantId}`, tree] },
    },
  );
  const after = await get(made.id);
  assert.deepEqual(
    [after.status, after.data.known],
    ['completed', { entities: [entity], facts: [fact], snapshots: [], asOf: as_of, truncated: false }],
  );
  const [completed] = await told(made.id, 'recall_completed');
  const { recallId, resultHash, ...facts } = completed as any;
  assert.match(resultHash, /^sha256:[0-9a-f]{64}$/);
  assert.match(recallId, /^[0-9a-f-]{36}$/);
  assert.deepEqual(facts, {
    ...headOf(made),
    step: 'ask',
    asOf: as_of,
    nodeCount: 1,
    edgeCount: 1,
    truncated: false,
  });
  assert.deepEqual(await questions(), []);
});

test('a query is retried while memory is unavailable; after the timeout, the process handles the error', async () => {
  memory.behave({ answer: { status: 503 } });
  const caught = {
    id: 't',
    try: {
      do: [recallStep({ timeout: 'PT0.4S' })],
      catch: [{ on: ['timeout'], do: [setStep('without', { why: 'step.error.detail' })] }],
    },
  };
  const made = await start([caught, humanStep('look')], { service: 'away' });
  await worker.run();
  assert.equal((await questions()).length, 1);
  await askAgainNow();
  await worker.recalls();
  assert.ok(askedOf('away').length >= 2);
  await until(async () => {
    await worker.timers();
    return (await get(made.id)).data.why === 'timeout';
  });
  const { recallId, ...facts } = (await told(made.id, 'recall_timed_out'))[0] as any;
  assert.ok(recallId);
  assert.deepEqual(facts, { ...headOf(made), step: 'ask', reason: 'timeout' });
  assert.deepEqual(await questions(), [], 'no more queries');
});

test('a malicious result is refused, and a long one is truncated', async () => {
  const reasons: unknown[] = [];
  for (const answer of [
    { status: 400 },
    { status: 200, body: '{"entities":[{"nokey":1}],"facts":[]}' },
    { status: 200, body: `{"entities":[],"facts":[],"snapshots":[${'['.repeat(5000)}${']'.repeat(5000)}]}` },
    { status: 200, body: `{"entities":[],"facts":[],"x":"${'x'.repeat(400_000)}"}` },
    { status: 200, body: `{"entities":[{"key":"a","namespace":"tenant:${newId()}"}],"facts":[]}` },
  ]) {
    memory.behave({ answer });
    const made = await start([recallStep({ timeout: 'PT0.3S' })], { service: 'hostile' });
    await until(async () => {
      await worker.recalls();
      await worker.timers();
      return (await get(made.id)).status === 'failed';
    });
    reasons.push((await told(made.id, 'recall_timed_out'))[0]?.['reason']);
  }
  assert.deepEqual(
    reasons.map((reason) => (reason === 'timeout' ? 'memory_unreadable' : reason)),
    ['memory_refused', ...Array<string>(4).fill('memory_unreadable')],
  );
  const entities = Array.from({ length: 100 }, (_, n) => ({ key: `k:${n}`, text: 'x'.repeat(1000) }));
  memory.behave({
    answer: { status: 200, body: JSON.stringify({ entities, facts: [{ subject: 'k:1', predicate: 'p' }] }) },
  });
  const long = await start([recallStep()], { service: 'long' });
  await worker.run();
  const [{ nodeCount, edgeCount, truncated } = {} as any] = await told(long.id, 'recall_completed');
  assert.deepEqual([nodeCount, edgeCount, truncated], [11, 0, true]);
  assert.equal((await get(long.id)).data.known.entities.length, 11);
});

test('a result that arrives while the instance is suspended is stored until its resume', async () => {
  const made = await start([recallStep()], { service: 'later' });
  await done(admin.post(`/process-instances/${made.id}:suspend`, { reason: 'wait' }));
  await worker.run();
  assert.equal((await told(made.id, 'recall_completed')).length, 0);
  await done(admin.post(`/process-instances/${made.id}:resume`, {}));
  await worker.run();
  assert.equal((await get(made.id)).status, 'completed');
  assert.equal((await told(made.id, 'recall_completed')).length, 1);
});

test('an agent that may not read events sends no query, and one that may not observe writes nothing', async () => {
  const weak = await makeProcessAgent(baton, { permissions: ['tasks.write'] });
  const by = async (step: object, more: object = {}) =>
    startProcessInstance(admin, await publishProcess(admin, specOf(weak.key, [step], more)), {
      service: 'no',
    });
  assert.equal((await by(recallStep())).suspension.code, 'permission_denied');
  const remember = { id: 'tell', remember: { kind: 'note', content: 'a note' } };
  assert.equal((await by(remember)).suspension.code, 'permission_denied');
  const memorized = { memory: { case: { kind: 'case', key: "'1'", title: 'one' } } };
  const made = await by(humanStep('look'), memorized);
  assert.equal(made.status, 'running');
  const { items } = await done(admin.get(`/process-instances/${made.id}/journal?kind=intent`));
  assert.ok(
    items.some(({ reason, data }: any) => reason === 'tell_case' && data.refused === 'permission_denied'),
  );
});

test('a remember step writes one observation on behalf of the agent, which memory receives once', async () => {
  const remember = {
    kind: 'release.done',
    content: 'Released {{ data.service }}',
    data: { service: 'data.service' },
    facts: [{ subject: 'service:{{ data.service }}', predicate: 'has_release', object: '7' }],
  };
  const made = await start([{ id: 'tell', remember, export: { as: 'told' } }], { service: 'api' });
  assert.equal(made.openElements[0].kind, 'remember');
  await worker.run();
  const after = await get(made.id);
  assert.equal(after.status, 'completed');
  const { observationId, eventId } = after.data.told;
  const event = await baton.pool.row<{ actor_id: string; payload: object }>(sql`
    select actor_id, payload from events where id = ${eventId} and entity_id = ${observationId}`);
  assert.equal(event?.actor_id, agent.principalId);
  const { observedAt: _, dedupKey, ...payload } = event?.payload as any;
  assert.equal(dedupKey, observationId);
  assert.deepEqual(payload, {
    kind: 'release.done',
    content: 'Released api',
    source: 'process',
    data: { service: 'api' },
    assertions: [{ assert: 'fact', fact: { subject: 'service:api', predicate: 'has_release', object: '7' } }],
  });
  const delivery = startDelivery(baton, memory);
  while ((await delivery.turns()).get(baton.tenantId)?.hasMore);
  const kept = memory.kept(`tenant:${baton.tenantId}`).filter(({ kind }) => kind === 'release.done');
  assert.deepEqual(
    kept.map(({ assertions }) => assertions),
    [payload.assertions],
  );
});

test('memory receives the case of an instance when it starts, changes and ends, with its artifacts', async () => {
  const spec = {
    memory: {
      case: { kind: 'case', key: 'data.service', title: 'Change of {{ data.service }}' },
      facts: [{ predicate: 'has_result', object: "{{ has(data.ok) ? string(data.ok) : '' }}" }],
      entities: [{ type: 'service', key: 'data.service' }],
      documents: { artifacts: ['report'] },
    },
    retrospective: { taskType: 'task', title: 'Look back at {{ data.service }}' },
  };
  const service = `s${newId()}`;
  const made = await start(
    [humanStep('work'), setStep('note', { ok: 'true' }), humanStep('more')],
    { service },
    spec,
  );
  const head = {
    case: { kind: 'case', key: service, title: `Change of ${service}` },
    entities: [{ type: 'service', key: service, title: service }],
    documents: { artifacts: ['report'] },
  };
  assert.deepEqual((await told(made.id, 'started'))[0]?.['memory'], { ...head, facts: [] });
  const [{ taskId }] = made.openElements;
  const artifact = { type: 'report', name: 'What was done', uri: 'https://example.test/1', task: taskId };
  const { id: artifactId } = await done(admin.post('/artifacts', artifact), 201);
  const complete = async (id: string) =>
    done(
      admin.post(
        `/tasks/${id}:complete`,
        {},
        { 'if-match': `task-${(await done(admin.get(`/tasks/${id}`))).version}` },
      ),
    );
  await complete(taskId);
  await worker.run();
  const changed = { ...head, facts: [{ predicate: 'has_result', object: 'true' }] };
  assert.deepEqual((await told(made.id, 'data_changed'))[0]?.['memory'], changed);
  await complete((await get(made.id)).openElements[0].taskId);
  await worker.run();
  assert.deepEqual((await told(made.id, 'completed'))[0]?.['memory'], changed);
  const rows = await baton.pool.rows<{ payload: any }>(sql`
    select payload from events where type = 'observation.recorded' and payload ->> 'kind' = 'process.case'
      and payload #>> '{data,instanceId}' = ${made.id} order by position, sequence`);
  assert.deepEqual(
    rows.map(({ payload }) => payload.data.status),
    ['running', 'running', 'completed'],
  );
  const keys = rows.at(-1)?.payload.assertions.map(({ entity, fact }: any) => entity?.key ?? fact.predicate);
  assert.deepEqual(keys, [
    `case:${service}`,
    'has_result',
    `service:${service}`,
    'involves',
    `artifact:${artifactId}`,
    'has_document',
  ]);
  const { items } = await done(admin.get(`/tasks?q=${service}`));
  assert.deepEqual(
    items.map(({ title, origin }: any) => [title, origin.ref]),
    [[`Look back at ${service}`, `process/${made.id}`]],
  );
});

test('all expressions of a case share the cost limit of a single one', async () => {
  const costly = '{{ data.list.map(x, data.list.map(y, data.list.map(z, x + y + z).size()).size()).size() }}';
  const memorized = {
    memory: {
      case: { kind: 'case', key: 'instance.key', title: 'A costly one' },
      facts: Array.from({ length: 50 }, () => ({ predicate: 'p', object: costly.repeat(20) })),
    },
  };
  const list = Array.from({ length: 20 }, (_, n) => n);
  const process = await publishProcess(admin, specOf(agent.key, [humanStep('work')], memorized));
  const from = performance.now();
  const made = await startProcessInstance(admin, process, { list });
  assertTookLess(from, 10_000);
  assert.equal(made.status, 'running');
  assert.equal((await told(made.id, 'started'))[0]?.['memory'], null);
});

test('a cancelled instance is reported to memory, and reviewed', async () => {
  const more = {
    memory: { case: { kind: 'case', key: 'instance.key', title: 'One that ends early' } },
    retrospective: { taskType: 'task', title: 'Why was it cancelled?', due: 'P1D' },
  };
  const made = await start([humanStep('work')], {}, more);
  await done(admin.post(`/process-instances/${made.id}:cancel`, { reason: 'enough' }));
  const { items } = await done(
    admin.get(
      `/external-references?externalSystem=control-plane&externalType=process_step&externalId=process/${made.id}`,
    ),
  );
  assert.deepEqual(items[0].metadata, { context: { status: 'cancelled', outcome: null } });
});

test('an event whose handler starts with resume resumes a suspended instance', async () => {
  const kind = `go-${newId()}`;
  const other = `other-${newId()}`;
  const correlate = [
    { on: { observation: other }, key: 'event.payload.data.key', set: { other: 'true' } },
    { on: { observation: kind }, key: 'event.payload.data.key', do: [{ id: 'go', resume: {} }] },
  ];
  const process = await publishProcess(
    admin,
    specOf(agent.key, [{ id: 'hold', suspend: { reason: 'look first' } }, setStep('end', { x: '1' })], {
      correlate,
    }),
  );
  const key = newId();
  const made = await startProcessInstance(admin, process, {}, key);
  assert.equal(made.status, 'suspended');
  assert.deepEqual((await told(made.id, 'suspended'))[0]?.['reason'], 'look first');
  await observe(admin, other, { key });
  await worker.run();
  assert.equal((await get(made.id)).status, 'suspended');
  await observe(admin, kind, { key });
  await worker.run();
  const after = await get(made.id);
  assert.deepEqual([after.status, after.data.x], ['completed', 1]);
  assert.equal((await told(made.id, 'resumed'))[0]?.['cause'], 'event');
});

test('after a worker dies between the result of a query and its input, the query is repeated, and the step is done once', async () => {
  const service = `s${newId()}`;
  memory.knowledge.know(`tenant:${baton.tenantId}`, {
    entities: [{ kind: 'service', key: `service:${service}` }],
  });
  const made = await start([recallStep(), setStep('count', { n: 'data.n + 1' })], { service, n: 0 });
  const running = await startProcess('worker', baton.env);
  await baton.pool.transaction(async (tx) => {
    await tx.rows(sql`select id from process_instances where id = ${made.id} for update`);
    await until(() => askedOf(service).length > 0, 'the question');
    await running.stop('SIGKILL');
  });
  assert.equal((await get(made.id)).status, 'running');
  assert.equal((await questions()).filter(({ instance_id: id }) => id === made.id).length, 1);
  await askAgainNow();
  const others = [makeProcessWorker(baton), makeProcessWorker(baton)];
  await Promise.all(others.map((other) => other.recalls()));
  await Promise.all(others.map((other) => other.close()));
  const after = await get(made.id);
  assert.deepEqual([after.status, after.data.n], ['completed', 1]);
  assert.equal(askedOf(service).length, 2);
  assert.equal((await told(made.id, 'recall_completed')).length, 1);
});

test('without a memory service a recall times out at once', async () => {
  const bare = await startCoordination();
  const alone = makeProcessWorker(bare);
  const { key } = await makeProcessAgent(bare);
  const process = await publishProcess(bare.admin, specOf(key, [recallStep()]));
  const made = await startProcessInstance(bare.admin, process, { service: 'none' });
  await alone.recalls();
  const [{ payload } = {} as any] = (await eventsOf(bare, made.id)).filter(
    ({ type }) => type === 'process.recall_timed_out',
  );
  assert.equal(payload.reason, 'memory_disabled');
  assert.equal((await done(bare.admin.get(`/process-instances/${made.id}`))).status, 'failed');
  await alone.close();
  await bare.close();
});
