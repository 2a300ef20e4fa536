import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, sendRequest, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  done,
  endClaimLease,
  eventsOf,
  makeTask,
  makeWorker,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import {
  makeTypeWithContext,
  requestContext,
  startWithMemory,
  type WithMemory,
} from '../../testing/memory/contexts.ts';
import type { TestMemory } from '../../testing/memory/memory-service.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';

let started: WithMemory;
let baton: TestCoordination;
let memory: TestMemory;
let admin: Actor;
let worker: Worker;
let tenants: string;
/** A process with a memory timeout of one second. */
let hasty: { url: string };
before(async () => {
  started = await startWithMemory();
  ({ baton, memory } = started);
  ({ admin } = baton);
  hasty = await baton.another({ CP_CONTEXT_TIMEOUT_SECONDS: '1' });
  worker = await makeWorker(baton);
  tenants = `tenant:${baton.tenantId}`;
});
afterEach(() => memory.behave({}));
after(() => started.close());

const billing = { kind: 'service', key: 'service:billing' };
const owns = { subject: 'service:billing', predicate: 'ownedBy', object: 'team:money' };
const lastTyped = () => memory.calls.findLast(({ path }) => path === '/api/memory/context/typed');

/** A task whose type refers to the service in its custom field. */
async function makeTold(schema: object = {}, more: object = {}) {
  const typeKey = await makeTypeWithContext(baton, {
    anchors: ['service:{customFields.service}'],
    ...schema,
  });
  const fields = { customFields: { service: 'billing' } };
  return makeTask(baton, { typeKey, ...fields, ...more });
}

const hastily = (actor: Actor, path: string, body?: object) =>
  sendRequest(`${hasty.url}/api/v1${path}`, 'POST', { token: actor.token, body });
const contextOf = async (actor: Actor, task: { id: string }, more: object = {}) =>
  (await requestContext(actor, { task: task.id, ...more })).taskContext;

describe('the context that a type declares', () => {
  test('is returned to the holder of the claim as of the claim, and recorded once with its event', async () => {
    memory.knowledge.forget(tenants);
    memory.knowledge.know(tenants, { entities: [billing], facts: [owns] });
    const declared = {
      kinds: ['service'],
      relations: ['ownedBy'],
      depth: 2,
      maxTokens: 500,
      strategy: 'exact',
    };
    const task = await makeTold(declared);
    const claim = await claimTask(worker, task.id);
    const told = await contextOf(worker.actor, task);
    const { contextPackId } = told;
    assert.deepEqual(told, {
      status: 'ok',
      contextPackId,
      claimId: claim.id,
      asOf: claim.acquiredAt,
      asOfMode: 'claim',
      replayed: false,
      recorded: true,
      budgetTokens: 500,
      anchors: ['service:billing'],
      warnings: [],
      pack: { entities: [billing], facts: [owns], snapshots: [] },
    });
    assert.deepEqual(lastTyped()?.body, {
      anchors: ['service:billing'],
      kinds: ['service'],
      relations: ['ownedBy'],
      depth: 2,
      strategy: 'exact',
      as_of: claim.acquiredAt,
      max_tokens: 500,
      scope: { namespace: tenants, namespaces: [tenants] },
    });
    const events = (await eventsOf(baton, task.id)).filter(
      ({ type }) => type === 'task.context_pack_recorded',
    );
    assert.deepEqual(
      events.map(({ payload, actor_id, session_id }) => [payload, actor_id, session_id]),
      [
        [
          {
            publicId: task.publicId,
            contextPackId,
            claimId: claim.id,
            asOf: claim.acquiredAt,
            asOfMode: 'claim',
            entities: 1,
            facts: 1,
            snapshots: 0,
          },
          worker.actor.principalId,
          worker.sessionId,
        ],
      ],
    );
  });

  test('is returned as recorded, also to others, and while memory is unavailable or disabled', async () => {
    memory.knowledge.forget(tenants);
    memory.knowledge.know(tenants, { entities: [billing] });
    const task = await makeTold();
    await claimTask(worker, task.id);
    const first = await contextOf(worker.actor, task);
    memory.knowledge.forget(tenants);
    const repeated = { ...first, recorded: false, replayed: true };
    assert.deepEqual(await contextOf(worker.actor, task), repeated);
    assert.deepEqual(await contextOf(admin, task), repeated);
    memory.behave({ hangsUp: true });
    assert.deepEqual(await contextOf(worker.actor, task), repeated);
    assert.deepEqual(await contextOf(worker.actor, task, { includeMemory: false }), repeated);
    const reader = await baton.actor({ permissions: ['tasks.read'] });
    const { status, pack } = await contextOf(reader, task);
    assert.deepEqual([status, pack], ['forbidden', null]);
  });

  test('is not recorded for a caller that does not hold the claim, or without a claim', async () => {
    memory.knowledge.know(tenants, { entities: [billing] });
    const task = await makeTold();
    for (const claimed of [false, true]) {
      if (claimed) await claimTask(worker, task.id);
      const { status, recorded, replayed, contextPackId, asOfMode } = await contextOf(admin, task);
      assert.deepEqual(
        [status, recorded, replayed, contextPackId, asOfMode],
        ['ok', false, false, null, claimed ? 'claim' : 'now'],
      );
    }
  });

  test('as of now is requested each time, and recorded the first time', async () => {
    memory.knowledge.forget(tenants);
    const task = await makeTold({ asOf: 'now' });
    const claim = await claimTask(worker, task.id);
    const first = await contextOf(worker.actor, task);
    assert.deepEqual([first.status, first.recorded, first.asOfMode], ['empty', true, 'now']);
    assert.ok(first.asOf >= claim.acquiredAt);
    memory.knowledge.know(tenants, { entities: [billing] });
    const second = await contextOf(worker.actor, task);
    const { status, recorded, replayed, contextPackId } = second;
    assert.deepEqual([status, recorded, replayed, contextPackId], ['ok', false, false, first.contextPackId]);
  });

  test('a new claim gets a new context', async () => {
    const task = await makeTold();
    await claimTask(worker, task.id);
    const first = await contextOf(worker.actor, task);
    await endClaimLease(baton, task.id);
    const other = await makeWorker(baton);
    const claim = await claimTask(other, task.id);
    const second = await contextOf(other.actor, task);
    assert.deepEqual([second.recorded, second.claimId], [true, claim.id]);
    assert.notEqual(second.contextPackId, first.contextPackId);
  });

  test('of concurrent requests one is recorded, and all return the same', async () => {
    memory.knowledge.know(tenants, { entities: [billing] });
    const task = await makeTold();
    await claimTask(worker, task.id);
    const told = await Promise.all(Array.from({ length: 16 }, () => contextOf(worker.actor, task)));
    assert.equal(new Set(told.map(({ contextPackId }) => contextPackId)).size, 1);
    assert.equal(told.filter(({ recorded }) => recorded).length, 1);
    const rows = await baton.pool.rows(sql`select id from context_packs where task_id = ${task.id}`);
    const events = (await eventsOf(baton, task.id)).filter(
      ({ type }) => type === 'task.context_pack_recorded',
    );
    assert.deepEqual([rows.length, events.length], [1, 1]);
  });

  test('a claim that ends during the request to memory records nothing', async () => {
    const task = await makeTold();
    await claimTask(worker, task.id);
    const ended = Promise.withResolvers<void>();
    memory.behave({ until: ended.promise });
    const asking = contextOf(worker.actor, task);
    const asked = memory.calls.length;
    while (memory.calls.length < asked + 2) await new Promise((next) => setTimeout(next, 5));
    await endClaimLease(baton, task.id);
    ended.resolve();
    const { recorded, contextPackId, claimId, warnings } = await asking;
    assert.deepEqual([recorded, contextPackId, claimId, warnings], [false, null, null, ['claim_ended']]);
  });

  test("drops anchors whose placeholder has no value, or one that a key can't contain", async () => {
    const anchors = [
      'task:{publicId}',
      'place:{workspaceId}',
      'p:{projectId}',
      'n:{customFields.count}',
      'x:{customFields.absent}',
      'y:{customFields.spaced}',
      'z:{customFields.list}',
    ];
    const typeKey = await makeTypeWithContext(baton, { anchors });
    const customFields = { count: 7, spaced: 'a b', list: ['a'] };
    const workspace = await makeWorkspace(baton);
    const task = await makeTask(baton, { typeKey, customFields, workspaceId: workspace.id });
    const told = await contextOf(admin, task);
    assert.deepEqual(told.anchors, [`task:${task.publicId}`, `place:${workspace.id}`, 'n:7']);
    assert.deepEqual(told.warnings, [
      'anchor_without_value:p:{projectId}',
      'anchor_without_value:x:{customFields.absent}',
      'anchor_without_value:y:{customFields.spaced}',
      'anchor_without_value:z:{customFields.list}',
    ]);
    const nothing = await makeTask(baton, {
      typeKey: await makeTypeWithContext(baton, { anchors: ['p:{projectId}'] }),
    });
    const asked = lastTyped();
    const { status, pack } = await contextOf(admin, nothing);
    assert.deepEqual([status, pack, lastTyped()], ['empty', null, asked]);
  });

  test('has its own status on failure: timeout, unavailable, disabled; nothing is recorded then', async () => {
    const task = await makeTold();
    await claimTask(worker, task.id);
    memory.behave({ delayMs: 60_000 });
    const late = await done(hastily(worker.actor, '/context', { query: 'What is known?', task: task.id }));
    assert.equal(late.taskContext.status, 'timeout');
    for (const [body, why] of [
      ['{}', 'memory_unreadable'],
      ['{"entities":[{"kind":"a"}],"facts":[]}', 'memory_unreadable'],
      ['{"entities":[],"facts":[{"subject":"a"}]}', 'memory_unreadable'],
      [`{"entities":[],"facts":[],"snapshots":[{"namespace":"tenant:${newId()}"}]}`, 'memory_unreadable'],
    ]) {
      memory.behave({ answer: { status: 200, body: body as string } });
      const { status, warnings } = await contextOf(worker.actor, task);
      assert.deepEqual([status, warnings], ['unavailable', [why]]);
    }
    memory.behave({ answer: { status: 422 } });
    assert.deepEqual((await contextOf(worker.actor, task)).warnings, ['memory_refused']);
    assert.equal((await contextOf(worker.actor, task, { includeMemory: false })).status, 'disabled');
    const rows = await baton.pool.rows(sql`select id from context_packs where task_id = ${task.id}`);
    assert.deepEqual(rows, []);
  });
});

describe('a recorded pack', () => {
  async function record() {
    memory.knowledge.forget(tenants);
    memory.knowledge.know(tenants, { entities: [billing], facts: [owns] });
    const task = await makeTold();
    const claim = await claimTask(worker, task.id);
    const { contextPackId: id } = await contextOf(worker.actor, task);
    return { id, task, claim };
  }

  test('is read with tasks.read and events.read', async () => {
    const { id, task, claim } = await record();
    const { createdAt, ...pack } = await done(admin.get(`/context-packs/${id}`));
    assert.ok(createdAt >= claim.acquiredAt);
    assert.deepEqual(pack, {
      id,
      tenantId: baton.tenantId,
      taskId: task.id,
      claimId: claim.id,
      createdBy: worker.actor.principalId,
      asOf: claim.acquiredAt,
      asOfMode: 'claim',
      budgetTokens: 3000,
      anchors: ['service:billing'],
      kinds: [],
      relations: [],
      depth: 1,
      strategy: null,
      namespaces: [tenants],
      entities: 1,
      facts: 1,
      snapshots: 0,
      traceId: 'trace-typed',
      pack: { entities: [billing], facts: [owns], snapshots: [] },
    });
    for (const permissions of [['tasks.read'], ['events.read']] as const) {
      const actor = await baton.actor({ permissions });
      await refused(actor.get(`/context-packs/${id}`), 403, 'permission_denied');
      await refused(actor.post(`/context-packs/${id}:replay`), 403, 'permission_denied');
    }
    for (const actor of [baton.otherAdmin, admin]) {
      const asked = actor === admin ? newId() : id;
      await refused(actor.get(`/context-packs/${asked}`), 404, 'not_found');
      await refused(actor.post(`/context-packs/${asked}:replay`), 404, 'not_found');
    }
  });

  test('is hidden with its task', async () => {
    const { person, mine, other } = await makeNarrowPerson(baton);
    const ids: string[] = [];
    for (const { id: workspaceId } of [mine, other]) {
      const task = await makeTold({}, { workspaceId });
      await claimTask(worker, task.id);
      ids.push((await contextOf(worker.actor, task)).contextPackId);
    }
    await done(person.get(`/context-packs/${ids[0]}`));
    await refused(person.get(`/context-packs/${ids[1]}`), 404, 'not_found');
    await refused(person.post(`/context-packs/${ids[1]}:replay`), 404, 'not_found');
  });

  test('is evidence for its own tenant only', async () => {
    const { id } = await record();
    const evidence = [{ kind: 'context_pack', contextPackId: id }];
    const task = await done(admin.post('/tasks', { title: 'known', evidence }), 201);
    assert.deepEqual(task.evidence, evidence);
    await refused(baton.otherAdmin.post('/tasks', { title: 'known', evidence }), 404, 'not_found');
  });

  test('is replayed: the same request as of the same instant, with the differences', async () => {
    const { id, claim } = await record();
    const same = await done(worker.actor.post(`/context-packs/${id}:replay`));
    const none = { missingEntities: [], extraEntities: [], missingFacts: [], extraFacts: [] };
    assert.deepEqual([same.reproduced, same.drift, same.contextPack.id], [true, none, id]);
    assert.deepEqual(lastTyped()?.body.as_of, claim.acquiredAt);
    memory.knowledge.forget(tenants);
    const ledger = { kind: 'service', key: 'service:billing', version: 2 };
    memory.knowledge.know(tenants, { entities: [ledger], facts: [{ ...owns, object: { team: 'x' } }] });
    const other = await done(worker.actor.post(`/context-packs/${id}:replay`));
    assert.deepEqual(
      [other.reproduced, other.drift],
      [
        false,
        {
          ...none,
          missingFacts: ['service:billing ownedBy team:money'],
          extraFacts: ['service:billing ownedBy {"team":"x"}'],
        },
      ],
    );
    assert.deepEqual(other.pack.entities, [ledger]);
  });

  test('cannot be replayed without memory', async () => {
    const { id } = await record();
    const replay = () => worker.actor.post(`/context-packs/${id}:replay`);
    const without = await baton.another({ CP_CONTEXT_PROVIDER: 'none' });
    const off = await fetch(`${without.url}/api/v1/context-packs/${id}:replay`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin.token}` },
    });
    assert.deepEqual([off.status, ((await off.json()) as any).error.code], [503, 'memory_disabled']);
    await without.close();
    memory.behave({ delayMs: 60_000 });
    await refused(hastily(worker.actor, `/context-packs/${id}:replay`), 503, 'memory_timeout');
    memory.behave({ answer: { status: 500 } });
    const away = await refused(replay(), 502, 'memory_unavailable');
    assert.deepEqual(away, { memoryStatus: 500, retryable: true });
    memory.behave({ answer: { status: 404 } });
    const refusal = await refused(replay(), 502, 'memory_unavailable');
    assert.deepEqual(refusal, { memoryStatus: 404, retryable: false });
  });
});
