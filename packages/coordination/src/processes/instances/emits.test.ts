import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import {
  humanStep,
  makeProcessAgent,
  publishProcess,
  setStep,
  specOf,
  startProcessInstance,
} from '../../testing/processes/process-instances.ts';
import { agentSpec, publishAgent } from '../../testing/registry/agents.ts';
import { makeCallable } from '../../testing/results/invocations.ts';

// Tests that the endpoints declare all events that an operation on an instance may write.

let baton: TestCoordination;
let agent: Awaited<ReturnType<typeof makeProcessAgent>>;
let skill: string;
let person: string;
let unlinked: string;
before(async () => {
  baton = await startCoordination();
  agent = await makeProcessAgent(baton);
  const made = await makeCallable(baton.admin, { name: `s-${newId()}` });
  skill = `${made.name}@${made.version}`;
  person = (await baton.actor({ kind: 'human' })).principalId;
  unlinked = (await publishAgent(baton.admin, agentSpec())).key;
});
after(() => baton.close());

const data = { at: '2030-01-01T00:00:00.000Z', when: 'never', m: 0 };
const start = async (steps: object[], more: object = {}) =>
  startProcessInstance(baton.admin, await publishProcess(baton.admin, specOf(agent.key, steps, more)), data);
const act = (id: string, verb: string, body: object) =>
  done(baton.admin.post(`/process-instances/${id}:${verb}`, body));
const branch = (id: string, ...steps: object[]) => ({ id: `b-${id}`, do: steps });
/** A step that fails immediately, because its agent can't act. */
const refusedCall = (id: string) => ({ id, call: { agent: unlinked, taskType: 'task' } });
const vote = (id: string) => ({ id, approve: { approvers: [{ principal: person }] } });
const suspend = (id: string) => ({ id, suspend: { reason: 'for the test' } });

/** Steps that cause every kind of write that an instance can make without an event or a timer; the last step fails. */
const everything = (): object[] => [
  { ...setStep('did', { d: '1' }), onCompensate: [setStep('undo', { d: '0' })] },
  { id: 'back', compensate: ['did'] },
  {
    id: 'again',
    try: {
      do: [
        {
          id: 'two',
          fork: {
            mode: 'all',
            branches: [branch('t', humanStep('twice')), branch('r', { id: 'no', raise: { type: 'no' } })],
          },
        },
      ],
      retry: { limit: 1, delay: 'PT0S', backoff: 'constant' },
      catch: [{ do: [setStep('go', { m: '1' })] }],
    },
  },
  {
    id: 'all',
    fork: {
      mode: 'all',
      branches: [
        branch('vote', vote('vote')),
        branch('tell', { id: 'tell', remember: { kind: 'note', content: 'a note' } }),
        branch('work', humanStep('work', { due: { at: 'data.when' } })),
        branch('call', { id: 'call', call: { skill } }),
        branch('wait', { id: 'wait', wait: { at: 'data.at' } }),
        branch('one', {
          id: 'one',
          try: {
            do: [refusedCall('first')],
            catch: [
              { do: [setStep('later', { at: "'2031-01-01T00:00:00.000Z'", m: '2' }), humanStep('rest')] },
            ],
          },
        }),
        branch('two', {
          id: 'other',
          try: { do: [refusedCall('second')], catch: [{ do: [{ id: 'fail', raise: { type: 'over' } }] }] },
        }),
      ],
    },
  },
];
const stages = (...steps: object[]) => ({
  stages: [
    { id: 'early', steps: [setStep('begin', { b: '1' })] },
    { id: 'main', steps, milestones: [{ id: 'half', when: 'data.m == 1' }] },
  ],
});

const inStages = ['milestone_lost', 'milestone_reached', 'stage_entered', 'stage_exited'].map(
  (name) => `process.${name}`,
);
const ofSteps = [
  'approval.cancelled',
  'approval.requested',
  'observation.recorded',
  'process.compensated',
  'process.data_changed',
  'process.failed',
  'process.sla_failed',
  'process.step_entered',
  'process.step_exited',
  'process.timer_rescheduled',
  'skill.invocation_cancelled',
  'skill.invocation_requested',
  'task.created',
  'task.external_reference_added',
  'task.external_reference_removed',
  'task.updated',
];

/** The types of the events that an operation wrote. */
async function written<T>(doIt: () => Promise<T>): Promise<{ answer: T; types: string[] }> {
  const last = async () =>
    Number(
      (await baton.pool.row<{ n: string }>(sql`select coalesce(max(sequence), 0)::text as n from events`))?.n,
    );
  const before = await last();
  const answer = await doIt();
  const rows = await baton.pool.rows<{ type: string }>(
    sql`select distinct type from events where sequence > ${before} order by type`,
  );
  return { answer, types: rows.map(({ type }) => type) };
}

async function writes(types: readonly string[], doIt: () => Promise<unknown>): Promise<void> {
  assert.deepEqual((await written(doIt)).types, [...types].sort());
}

test('a start may write all events that its steps cause', async () => {
  const process = await publishProcess(baton.admin, specOf(agent.key, [], stages(...everything())));
  await writes(['process.started', ...ofSteps, ...inStages], () =>
    startProcessInstance(baton.admin, process, data),
  );
  assert.equal((await start([setStep('a', { n: '1' })])).status, 'completed');
  assert.equal((await start([suspend('a')])).status, 'suspended');
});

test('so may a resume, which also ends a cancel that was suspended', async () => {
  const made = await start([], stages(suspend('gate'), ...everything()));
  // Both stages were entered at the start; a stage entered by a resume follows below.
  const types = [
    'process.resumed',
    ...ofSteps,
    ...inStages.filter((type) => type !== 'process.stage_entered'),
  ];
  await writes(types, () => act(made.id, 'resume', {}));
  const early = ['process.stage_entered', 'process.stage_exited'];
  const next = await start([], {
    stages: [
      { id: 'a', steps: [suspend('gate')] },
      { id: 'b', steps: [suspend('again')] },
    ],
  });
  const again = await written(() => act(next.id, 'resume', {}));
  assert.equal(again.answer.status, 'suspended');
  assert.deepEqual(
    again.types.filter((type) => early.includes(type)),
    early,
  );
  assert.equal((await act(next.id, 'resume', {})).status, 'completed');
  const undo = await start([
    { ...setStep('a', { n: '1' }), onCompensate: [suspend('wait')] },
    humanStep('b'),
  ]);
  assert.equal((await act(undo.id, 'cancel', { reason: 'enough' })).status, 'suspended');
  assert.equal((await act(undo.id, 'resume', {})).status, 'cancelled');
});

test('and a skip', async () => {
  const skip = (id: string, element: string) => act(id, 'skip', { element, reason: 'by hand' });
  const made = await start([], stages(refusedCall('gate'), ...everything()));
  const early = ['process.stage_entered', 'process.stage_exited'];
  const types = [
    'process.resumed',
    ...ofSteps,
    ...inStages.filter((type) => type !== 'process.stage_entered'),
  ];
  await writes(types, () => skip(made.id, 'gate'));
  const next = await start([], {
    stages: [
      { id: 'a', steps: [refusedCall('gate')] },
      { id: 'b', steps: [refusedCall('again')] },
    ],
  });
  const again = await written(() => skip(next.id, 'gate'));
  assert.equal(again.answer.status, 'suspended');
  assert.deepEqual(
    again.types.filter((type) => early.includes(type)),
    early,
  );
  assert.equal((await skip(next.id, 'again')).status, 'completed');
  const undo = await start([
    { ...setStep('a', { n: '1' }), onCompensate: [refusedCall('g')] },
    humanStep('b'),
  ]);
  assert.equal((await act(undo.id, 'cancel', { reason: 'enough' })).status, 'suspended');
  assert.equal((await skip(undo.id, 'g')).status, 'cancelled');
});

test('a cancel writes the events of the compensation, and of the objects that it closes', async () => {
  const cancel = (id: string) => act(id, 'cancel', { reason: 'enough' });
  const undoing = async (...onCompensate: object[]) =>
    start([{ ...setStep('a', { n: '1' }), onCompensate }, humanStep('open')]);
  const made = await undoing(...everything());
  const undone = ofSteps.filter((type) => type !== 'process.failed');
  await writes([...undone, 'process.stage_exited', 'process.suspended'], () => cancel(made.id));
  const statuses = [];
  for (const steps of [
    [setStep('x', { n: '0' })],
    [suspend('x')],
    [{ id: 'x', complete: { outcome: 'kept' } }],
  ])
    statuses.push((await cancel((await undoing(...steps)).id)).status);
  assert.deepEqual(statuses, ['cancelled', 'suspended', 'completed']);
});

test('suspending or cancelling a called instance that has not started emits its start first', async () => {
  const key = await publishProcess(
    baton.admin,
    specOf(agent.key, [humanStep('a')], { due: { at: 'data.when' } }),
  );
  const called = async () => {
    const caller = await start([{ id: 'call', call: { process: key, input: { when: 'data.when' } } }]);
    const child = await baton.pool.row<{ id: string }>(
      sql`select id from process_instances where parent_id = ${caller.id}`,
    );
    return child?.id as string;
  };
  const [first, second] = [await called(), await called()];
  await writes(['process.started', 'process.sla_failed', 'process.suspended'], () =>
    act(first, 'suspend', { reason: 'wait' }),
  );
  await writes(['process.started', 'process.cancelled'], () => act(second, 'cancel', { reason: 'enough' }));
});
