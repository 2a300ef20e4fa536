import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type Actor, startCoordination, type TestCoordination } from '../../../testing/coordination.ts';
import { insertTestType } from '../../../testing/definitions/task-type.ts';
import {
  claimTask,
  done,
  eventsOf,
  makeRun,
  makeTask,
  makeWorker,
  refused,
  type Worker,
} from '../../../testing/leases.ts';
import { makeWorkspace } from '../../../testing/organisation/workspaces.ts';
import { checkBy, makeVerifier } from '../../../testing/results/verification.ts';
import { makeRule, makeRuleWorker } from '../../../testing/rules/rules.ts';

/**
 * Tests that requirements of a task are removed only by their author or by a person, and never by a principal that
 * works on it (docs/reference/trust.md#nobody-proves-their-own-work).
 */
let baton: TestCoordination;
let judge: ReturnType<typeof makeVerifier>;
let worker: Worker;
let agent: Actor;
let person: Actor;
before(async () => {
  baton = await startCoordination();
  judge = makeVerifier(baton);
  worker = await makeWorker(baton);
  agent = await baton.actor();
  person = await baton.actor({ kind: 'human' });
});
after(async () => {
  await judge.close();
  await baton.close();
});

const read = (id: string, by: Actor = baton.admin) => done(by.get(`/tasks/${id}`));
async function patch(id: string, by: Actor, change: object) {
  const { version } = await read(id);
  return by.patch(`/tasks/${id}`, change, { 'if-match': `task-${version}` });
}
const keysOf = async (answer: ReturnType<typeof patch>) =>
  (await refused(answer, 403, 'acceptance_protected')).keys;
const claimOf = ({ id: claimId, fencingToken }: { id: string; fencingToken: number }) => ({
  claimId,
  fencingToken,
});
const check = checkBy('human');

describe('checks', () => {
  test('the lease’s holder can neither remove nor weaken a check, and the person still decides', async () => {
    const approver = checkBy('human', { spec: { approver: person.principalId } });
    const { task, claim, run } = await makeRun(baton, worker, { task: { acceptance: [approver] } });
    const { actor } = worker;
    const held = claimOf(claim);
    assert.deepEqual(await keysOf(patch(task.id, actor, { acceptance: [], ...held })), ['checked']);
    const softer = { ...approver, kind: 'external_state', spec: {} };
    assert.deepEqual(await keysOf(patch(task.id, actor, { acceptance: [softer], ...held })), ['checked']);
    const never = { ...approver, when: ['$.task.customFields.never'] };
    assert.deepEqual(await keysOf(patch(task.id, actor, { acceptance: [never], ...held })), ['checked']);
    const more = { ...check, key: 'more' };
    const added = await done(patch(task.id, actor, { acceptance: [more, approver], ...held }));
    assert.deepEqual(
      added.acceptance.map(({ key, addedByPrincipalId }: any) => [key, addedByPrincipalId]),
      [
        ['more', actor.principalId],
        ['checked', baton.admin.principalId],
      ],
    );
    assert.deepEqual(
      await keysOf(patch(task.id, actor, { acceptance: [approver], ...held })),
      ['more'],
      'not even its own checks, while it works',
    );
    const written = (await eventsOf(baton, task.id)).filter(({ type }) => type === 'task.updated');
    assert.equal(written.length, 1, 'a refused change writes nothing');

    await done(actor.post(`/runs/${run.id}:suspend`, {}));
    assert.deepEqual(
      await keysOf(patch(task.id, actor, { acceptance: [] })),
      ['more', 'checked'],
      'not after its run has ended either',
    );
    await done(patch(task.id, person, { acceptance: [approver] }));
    const again = await claimTask(worker, task.id);
    const next = await done(actor.post(`/tasks/${task.id}:start-run`, claimOf(again)), 201);
    await done(actor.post(`/runs/${next.id}:succeed`, {}));
    await judge.run();
    const waiting = await read(task.id);
    assert.deepEqual([waiting.status === 'done', waiting.verification.status], [false, 'waiting_human']);
    const [{ approvalId }] = (await done(person.get(`/tasks/${task.id}/verifications`))).items;
    await done(person.post(`/approvals/${approvalId}:approve`, {}));
    await judge.run();
    assert.equal((await read(task.id)).status, 'done');
  });

  test("the author of a check can remove it, another agent can't, a person can", async () => {
    const other = await baton.actor();
    const made = await done(agent.post('/tasks', { title: 'own', acceptance: [check] }), 201);
    assert.equal(made.acceptance[0].addedByPrincipalId, agent.principalId);
    assert.deepEqual(await keysOf(patch(made.id, other, { acceptance: [] })), ['checked']);
    await done(patch(made.id, agent, { acceptance: [] }));
    await done(patch(made.id, person, { acceptance: [check] }));
    assert.deepEqual(await keysOf(patch(made.id, agent, { acceptance: [] })), ['checked']);
    const changed = { ...check, description: 'A person has reviewed it twice.' };
    await done(patch(made.id, baton.admin, { acceptance: [changed] }));
    const { acceptance } = await read(made.id);
    assert.equal(acceptance[0].addedByPrincipalId, baton.admin.principalId, 'a change makes them the author');
    const reader = await baton.actor({ kind: 'human', permissions: ['tasks.read'] });
    await refused(patch(made.id, reader, { acceptance: [] }), 403, 'permission_denied');
    await done(patch(made.id, person, { acceptance: [] }));
  });

  test('a person who had a run of the task is no exception', async () => {
    const own = await makeWorker(baton, { kind: 'human' });
    const { task, run } = await makeRun(baton, own, { task: { acceptance: [check] } });
    await done(own.actor.post(`/runs/${run.id}:suspend`, {}));
    assert.deepEqual(await keysOf(patch(task.id, own.actor, { acceptance: [] })), ['checked']);
  });

  test("sending back the read checks changes nothing, and the client can't set an author", async () => {
    const { id, version, acceptance } = await makeTask(baton, { acceptance: [check] });
    const sent = [{ ...acceptance[0], addedByPrincipalId: agent.principalId }];
    const same = await done(patch(id, agent, { acceptance: sent }));
    assert.deepEqual([same.version, same.acceptance], [version, acceptance]);
    const made = await done(agent.post('/tasks', { title: 'x', acceptance }), 201);
    assert.equal(made.acceptance[0].addedByPrincipalId, agent.principalId);
  });

  test('older ones have no known author, and are reserved for people', async () => {
    const { id } = await done(agent.post('/tasks', { title: 'old' }), 201);
    await baton.pool.run(sql`update tasks set acceptance = ${JSON.stringify([check])} where id = ${id}`);
    assert.equal((await read(id)).acceptance[0].addedByPrincipalId, null);
    assert.deepEqual(await keysOf(patch(id, agent, { acceptance: [] })), ['checked']);
    await done(patch(id, person, { acceptance: [] }));
  });

  test("a principal that can't remove a check can't clear the field of its condition", async () => {
    const when = ['$.task.customFields.risky'];
    const typeKey = 'conditional';
    await insertTestType(baton, { key: typeKey, acceptance: [{ ...check, key: 'typed', when }] });
    const acceptance = [{ ...check, when }];
    const { task, claim } = await makeRun(baton, worker, {
      task: { typeKey, acceptance, customFields: { risky: true, note: 'x' } },
    });
    const held = claimOf(claim);
    const { actor } = worker;
    assert.deepEqual(await keysOf(patch(task.id, actor, { customFields: {}, ...held })), [
      'typed',
      'checked',
    ]);
    assert.deepEqual(await keysOf(patch(task.id, actor, { customFields: { risky: '' }, ...held })), [
      'typed',
      'checked',
    ]);
    await done(patch(task.id, actor, { customFields: { risky: false }, ...held }));
    const unconditioned = await makeTask(baton, { typeKey, acceptance });
    await done(patch(unconditioned.id, agent, { customFields: { note: 'y' } }));
    await done(patch(unconditioned.id, agent, { customFields: { risky: 1 } }));
    await done(patch(unconditioned.id, person, { customFields: {} }));
  });

  test('nor in the spawning task, nor by a newer artifact without the value', async () => {
    const when = ['$.spawnedBy.customFields.production'];
    await insertTestType(baton, { key: 'spawned', acceptance: [{ ...check, key: 'signed', when }] });
    const origin = await makeTask(baton, { customFields: { production: true } });
    const { task } = await makeRun(baton, worker, {
      task: { typeKey: 'spawned', acceptance: [{ ...check, when }] },
    });
    const spawned = { toTask: origin.id, type: 'spawned_by' };
    await done(baton.admin.post(`/tasks/${task.id}/relations`, spawned), 201);
    const { actor } = worker;
    for (const by of [actor, agent])
      assert.deepEqual(await keysOf(patch(origin.id, by, { customFields: {} })), ['signed', 'checked']);
    await done(patch(origin.id, agent, { customFields: { production: false } }));
    await done(patch(origin.id, agent, { dueDate: '2030-01-01' }));
    await done(patch(origin.id, agent, { dueDate: null }));
    await done(patch(origin.id, person, { customFields: {} }));

    const scanned = {
      ...check,
      when: ['$.task.artifact[scan].metadata.risk'],
      spec: { approver: person.principalId },
    };
    const risky = await makeRun(baton, worker, { task: { acceptance: [scanned] } });
    const scan = (by: Actor, metadata: object) =>
      done(by.post('/artifacts', { type: 'scan', name: 'scan', task: risky.task.id, metadata }), 201);
    await scan(agent, { risk: 'high' });
    for (const metadata of [{}, { risk: '' }, { risk: null }]) await scan(actor, metadata);
    await done(actor.post(`/runs/${risky.run.id}:succeed`, {}));
    await judge.run();
    assert.equal((await read(risky.task.id)).verification.status, 'waiting_human');
  });

  test('those of a rule’s task are reserved for people, even if the rule acts for an agent', async () => {
    const rules = makeRuleWorker(baton);
    await makeRule(agent, {
      trigger: { kind: 'event', type: 'goal.created' },
      action: { fields: { title: 'filed' }, acceptance: [check] },
    });
    await done(baton.admin.post('/goals', { title: 'g', desiredState: 'd' }), 201);
    await rules.run();
    await rules.close();
    const { items } = await done(baton.admin.get('/tasks?q=filed'));
    const [task] = items;
    assert.notEqual(task.acceptance[0].addedByPrincipalId, agent.principalId);
    assert.deepEqual(await keysOf(patch(task.id, agent, { acceptance: [] })), ['checked']);
    await done(patch(task.id, person, { acceptance: [] }));
  });
});

describe('a migration of the type', () => {
  const version = (number: number, more: object) =>
    insertTestType(baton, { key: 'shrinking', version: number, ...more });

  test('without checks or required outputs is reserved for people and the publisher, and refused for former workers', async () => {
    await done(
      baton.admin.post('/artifact-types', { key: 'log', displayName: 'log', mediaTypes: ['*/*'] }),
      201,
    );
    const outputs = [{ key: 'log', type: 'log', required: true }];
    const typeId = await version(1, { acceptance: [check], artifactSchema: { outputs } });
    await version(2, {});
    await version(3, { acceptance: [check, { ...check, key: 'more' }], artifactSchema: { outputs } });
    const make = () => makeTask(baton, { typeKey: 'shrinking', typeVersion: 1 });
    const migrate = async (id: string, by: Actor, typeVersion: number) =>
      by.post(
        `/tasks/${id}:migrate-type`,
        { typeVersion },
        { 'if-match': `task-${(await read(id)).version}` },
      );
    const task = await make();
    assert.deepEqual(await keysOf(migrate(task.id, agent, 2)), ['output.log', 'checked']);
    await done(migrate(task.id, agent, 3));
    const bulk = await make();
    const report = await done(agent.post(`/task-types/${typeId}:migrate-tasks`, { toVersion: 2 }));
    assert.deepEqual(
      report.skipped.map(({ taskId, code }: any) => [taskId, code]),
      [[bulk.id, 'acceptance_protected']],
    );
    await done(migrate(bulk.id, person, 2));

    const own = await makeWorker(baton, { kind: 'human' });
    const worked = await make();
    const claim = await claimTask(own, worked.id);
    const run = await done(own.actor.post(`/tasks/${worked.id}:start-run`, claimOf(claim)), 201);
    await done(own.actor.post(`/runs/${run.id}:suspend`, {}));
    assert.deepEqual(await keysOf(migrate(worked.id, own.actor, 2)), ['output.log', 'checked']);
  });
});

describe('requirements', () => {
  test("a principal that works on the task, or did not add them, can't remove or replace them", async () => {
    const make = (path: string, body: object) => done(baton.admin.post(path, body), 201);
    await make('/roles', { slug: 'reviewer', name: 'Reviewer' });
    for (const name of ['typescript', 'rust']) await make('/capabilities', { name, description: name });
    const names = (more: object) => ({ requirements: { roles: [], capabilities: [], skills: [], ...more } });
    const { id } = await makeTask(baton, names({ roles: ['reviewer'], capabilities: ['typescript'] }));
    assert.deepEqual(await keysOf(patch(id, agent, names({}))), ['role:reviewer', 'capability:typescript']);
    const exchanged = names({ roles: ['reviewer'], capabilities: ['rust'] });
    assert.deepEqual(await keysOf(patch(id, agent, exchanged)), ['capability:typescript']);
    const more = names({ roles: ['reviewer'], capabilities: ['typescript', 'rust'] });
    await done(patch(id, agent, more));
    await done(patch(id, agent, names({ roles: ['reviewer'], capabilities: ['typescript'] })));
    await done(patch(id, agent, more));
    const restated = { title: 'another', ...more };
    await done(patch(id, agent, restated));
    assert.deepEqual(await keysOf(patch(id, agent, names({ capabilities: ['rust'] }))), [
      'role:reviewer',
      'capability:typescript',
    ]);
    await done(patch(id, person, names({})));

    const own = await done(agent.post('/tasks', { title: 'own', ...names({ capabilities: ['rust'] }) }), 201);
    await done(patch(own.id, agent, names({})));
  });

  test('a move to a workspace where another role has the slug removes the role', async () => {
    const make = (path: string, body: object) => done(baton.admin.post(path, body), 201);
    const [here, there] = [await makeWorkspace(baton), await makeWorkspace(baton)];
    await make('/roles', { slug: 'approver', name: 'Approver' });
    await make('/roles', { slug: 'approver', name: 'Theirs', workspaceId: there.id });
    const requirements = { roles: ['approver'], capabilities: [], skills: [] };
    const { id } = await makeTask(baton, { workspaceId: here.id, requirements });
    assert.deepEqual(await keysOf(patch(id, agent, { workspaceId: there.id })), ['role:approver']);
    assert.deepEqual(await keysOf(patch(id, agent, { workspaceId: there.id, requirements })), [
      'role:approver',
    ]);
    await done(patch(id, agent, { workspaceId: null }));
    await done(patch(id, person, { workspaceId: there.id }));
  });
});

describe('relations that block a task', () => {
  const relate = async (from: string, to: string, type: string, by: Actor = baton.admin) =>
    done(by.post(`/tasks/${from}/relations`, { toTask: to, type }), 201);
  const remove = (task: string, relation: string, by: Actor) =>
    by.delete(`/tasks/${task}/relations/${relation}`);

  test('can be removed by their author and by people, from either end', async () => {
    const [task, first] = [await makeTask(baton), await makeTask(baton)];
    for (const [from, to, type] of [
      [task.id, first.id, 'depends_on'],
      [first.id, task.id, 'blocks'],
    ] as const) {
      const { id } = await relate(from, to, type);
      for (const end of [from, to])
        assert.deepEqual(await keysOf(remove(end, id, agent)), [`relation:${id}`]);
      const { reasons } = await done(agent.get(`/tasks/${task.id}/claimability`));
      assert.equal(reasons[0].remedies.find(({ act }: any) => act === 'remove_relation').allowed, false);
      await refused(
        worker.actor.post(`/tasks/${task.id}:claim`, { sessionId: worker.sessionId }),
        409,
        'task_not_ready',
      );
      await done(remove(task.id, id, person), 204);
      const own = await relate(from, to, type, agent);
      await done(remove(task.id, own.id, agent), 204);
    }
    for (const type of ['parent', 'related_to']) {
      const { id } = await relate(task.id, first.id, type);
      await done(remove(task.id, id, agent), 204);
    }
  });

  test("can't be removed by a principal that works on the waiting task", async () => {
    const own = await makeWorker(baton, { kind: 'human' });
    const { task } = await makeRun(baton, own);
    const first = await makeTask(baton);
    const { id } = await relate(task.id, first.id, 'depends_on', own.actor);
    assert.deepEqual(await keysOf(remove(task.id, id, own.actor)), [`relation:${id}`]);
    await done(remove(task.id, id, person), 204);
  });
});
