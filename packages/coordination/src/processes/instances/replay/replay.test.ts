import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { watchEventLoop } from '@baton/kernel/testing/process/processor-time';
import { isLongProof } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { done, refused } from '../../../testing/leases.ts';
import { makeWorkspace } from '../../../testing/organisation/workspaces.ts';
import {
  humanStep,
  publishProcess,
  setStep,
  specOf,
  startProcesses,
  startProcessInstance,
  writeInstance,
} from '../../../testing/processes/process-instances.ts';
import { ruleRow } from '../../../testing/processes/processes.ts';
import { observe } from '../../../testing/rules/rules.ts';

// Tests the replay of instances with an unpublished definition, which writes nothing.

const { baton, worker, agent, complete } = await startProcesses();

const replayed = (key: string, spec: object, more: object = {}) =>
  done(baton.admin.post(`/process-definitions/${key}:replay`, { spec, ...more }));
const rowsWritten = async () =>
  (
    await baton.pool.row(sql<{ rows: string }>`
      select (select count(*) from events) || '/' || (select count(*) from process_instance_journal) || '/' ||
        (select count(*) from process_definitions) || '/' || (select count(*) from process_instances) as rows`)
  )?.rows;

const voteStep = (principal: string) => ({ id: 'vote', approve: { approvers: [{ principal }] } });

test('a replay with the definition of the instances has the same result, for all inputs', async () => {
  const kind = `note-${newId()}`;
  const person = await baton.actor({ kind: 'human' });
  const table = {
    id: 'size',
    hitPolicy: 'first',
    inputs: [{ id: 'amount', expr: 'data.amount' }],
    outputs: [{ id: 'large' }],
    rules: [ruleRow(['amount > 10.0'], ['true'])],
  };
  const spec = specOf(
    agent.key,
    [
      { id: 'judge', decide: { table: 'size' }, export: { as: 'size' } },
      humanStep('look', { due: 'P1D' }),
      voteStep(person.principalId),
      { id: 'pause', wait: 'PT0.001S' },
      setStep('end', { last: 'step.id' }),
    ],
    {
      decisions: [table],
      correlate: [{ on: { observation: kind }, key: 'event.payload.data.key', set: { noted: 'event.id' } }],
    },
  );
  const process = await publishProcess(baton.admin, spec);
  const key = newId();
  const made = await startProcessInstance(baton.admin, process, { amount: 12.5, text: 'é 😀' }, key);
  await observe(baton.admin, kind, { key });
  await worker.run();
  await done(baton.admin.post(`/process-instances/${made.id}:suspend`, { reason: 'a pause' }));
  await done(baton.admin.post(`/process-instances/${made.id}:resume`, {}));
  await complete(made.openElements[0].taskId);
  await worker.run();
  const [open] = (await done(baton.admin.get(`/process-instances/${made.id}`))).openElements;
  await done(person.post(`/approvals/${open.approvalIds[0]}:approve`, {}));
  await worker.run();
  await worker.fire(made.id);
  const ended = await done(baton.admin.get(`/process-instances/${made.id}`));
  assert.deepEqual([ended.status, ended.data.last, ended.suspension], ['completed', 'pause', null]);
  const before = await rowsWritten();
  const report = await replayed(process, spec);
  const published = await done(baton.admin.get(`/process-definitions/${process}`));
  assert.deepEqual(report, {
    key: process,
    candidateHash: published.definitionHash,
    replayed: 1,
    diverged: 0,
    problems: report.problems,
    instances: [
      {
        id: made.id,
        instanceKey: key,
        version: 1,
        status: ended.status,
        result: 'same',
        reason: null,
        replayedStatus: ended.status,
        divergences: [],
        divergencesTotal: 0,
      },
    ],
  });
  assert.equal(await rowsWritten(), before);
});

test('a candidate that decides differently diverges at the line of that decision', async () => {
  const stepsFor = (bound: string) => [
    { ...setStep('mark', { large: 'true' }), when: `data.amount > ${bound}` },
    humanStep('look'),
  ];
  const process = await publishProcess(baton.admin, specOf(agent.key, stepsFor('10.0')));
  const small = await startProcessInstance(baton.admin, process, { amount: 5.5 });
  const large = await startProcessInstance(baton.admin, process, { amount: 15.5 });
  const candidate = specOf(agent.key, stepsFor('5.0'), { version: 2 });
  const report = await replayed(process, candidate);
  assert.deepEqual([report.replayed, report.diverged], [2, 1]);
  const [other, same] = [small, large].map(({ id }) =>
    report.instances.find((one: { id: string }) => one.id === id),
  );
  assert.deepEqual([same.result, other.result], ['same', 'diverged']);
  const { items } = await done(baton.admin.get(`/process-instances/${small.id}/journal`));
  const decision = items.find((line: { kind: string }) => line.kind === 'decision');
  assert.deepEqual(other.divergences[0], {
    journalSeq: decision.seq,
    kind: 'decision',
    element: 'mark',
    recorded: { reason: 'when', data: { holds: false } },
    replayed: { reason: 'when', data: { holds: true } },
  });
  assert.deepEqual(
    other.divergences.slice(1).map(({ kind, element, recorded }: any) => ({ kind, element, recorded })),
    [
      { kind: 'state', element: 'mark', recorded: null },
      { kind: 'data', element: 'mark', recorded: null },
      { kind: 'state', element: 'mark', recorded: null },
    ].sort((a, b) => (a.kind > b.kind ? -1 : 1)),
  );
});

test('a shorter wait of the candidate ends before later inputs', async () => {
  const kind = `late-${newId()}`;
  const more = (version: number) => ({
    version,
    correlate: [{ on: { observation: kind }, key: 'event.payload.data.key', set: { noted: 'true' } }],
  });
  const stepsFor = (wait: string) => [{ id: 'pause', wait }, setStep('after', { noted: 'false' })];
  const process = await publishProcess(baton.admin, specOf(agent.key, stepsFor('P1D'), more(1)));
  const key = newId();
  const made = await startProcessInstance(baton.admin, process, {}, key);
  await observe(baton.admin, kind, { key });
  await worker.run();
  const report = await replayed(process, specOf(agent.key, stepsFor('PT0.001S'), more(2)));
  const [one] = report.instances;
  assert.deepEqual([one.id, one.status, one.replayedStatus], [made.id, 'running', 'completed']);
  assert.ok(one.divergences.some((each: any) => each.kind === 'timer' && each.element === 'after'));
});

test('a candidate with a fault is replayed up to the fault, and one with errors is not replayed', async () => {
  const process = await publishProcess(baton.admin, specOf(agent.key, [humanStep('look')]));
  await startProcessInstance(baton.admin, process, { text: 'x' });
  const faulty = specOf(agent.key, [setStep('broken', { n: 'data.text + 1' })], { version: 2 });
  const [one] = (await replayed(process, faulty)).instances;
  assert.deepEqual(one.divergences.at(-1).replayed.fault, 'expression_error');
  assert.deepEqual([one.divergences.at(-1).kind, one.divergences.at(-1).element], ['input', 'broken']);
  const wrong = specOf(agent.key, [{ id: 'odd', set: { n: 'data.' } }], { version: 2 });
  const report = await replayed(process, wrong);
  assert.equal(report.problems[0].code, 'expression_syntax_error');
  assert.deepEqual([report.replayed, report.diverged, report.instances], [0, 0, []]);
  const formless = await replayed(process, { stages: 'none' });
  assert.deepEqual([formless.candidateHash, formless.instances], [null, []]);
  assert.ok(formless.problems.length > 0);
});

test('instances are selected by id, or the newest are replayed', async () => {
  const spec = specOf(agent.key, [humanStep('look')]);
  const process = await publishProcess(baton.admin, spec);
  const other = await publishProcess(baton.admin, spec);
  const [first, second] = [
    await startProcessInstance(baton.admin, process),
    await startProcessInstance(baton.admin, process),
  ];
  const foreign = await startProcessInstance(baton.admin, other);
  const idsOf = (report: any) => report.instances.map(({ id }: { id: string }) => id);
  assert.deepEqual(idsOf(await replayed(process, spec, { limit: 1 })), [second.id]);
  assert.deepEqual(idsOf(await replayed(process, spec, { instanceIds: [first.id] })), [first.id]);
  const ask = (body: object, key = process) =>
    baton.admin.post(`/process-definitions/${key}:replay`, { spec, ...body });
  await refused(ask({ instanceIds: [first.id, foreign.id] }), 404, 'not_found');
  await refused(ask({}, `none-${newId()}`), 404, 'not_found');
  await refused(ask({ limit: 201 }), 400, 'invalid_request');
  await refused(ask({ limit: 0 }), 400, 'invalid_request');
  const large = { ...spec, description: 'x'.repeat(300_000) };
  await refused(
    baton.admin.post(`/process-definitions/${process}:replay`, { spec: large }),
    422,
    'payload_too_large',
  );
});

test('an instance whose journal does not contain its inputs is reported as such', async () => {
  const spec = specOf(agent.key, [humanStep('look')]);
  const process = await publishProcess(baton.admin, spec);
  const id = await writeInstance(baton, null);
  await baton.pool.run(sql`update process_instances set definition_key = ${process} where id = ${id}`);
  const report = await replayed(process, spec);
  assert.deepEqual(
    [report.replayed, report.instances[0].result, report.instances[0].reason],
    [0, 'incomplete', 'not_recorded'],
  );
});

test('a candidate that never ends does not slow down others', async () => {
  const process = await publishProcess(baton.admin, specOf(agent.key, [humanStep('look')]));
  for (let n = 0; n < 5; n += 1)
    await startProcessInstance(baton.admin, process, { text: 'x'.repeat(60_000) });
  // Each of these steps sets a field, after which the size of all data is measured, so that the replay takes long.
  const stages = Array.from({ length: 40 }, (_, stage) => ({
    id: `s-${stage}`,
    steps: Array.from({ length: 100 }, (_step, n) => setStep(`a-${stage}-${n}`, { n: `${n}` })),
  }));
  const longestTurnMs = watchEventLoop();
  const report = await replayed(process, specOf(agent.key, [], { version: 2, stages }));
  const held = longestTurnMs();
  assert.ok(report.problems.every(({ severity }: any) => severity === 'warning'));
  assert.deepEqual([...new Set(report.instances.map(({ reason }: any) => reason))], ['too_slow']);
  if (isLongProof) assert.ok(held < 500, `blocked the event loop for ${held} ms`);
});

test('both permissions are required, and hidden instances are not replayed', async () => {
  const [seen, hidden] = [await makeWorkspace(baton), await makeWorkspace(baton)];
  const kind = `note-${newId()}`;
  const spec = specOf(agent.key, [humanStep('look')], {
    correlate: [{ on: { observation: kind }, key: 'event.payload.data.key', set: { noted: 'true' } }],
  });
  const process = await publishProcess(baton.admin, spec);
  const startIn = async (workspaceId: string) => {
    const key = newId();
    const { id } = await done(
      baton.admin.post('/process-instances', { process, key, data: {}, workspaceId }),
      201,
    );
    return { id: id as string, key };
  };
  const [open, told, closed] = [await startIn(seen.id), await startIn(seen.id), await startIn(hidden.id)];
  await observe(baton.admin, kind, { key: told.key }, { workspaceId: hidden.id });
  await worker.run();
  const member = await baton.actor({ kind: 'human', permissions: ['processes.read', 'packages.test'] });
  await done(baton.admin.post(`/workspaces/${seen.id}/members`, { principalId: member.principalId }), 201);
  await baton.pool.run(
    sql`update iam_bindings set visibility = 'members' where principal_id = ${member.principalId}`,
  );
  const path = `/process-definitions/${process}:replay`;
  const report = await done(member.post(path, { spec }));
  assert.deepEqual(
    new Map(report.instances.map(({ id, result, reason }: any) => [id, [result, reason]])),
    new Map([
      [told.id, ['incomplete', 'not_recorded']],
      [open.id, ['same', null]],
    ]),
  );
  await refused(member.post(path, { spec, instanceIds: [closed.id] }), 404, 'not_found');
  for (const permission of ['processes.read', 'packages.test'] as const) {
    const half = await baton.actor({ permissions: [permission] });
    await refused(half.post(path, { spec }), 403, 'permission_denied');
  }
});
