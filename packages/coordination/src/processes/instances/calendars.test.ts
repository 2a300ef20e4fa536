import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '@baton/values/ids';
import { done } from '../../testing/leases.ts';
import {
  humanStep,
  publishProcess,
  setStep,
  specOf,
  startProcesses,
} from '../../testing/processes/process-instances.ts';
import { ruleRow } from '../../testing/processes/processes.ts';
import { observe } from '../../testing/rules/rules.ts';

// Tests calendars that only expressions refer to.

const { baton, worker, agent, start, get, told } = await startProcesses();

/** A calendar in which Monday is the only working day. */
async function makeCalendar(): Promise<string> {
  const key = `c${newId()}`;
  const years = [2026, 2027].map((year) => ({ year }));
  const spec = { displayName: key, timezone: 'UTC', weekend: [2, 3, 4, 5, 6, 7], years };
  await done(baton.admin.post('/calendars', { key, spec }), 201);
  return key;
}

const monday = '2026-03-02T09:00:00Z';
const later = (key: string, weeks: number) =>
  `string(cal.addWorkdays(timestamp('${monday}'), ${weeks}, '${key}'))`;

test('a calendar that only an expression refers to is loaded for an expression in any position', async () => {
  const [key, other] = [await makeCalendar(), await makeCalendar()];
  const table = {
    id: 'plan',
    inputs: [],
    outputs: [{ id: 'at' }],
    rules: [ruleRow([], [later(other, 2)])],
  };
  const made = await start(
    [
      setStep('a', { one: later(key, 1) }),
      { id: 'b', decide: { table: 'plan' }, export: { as: { two: 'step.result.at' } } },
      humanStep('c', {
        title: `By {{ ${later(key, 3)} }}`,
        due: { at: `cal.addWorkdays(timestamp('${monday}'), 600, '${key}')` },
      }),
    ],
    { decisions: [table] },
  );
  assert.deepEqual(
    [made.status, made.data],
    ['running', { one: '2026-03-09T09:00:00.000Z', two: '2026-03-16T09:00:00.000Z' }],
  );
  const task = await done(baton.admin.get(`/tasks/${made.openElements[0].taskId}`));
  assert.deepEqual(
    [task.title, (await told(made.id, 'sla_failed')).length],
    ['By 2026-03-23T09:00:00.000Z', 0],
  );
});

test('it is also loaded for triggers, and for the task that reviews the instance', async () => {
  const [key, kind] = [await makeCalendar(), `k-${newId()}`];
  const start = {
    on: { observation: kind, where: `cal.isWorkday(timestamp('${monday}'), '${key}')` },
    key: 'event.id',
  };
  const retrospective = { taskType: 'task', title: 'Look back', due: { workdays: 1, calendar: key } };
  const steps = [setStep('a', { n: '1' })];
  const process = await publishProcess(baton.admin, specOf(agent.key, steps, { start, retrospective }));
  await observe(baton.admin, kind, {});
  await worker.run();
  const [made] = (await done(baton.admin.get(`/process-instances?definitionKey=${process}`))).items;
  assert.equal((await get(made.id)).status, 'completed');
  const name = `externalSystem=control-plane&externalType=process_step&externalId=process/${made.id}`;
  assert.equal((await done(baton.admin.get(`/external-references?${name}`))).items.length, 1);
});
