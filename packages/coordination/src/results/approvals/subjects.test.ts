import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { systemLifecycle } from '../../definitions/task-types/system-type.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import {
  claimTask,
  corePrincipalOf,
  done,
  eventsOf,
  makeTask,
  makeWorker,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import { claimCall, makeCallable } from '../../testing/results/invocations.ts';
import { outcomeTester } from '../../testing/results/outcomes.ts';

/**
 * Tests that a decision concerns the requested subject (docs/reference/approvals.md#subjects): an agent attempts a
 * change, a person decides, and the effect is checked.
 */
let baton: TestCoordination;
let person: Actor;
let agent: Actor;
let worker: Worker;
let executor: Actor;
let tester: ReturnType<typeof outcomeTester>;
before(async () => {
  baton = await startCoordination();
  person = await baton.actor({ kind: 'human' });
  worker = await makeWorker(baton);
  agent = worker.actor;
  executor = await baton.actor();
  tester = outcomeTester(baton, person);
});
after(async () => {
  await tester.close();
  await baton.close();
});

const acme = { to: 'ACME Ltd', amount: 10 };
const mallory = { to: 'Mallory', amount: 1_000_000 };
const inputs = {
  to: '$.task.customFields.to',
  amount: '$.task.customFields.amount',
  by: '$.approval.decidedBy',
};

/** A task whose approval triggers a payment: the administrator requests it; the person decides. */
async function payment(more: object[] = []) {
  const skill = await makeCallable(baton.admin, { sideEffects: 'external_write' });
  const approved = [{ invokeSkill: { skill: `${skill.name}@${skill.version}`, inputs } }, ...more];
  const { id, task } = await tester.gate({ approved }, { task: { title: 'Pay', customFields: acme } });
  return { id, task, skill };
}

const read = (id: string, actor = person) => done(actor.get(`/approvals/${id}`));
const patch = async (taskId: string, change: object, actor = agent) => {
  const { version } = await done(actor.get(`/tasks/${taskId}`));
  return actor.patch(`/tasks/${taskId}`, change, { 'if-match': `task-${version}` });
};
const approve = (id: string, body: object = {}, headers: Record<string, string> = {}) =>
  person.post(`/approvals/${id}:approve`, body, headers);
const pendingOf = async (taskId: string) =>
  (await done(baton.admin.get(`/approvals?taskId=${taskId}&status=pending`))).items;
const claim = (taskId: string) => agent.post(`/tasks/${taskId}:claim`, { sessionId: worker.sessionId });
const callOf = async (skill: any) => (await done(claimCall(executor, skill))).invocation;

/** Computes the digest in the same way as a client that received the snapshot. */
function digestOf(snapshot: unknown): string {
  const sorted = (_: string, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  const text = JSON.stringify(snapshot, sorted).normalize('NFC');
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

test('a subject changed while the gate was pending is not approved, and the person sees the changes', async () => {
  const { id, task, skill } = await payment();
  const asked = await read(id);
  assert.equal(asked.subjectChanged, false);
  await done(patch(task.id, { customFields: mallory }));

  const { requestedDigest, currentDigest, changedFields } = await refused(
    approve(id),
    409,
    'approval_subject_changed',
  );
  const shown = await read(id);
  assert.deepEqual(changedFields, ['customFields', 'outcome']);
  assert.deepEqual([requestedDigest, currentDigest], [asked.subject.digest, shown.current.digest]);
  assert.deepEqual([shown.subjectChanged, shown.changedFields], [true, changedFields]);
  assert.deepEqual(shown.subject.snapshot.task.customFields, acme);
  assert.deepEqual(shown.current.snapshot.task.customFields, mallory);
  assert.deepEqual(shown.current.snapshot.outcome.approved[0].invokeSkill.inputs, {
    ...mallory,
    by: '$.approval.decidedBy',
  });
  const [listed] = await pendingOf(task.id);
  assert.deepEqual([listed.subject, listed.subjectChanged], [{ digest: requestedDigest }, true]);
  await tester.work();
  assert.equal((await claimCall(executor, skill)).status, 204, 'nobody is paid');
  // Approving with the digest of the requested subject is refused, too.
  await refused(approve(id, { subjectDigest: requestedDigest }), 409, 'approval_subject_changed');

  const decided = await done(approve(id, { subjectDigest: currentDigest, comment: 'I know Mallory.' }));
  assert.deepEqual(
    [decided.subject.digest, decided.requestedSubject.digest, decided.subjectChanged],
    [currentDigest, requestedDigest, false],
  );
  const [, event] = await eventsOf(baton, id);
  assert.equal(event?.payload['subjectDigest'], currentDigest);
  await tester.work();
  assert.deepEqual((await callOf(skill)).inputs, { ...mallory, by: person.principalId });
});

test("a change after the approval doesn't reach the executor, and is requested again", async () => {
  const { id, task, skill } = await payment([{ comment: { body: 'Paid $.task.customFields.to' } }]);
  await done(approve(id));
  await done(patch(task.id, { customFields: mallory }));
  await tester.work();
  const call = await callOf(skill);
  assert.deepEqual(call.inputs, { ...acme, by: person.principalId });
  const answer = { fencingToken: call.fencingToken, output: {} };
  await done(executor.post(`/skill-invocations/${call.id}:complete`, answer));
  await tester.work();
  const { items } = await done(baton.admin.get(`/tasks/${task.id}/comments`));
  assert.deepEqual(
    items.map(({ body }: { body: string }) => body),
    ['Paid ACME Ltd'],
  );

  const [again, ...others] = await pendingOf(task.id);
  assert.equal(others.length, 0);
  assert.deepEqual(
    [again.supersedesApprovalId, again.requestedByPrincipalId, again.assignedPrincipalId, again.gate],
    [id, await corePrincipalOf(baton), person.principalId, true],
  );
  assert.match(again.comment, /^Changed since it was approved: customFields\./);
  const held = { taskId: task.id, pendingApprovals: [again.id] };
  assert.deepEqual(await refused(claim(task.id), 409, 'approval_required'), held);
  const { version } = await done(agent.get(`/tasks/${task.id}`));
  const complete = () => agent.post(`/tasks/${task.id}:complete`, {}, { 'if-match': `task-${version}` });
  assert.deepEqual(await refused(complete(), 409, 'approval_required'), held);
  await refused(agent.post(`/approvals/${again.id}:cancel`), 403, 'permission_denied');
  assert.equal((await read(again.id)).subject.snapshot.task.customFields.to, 'Mallory');
  // One request is enough: the pending request shows that its subject has changed.
  await done(patch(task.id, { customFields: { to: 'Trudy', amount: 1 } }));
  assert.deepEqual(
    (await pendingOf(task.id)).map(({ id }: any) => id),
    [again.id],
  );
  await refused(approve(again.id), 409, 'approval_subject_changed');
  await done(person.post(`/approvals/${again.id}:reject`));
  await done(claim(task.id));
});

test('a value shaped like an expression is never evaluated as one', async () => {
  const { id, task, skill } = await payment();
  await done(person.post(`/approvals/${id}:cancel`));
  const customFields = { to: '$.task.publicId $.approval.id', amount: 1 };
  await done(patch(task.id, { customFields }));
  const request = { task: task.id, gate: true, assignedPrincipalId: person.principalId };
  const second = await done(baton.admin.post('/approvals', request), 201);
  assert.equal(second.subject.snapshot.outcome.approved[0].invokeSkill.inputs.to, customFields.to);
  await done(approve(second.id));
  await tester.work();
  assert.deepEqual((await callOf(skill)).inputs, { ...customFields, by: person.principalId });
});

test('the subject is shown to the decider, and every client can compute its digest', async () => {
  const spawner = await makeTask(baton, { title: 'Caf\u0065\u0301' });
  const { id, task } = await tester.gate(
    {
      approved: [
        {
          ensureWork: {
            type: 'task',
            key: '$.task.id',
            title: 'After $.spawnedBy.title: $.approval.comment',
          },
        },
      ],
      rejected: [{ comment: { body: '$.task.customFields.missing! $.task.title|truncate:2' } }],
    },
    {
      task: {
        title: 'Title',
        description: 'Text',
        dueDate: '2027-01-01T00:00:00.000Z',
        customFields: { rate: 0.25 },
      },
    },
  );
  const relation = { toTask: spawner.id, type: 'spawned_by' };
  await done(baton.admin.post(`/tasks/${task.id}/relations`, relation), 201);
  const artifact = await done(
    baton.admin.post('/artifacts', { type: 'report', name: 'Findings', task: task.id, content: { a: 1 } }),
    201,
  );
  const body = {
    task: task.id,
    artifactId: artifact.id,
    gate: true,
    assignedPrincipalId: person.principalId,
  };
  const { headers, body: made } = await baton.admin.post('/approvals', body);
  assert.equal(headers.get('etag'), '"approval-1"');
  assert.deepEqual(made.subject, {
    taskVersion: task.version,
    artifactSha256: null,
    digest: digestOf(made.subject.snapshot),
    snapshot: {
      task: {
        title: 'Title',
        description: 'Text',
        typeKey: task.typeKey,
        typeVersion: 1,
        priority: 'medium',
        startDate: null,
        dueDate: '2027-01-01T00:00:00.000Z',
        customFields: { rate: 0.25 },
        acceptance: [],
      },
      artifact: { type: 'report', name: 'Findings', digest: null },
      outcome: {
        approved: [
          {
            ensureWork: {
              type: 'task',
              key: task.id,
              title: 'After Caf\u0065\u0301: $.approval.comment',
            },
          },
        ],
        rejected: [{ comment: { body: '$.task.customFields.missing! Ti' } }],
      },
    },
  });
  assert.deepEqual(await read(made.id), made);
  // The first request was made before the relation and the artifact existed.
  assert.deepEqual((await read(id)).changedFields, ['outcome']);
  const plain = await done(baton.admin.post('/approvals', { assignedPrincipalId: person.principalId }), 201);
  assert.deepEqual(plain.subject.snapshot, { task: null, artifact: null, outcome: null });
});

test('each displayed field counts, but status, evidence and owner do not', async () => {
  const { id, task } = await tester.gate({});
  const change = async (body: object) => {
    await done(patch(task.id, body));
    return (await read(id)).changedFields;
  };
  assert.deepEqual(await change({ ownerId: agent.principalId }), []);
  assert.deepEqual(await change({ status: 'in_progress' }), []);
  assert.deepEqual(await change({ priority: 'high' }), ['priority']);
  assert.deepEqual(await change({ priority: 'medium' }), []);
  assert.deepEqual(await change({ startDate: '2027-01-01T00:00:00.000Z' }), ['startDate']);
  const dates = { startDate: null, dueDate: '2027-01-01T00:00:00.000Z' };
  assert.deepEqual(await change(dates), ['dueDate']);
  assert.deepEqual(await change({ title: 'Other', description: 'Other' }), [
    'title',
    'description',
    'dueDate',
  ]);
  const check = { key: 'seen', kind: 'human', description: 'Somebody has seen it.' };
  await done(patch(task.id, { title: task.title, description: '', dueDate: null }));
  assert.deepEqual(await change({ acceptance: [check] }), ['acceptance']);
});

test('a person approves what the client showed, also for a renewed request', async () => {
  const { id, task } = await payment();
  const { subject } = await read(id);
  await done(patch(task.id, { customFields: mallory }));
  const { current } = await read(id);
  await done(patch(task.id, { customFields: acme }));
  const details = await refused(
    approve(id, { subjectDigest: current.digest }),
    409,
    'approval_subject_changed',
  );
  assert.deepEqual(
    [details.requestedDigest, details.currentDigest, details.changedFields],
    [subject.digest, subject.digest, []],
  );
  assert.equal((await done(approve(id, { subjectDigest: subject.digest }))).requestedSubject, null);
});

test('a rejection is never refused for a change, and triggers the requested outcome unless the digest is that of the current subject', async () => {
  const said = async (withDigest: boolean) => {
    const rejected = [{ comment: { body: 'No: $.task.title' } }];
    const { id, task } = await tester.gate({ rejected }, { task: { title: 'requested' } });
    await done(patch(task.id, { title: 'changed' }));
    const { current } = await read(id);
    await tester.decide(id, 'reject', withDigest ? { subjectDigest: current.digest } : {});
    await tester.work();
    return (await done(baton.admin.get(`/tasks/${task.id}/comments`))).items[0].body;
  };
  assert.deepEqual([await said(false), await said(true)], ['No: requested', 'No: changed']);
});

test('If-Match contains the version that was shown', async () => {
  const { id } = await tester.gate({});
  const { headers } = await person.get(`/approvals/${id}`);
  assert.equal(headers.get('etag'), '"approval-1"');
  for (const verb of ['approve', 'reject']) {
    const stale = person.post(`/approvals/${id}:${verb}`, {}, { 'if-match': '"approval-7"' });
    const details = await refused(stale, 409, 'version_conflict');
    assert.deepEqual([details.expectedVersion, details.currentVersion], [7, 1]);
    await refused(
      person.post(`/approvals/${id}:${verb}`, {}, { 'if-match': 'task-1' }),
      400,
      'invalid_if_match',
    );
  }
  const answer = await approve(id, {}, { 'if-match': 'approval-1' });
  assert.deepEqual([answer.status, answer.headers.get('etag')], [200, '"approval-2"']);
});

test('a subject has at most 64 KiB: a larger one is not requested, and one that has grown beyond is not approved', async () => {
  const large = { description: 'x'.repeat(70_000) };
  const request = { gate: true, assignedPrincipalId: person.principalId };
  const tooLarge = await makeTask(baton, large);
  const details = await refused(
    baton.admin.post('/approvals', { task: tooLarge.id, ...request }),
    422,
    'payload_too_large',
  );
  assert.deepEqual(details, { field: 'subject', maxBytes: 65_536 });
  const task = await makeTask(baton);
  const { id } = await done(baton.admin.post('/approvals', { task: task.id, ...request }), 201);
  await done(patch(task.id, large));
  const grown = await read(id);
  assert.deepEqual([grown.subjectChanged, grown.changedFields, grown.current], [true, ['description'], null]);
  assert.equal((await pendingOf(task.id))[0].subjectChanged, true);
  await refused(approve(id), 422, 'payload_too_large');
  await done(person.post(`/approvals/${id}:reject`));
  // Expressions may expand small values into large ones.
  const body = '$.task.description '.repeat(400).trim();
  const many = tester.gate({ approved: [{ comment: { body } }] }, { task: { description: 'y'.repeat(300) } });
  await assert.rejects(many, /422/);
});

test('the outcome shows the values that it reads from many artifacts, the task and its origin', async () => {
  const origin = await makeTask(baton);
  const add = (task: { id: string }, type: string, metadata: object) =>
    done(agent.post('/artifacts', { type, name: type, task: task.id, metadata }), 201);
  const paths = Array.from({ length: 20 }, (_, n) => `$.task.artifact[t${n}].metadata.a`);
  const body = [
    ...paths,
    '$.spawnedBy.artifact[t1].metadata.a|truncate:2',
    '$.task.artifact[t1].metadata.b',
    '$.task.artifact[t1].metadata.none',
  ].join(' ');
  const { id, task } = await tester.gate({ approved: [{ comment: { body } }] });
  await add(task, 't1', { a: 'old', b: 'old' });
  for (let n = 0; n < 20; n += 1) await add(task, `t${n}`, { a: n, b: { n } });
  const shownNow = async () => (await read(id)).current.snapshot.outcome.approved[0].comment.body;
  const numbers = Array.from({ length: 20 }, (_, n) => n).join(' ');
  assert.equal(await shownNow(), `${numbers}  {"n":1} `);
  const relation = { toTask: origin.id, type: 'spawned_by' };
  await done(baton.admin.post(`/tasks/${task.id}/relations`, relation), 201);
  assert.equal(await shownNow(), `${numbers}  {"n":1} `);
  await add(origin, 't1', { a: 'origin' });
  assert.equal(await shownNow(), `${numbers} or {"n":1} `);
});

test('an outcome that reads more than 4 MiB of artifacts is not shown, even if its result is small', async () => {
  const types = Array.from({ length: 70 }, (_, n) => `large${n}`);
  const body = types.map((type) => `$.task.artifact[${type}].metadata.a|truncate:1`).join('');
  const { id, task } = await tester.gate({ approved: [{ comment: { body } }] });
  const metadata = { a: 'x'.repeat(64_000) };
  for (const type of types)
    await done(agent.post('/artifacts', { type, name: type, task: task.id, metadata }), 201);
  const { current, changedFields } = await read(id);
  assert.deepEqual([current, changedFields], [null, ['outcome']]);
  await refused(approve(id), 422, 'payload_too_large');
});

test('a request that predates recorded subjects is approved by the digest of the displayed subject', async () => {
  const task = await makeTask(baton);
  const request = { task: task.id, gate: true, assignedPrincipalId: person.principalId };
  const { id } = await done(baton.admin.post('/approvals', request), 201);
  await baton.pool.run(sql`update approvals set subject = null, subject_digest = null where id = ${id}`);
  const old = await read(id);
  assert.deepEqual([old.subject, old.subjectChanged], [null, true]);
  assert.equal((await refused(approve(id), 409, 'approval_subject_changed')).requestedDigest, null);
  await done(approve(id, { subjectDigest: old.current.digest }));
});

describe('a change after the approval', () => {
  /** A task with a gate that the person has approved. */
  async function approved(more: { task?: object; approval?: object } = {}) {
    const made = await tester.gate({ approved: [{ comment: { body: 'For $.task.customFields.to' } }] }, more);
    await done(approve(made.id));
    return made;
  }

  test('of title, description, acceptance or a custom field that the outcome reads renews the request; of others it does not', async () => {
    const check = { key: 'seen', kind: 'human', description: 'Somebody has seen it.' };
    for (const [change, asksAgain] of [
      [{ title: 'Other' }, true],
      [{ description: 'Other' }, true],
      [{ acceptance: [check] }, true],
      [{ customFields: { to: 'Other' } }, true],
      [{ customFields: { note: 'Other' } }, false],
      [{ priority: 'high', ownerId: agent.principalId, status: 'in_progress' }, false],
    ] as const) {
      const { task } = await approved();
      await done(patch(task.id, change));
      assert.equal((await pendingOf(task.id)).length, asksAgain ? 1 : 0, JSON.stringify(change));
    }
  });

  test('by a person who could decide does not renew the request; by an excluded person or a non-addressee it does', async () => {
    const { task } = await approved();
    await done(patch(task.id, { title: 'By the decider' }, person));
    assert.deepEqual(await pendingOf(task.id), []);
    await done(patch(task.id, { title: 'By another person' }, baton.admin));
    assert.equal((await pendingOf(task.id)).length, 1);

    const { id: roleId } = await done(baton.admin.post('/roles', { slug: 'payer', name: 'Payer' }), 201);
    for (const actor of [person, agent])
      await done(baton.admin.post(`/principals/${actor.principalId}/roles`, { roleId }), 201);
    const ofRole = { requiredRoleId: roleId, assignedPrincipalId: undefined };
    const byRole = await approved({ approval: ofRole });
    await done(patch(byRole.task.id, { title: 'By a holder of the role' }, person));
    assert.deepEqual(await pendingOf(byRole.task.id), []);
    await done(patch(byRole.task.id, { title: 'By an agent that holds it' }));
    const [again] = await pendingOf(byRole.task.id);
    assert.deepEqual([again.requiredRoleId, again.assignedPrincipalId], [roleId, null]);
  });

  test('renews the request once per addressee, and again after a rejection or a later change', async () => {
    const { id, task } = await approved();
    const other = await baton.actor({ kind: 'human' });
    const request = { task: task.id, gate: true };
    for (const actor of [person, other]) {
      const body = { ...request, assignedPrincipalId: actor.principalId };
      const gate = await done(baton.admin.post('/approvals', body), 201);
      await done(actor.post(`/approvals/${gate.id}:approve`));
    }
    await done(patch(task.id, { title: 'changed' }));
    const asked = await pendingOf(task.id);
    assert.deepEqual(
      asked.map(({ assignedPrincipalId }: any) => assignedPrincipalId).sort(),
      [person.principalId, other.principalId].sort(),
    );
    assert.ok(asked.every(({ supersedesApprovalId }: any) => supersedesApprovalId !== id));
    const ofPerson = asked.find((item: any) => item.assignedPrincipalId === person.principalId);
    await done(person.post(`/approvals/${ofPerson.id}:reject`));
    await done(patch(task.id, { title: 'mended' }));
    const [again] = (await pendingOf(task.id)).filter(
      (item: any) => item.assignedPrincipalId === person.principalId,
    );
    assert.equal(again.supersedesApprovalId, ofPerson.supersedesApprovalId);
    await done(approve(again.id));
    await done(patch(task.id, { title: 'once more' }));
    const [third] = (await pendingOf(task.id)).filter(
      (item: any) => item.assignedPrincipalId === person.principalId,
    );
    assert.equal(third.supersedesApprovalId, again.id);
  });

  test('of a closed task is requested when it is reopened', async () => {
    const key = `reopened-${baton.tenantId.slice(-4)}`;
    const transitions = [...(systemLifecycle.transitions ?? []), { from: 'cancelled', to: ['todo'] }];
    await insertTestType(baton, { key, lifecycle: { ...systemLifecycle, transitions } });
    const reopened = async (change: object) => {
      const task = await makeTask(baton, { typeKey: key });
      const request = { task: task.id, gate: true, assignedPrincipalId: person.principalId };
      await done(approve((await done(baton.admin.post('/approvals', request), 201)).id));
      await done(patch(task.id, { status: 'cancelled' }));
      await done(patch(task.id, change));
      assert.deepEqual(await pendingOf(task.id), []);
      await done(patch(task.id, { status: 'todo' }));
      return (await pendingOf(task.id)).length;
    };
    assert.deepEqual([await reopened({ title: 'Other' }), await reopened({ priority: 'low' })], [1, 0]);
  });

  test('leaves a running run its claim, but does not let it complete the task', async () => {
    const { task } = await approved();
    const { claimId, fencingToken } = await claimTask(worker, task.id);
    const run = await done(agent.post(`/tasks/${task.id}:start-run`, { claimId, fencingToken }), 201);
    await done(patch(task.id, { title: 'Other', claimId, fencingToken }));
    await refused(agent.post(`/runs/${run.id}:succeed`), 409, 'approval_required');
    const [again] = await pendingOf(task.id);
    await done(approve(again.id));
    await done(agent.post(`/runs/${run.id}:succeed`));
  });

  test('that could not be shown is refused', async () => {
    const { task } = await approved();
    await refused(patch(task.id, { description: 'x'.repeat(70_000) }), 422, 'payload_too_large');
    assert.equal((await done(agent.get(`/tasks/${task.id}`))).description, '');
  });

  test('of the type renews the request, one task at a time and in a batch', async () => {
    const key = `moving-${baton.tenantId.slice(-4)}`;
    const typeId = await insertTestType(baton, { key });
    const tasks = await Promise.all([1, 2, 3].map(() => makeTask(baton, { typeKey: key })));
    const [single, gated, free] = tasks;
    const large = await makeTask(baton, { typeKey: key, description: 'x'.repeat(65_000) });
    for (const { id: task } of [single, gated, large]) {
      const request = { task, gate: true, assignedPrincipalId: person.principalId };
      await done(approve((await done(baton.admin.post('/approvals', request), 201)).id));
    }
    const to = await insertTestType(baton, {
      key,
      version: 2,
      approvalSchema: {
        gates: { default: { outcomes: { approved: [{ comment: { body: '$.task.description' } }] } } },
      },
    });
    const migrate = ({ id: task, version }: { id: string; version: number }) =>
      baton.admin.post(`/tasks/${task}:migrate-type`, {}, { 'if-match': `task-${version}` });
    await done(migrate(single));
    assert.equal((await pendingOf(single.id)).length, 1);
    await refused(migrate(large), 422, 'payload_too_large');
    const report = await done(baton.admin.post(`/task-types/${typeId}:migrate-tasks`, {}));
    assert.equal(report.typeId, to);
    assert.deepEqual(report.migrated.map(({ taskId }: any) => taskId).sort(), [gated.id, free.id].sort());
    assert.deepEqual(
      report.skipped.map(({ taskId, code }: any) => [taskId, code]),
      [[large.id, 'payload_too_large']],
    );
    assert.deepEqual(
      [
        (await pendingOf(gated.id)).length,
        (await pendingOf(free.id)).length,
        (await pendingOf(large.id)).length,
      ],
      [1, 0, 0],
    );
  });
});

test('events contain digests and no snapshot', async () => {
  const { id, task } = await payment();
  await done(approve(id));
  await done(patch(task.id, { customFields: mallory }));
  const [again] = await pendingOf(task.id);
  const events = await eventsOf(baton, id, again.id);
  assert.ok(events.length >= 3);
  assert.ok(!JSON.stringify(events).includes('ACME'));
  assert.ok(!JSON.stringify(events).includes('Mallory'));
  const requested = events.filter(({ type }) => type === 'approval.requested');
  assert.deepEqual(
    requested.map(({ payload }) => [payload['supersedesApprovalId'], typeof payload['subjectDigest']]),
    [
      [null, 'string'],
      [id, 'string'],
    ],
  );
});

test('a list has digests and no snapshots', async () => {
  const task = await makeTask(baton, { title: 'Only in the snapshot' });
  const request = { task: task.id, assignedPrincipalId: person.principalId };
  const { subject } = await done(baton.admin.post('/approvals', request), 201);
  const { items } = await done(baton.admin.get(`/approvals?taskId=${task.id}`));
  assert.deepEqual(items[0].subject, { digest: subject.digest });
  assert.ok(!JSON.stringify(items).includes('Only in the snapshot'));
});
