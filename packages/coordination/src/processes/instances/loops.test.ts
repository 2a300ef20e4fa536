import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '@baton/values/ids';
import { done, eventsOf } from '../../testing/leases.ts';
import {
  humanStep,
  publishProcess,
  setStep,
  specOf,
  startProcesses,
  startProcessInstance,
} from '../../testing/processes/process-instances.ts';
import { makeRule, makeRuleWorker, observe } from '../../testing/rules/rules.ts';

// Tests processes that trigger themselves: after at most ten links, an instance is suspended with the reason.

const linksMax = 10;

const { baton, worker, agent, get, act } = await startProcesses();

const remember = (kind: string, id = 'tell', data: object = {}) => ({
  id,
  remember: { kind, content: 'again', data },
});
const publish = (steps: object[], more: object) =>
  publishProcess(baton.admin, specOf(agent.key, steps, more));
const startedBy = (on: object) => ({ start: { on, key: 'event.id' } });

/** The status of all instances of a process, oldest first, and the suspension reason of the last one. */
async function instancesOf(process: string) {
  const { items } = await done(baton.admin.get(`/process-instances?definitionKey=${process}&limit=200`));
  return {
    ids: items.map(({ id }: any) => id).toReversed(),
    statuses: items.map(({ status }: any) => status).toReversed(),
    fault: items[0]?.suspension?.code ?? null,
  };
}
const stopped = (links: number) => [...Array(links).fill('completed'), 'suspended'];

test('a process that its own observations start is stopped, and continues when an operator resumes it', async () => {
  const kind = `k-${newId()}`;
  const process = await publish([remember(kind)], startedBy({ observation: kind }));
  await observe(baton.admin, kind, {});
  await worker.run();
  const { ids, statuses, fault } = await instancesOf(process);
  // The instance that the person started, the ten that followed, and the one that was stopped.
  assert.deepEqual([statuses, fault], [stopped(1 + linksMax), 'process_loop']);
  const last = ids.at(-1);
  assert.deepEqual([(await get(last)).kept.inputs, (await get(last)).openElements], [1, []]);
  const [event] = (await eventsOf(baton, last)).filter(({ type }) => type === 'process.suspended');
  assert.match(String(event?.payload['reason']), /^process_loop: /);
  await act(last, 'resume', {});
  await worker.run();
  assert.deepEqual((await instancesOf(process)).statuses, stopped(2 * (1 + linksMax)));
});

test('a process that starts on the end of its instances, on its tasks, or on being stopped is stopped too', async () => {
  const key = `p-${newId()}`;
  const own = `event.payload.definitionKey == '${key}'`;
  const triggers = [
    { event: 'process.completed', where: own },
    { event: 'process.suspended', where: own },
  ];
  const [onEnd, onStop] = triggers as [object, object];
  await publishProcess(baton.admin, specOf(agent.key, [setStep('a', { n: '1' })], startedBy(onEnd)), key);
  const other = await publish([setStep('a', { n: '1' })], startedBy(onStop));
  await startProcessInstance(baton.admin, key);
  await worker.run();
  assert.deepEqual((await instancesOf(key)).statuses, stopped(1 + linksMax));
  // The events of the stopped instance start nothing.
  assert.deepEqual((await instancesOf(other)).statuses, []);
  const files = `p-${newId()}`;
  const title = `Do ${newId()}`;
  const filing = specOf(
    agent.key,
    [humanStep('b', { title })],
    startedBy({ event: 'task.created', where: `event.payload.title == '${title}'` }),
  );
  await publishProcess(baton.admin, filing, files);
  await startProcessInstance(baton.admin, files);
  await worker.run();
  const { statuses, fault } = await instancesOf(files);
  assert.deepEqual([statuses.length, statuses.at(-1), fault], [2 + linksMax, 'suspended', 'process_loop']);
});

test('two processes that start each other, with a pause and a called process between, are stopped', async () => {
  const [one, two] = [`k-${newId()}`, `k-${newId()}`];
  const child = await publish([remember(two)], {});
  const first = await publish([{ id: 'call', call: { process: child } }], startedBy({ observation: one }));
  const second = await publish(
    [{ id: 'w', wait: 'PT0.01S' }, remember(one)],
    startedBy({ observation: two }),
  );
  await observe(baton.admin, one, {});
  for (let round = 0; round < 20; round += 1) {
    await worker.run();
    await worker.timers();
  }
  const all = [...(await instancesOf(first)).statuses, ...(await instancesOf(second)).statuses];
  assert.equal(all.filter((status) => status === 'suspended').length, 1);
  assert.equal(all.length, 2 + linksMax);
});

test('a process and a work rule that trigger each other are stopped', async () => {
  const [filed, found] = [`filed ${newId()}`, `found ${newId()}`];
  await makeRule(baton.admin, {
    trigger: { kind: 'event', type: 'task.created' },
    condition: { eq: [{ var: 'payload.title' }, filed] },
    action: { fields: { title: found }, dedupKeyTemplate: 'found-{{ trigger.entityId }}' },
  });
  const process = await publish(
    [{ ...humanStep('a', { title: filed }) }],
    startedBy({ event: 'task.created', where: `event.payload.title == '${found}'` }),
  );
  await startProcessInstance(baton.admin, process);
  const rules = makeRuleWorker(baton);
  for (let round = 0; round < linksMax; round += 1) {
    await rules.run();
    await worker.run();
  }
  await rules.close();
  const { statuses, fault } = await instancesOf(process);
  assert.deepEqual(
    [statuses.at(-1), fault, statuses.length],
    ['suspended', 'process_loop', 2 + linksMax / 2],
  );
});

test('an instance that correlates with its own observations is suspended', async () => {
  const kind = `k-${newId()}`;
  const data = { n: "'one'" };
  const correlate = [
    { on: { observation: kind }, key: 'event.payload.data.n', do: [remember(kind, 'again', data)] },
  ];
  const process = await publish([humanStep('open')], { correlate });
  const { id } = await startProcessInstance(baton.admin, process, {}, 'one');
  await observe(baton.admin, kind, { n: 'one' });
  await worker.run();
  const { status, suspension, openElements } = await get(id);
  assert.deepEqual([status, suspension.code, openElements[0].id], ['suspended', 'process_loop', 'open']);
});

test('long sequences that wait for their own results are not a loop, and actions of others start a new chain', async () => {
  const [kind, other] = [`k-${newId()}`, `k-${newId()}`];
  const child = await publish([remember(other, 'x')], {});
  const follows = await publish([setStep('a', { n: '1' })], startedBy({ observation: kind }));
  const many = (stepOf: (id: string) => object) =>
    publish([...Array.from({ length: linksMax + 2 }, (_, n) => stepOf(`s-${n}`)), remember(kind)], {});
  const long = [
    await many((id) => remember(other, id)),
    await many((id) => ({ id, call: { process: child } })),
  ];
  for (const process of long) await startProcessInstance(baton.admin, process);
  await worker.run();
  for (const process of long) assert.deepEqual((await instancesOf(process)).statuses, ['completed']);
  assert.deepEqual((await instancesOf(follows)).statuses, ['completed', 'completed']);
  for (let n = 0; n < 2 * linksMax; n += 1) await observe(baton.admin, kind, {});
  await worker.run();
  assert.deepEqual((await instancesOf(follows)).statuses, Array(2 + 2 * linksMax).fill('completed'));
});
