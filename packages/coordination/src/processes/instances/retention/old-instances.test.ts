import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { done, refused } from '../../../testing/leases.ts';
import {
  humanStep,
  makeProcessAgent,
  publishProcess,
  setStep,
  specOf,
  startProcesses,
  startProcessInstance,
} from '../../../testing/processes/process-instances.ts';
import { observe } from '../../../testing/rules/rules.ts';
import { deleteOldInstances } from './old-instances.ts';

const { baton, worker, publish } = await startProcesses();

const forget = async () => {
  const job = deleteOldInstances(worker.tools);
  for (let run = 0; run < 10 && (await job.run()) > 0; run += 1);
};
const age = (days = 31) =>
  baton.pool.run(sql`
    update process_instances set completed_at = completed_at - make_interval(days => ${days}) where completed_at is not null`);
const isThere = async (id: string) => (await baton.admin.get(`/process-instances/${id}`)).status === 200;
const cancel = (id: string) =>
  done(baton.admin.post(`/process-instances/${id}:cancel`, { reason: 'enough' }));

test('an instance is deleted 30 days after its end with its journal, and its key can be reused', async () => {
  const process = await publish([setStep('a', { n: '1' })]);
  const open = await startProcessInstance(baton.admin, await publish([humanStep('b')]));
  const made = await startProcessInstance(baton.admin, process, {}, 'one');
  assert.equal(made.status, 'completed');
  await age(29);
  await forget();
  assert.ok(await isThere(made.id));
  await age(2);
  await forget();
  await refused(baton.admin.get(`/process-instances/${made.id}`), 404, 'not_found');
  await refused(baton.admin.get(`/process-instances/${made.id}/journal`), 404, 'not_found');
  const left = await baton.pool.row(sql`
    select (select count(*) from process_instance_journal where instance_id = ${made.id})::int as lines,
      (select count(*) from process_inputs where instance_id = ${made.id})::int as inputs`);
  assert.deepEqual(left, { lines: 0, inputs: 0 });
  assert.ok(await isThere(open.id));
  assert.equal((await startProcessInstance(baton.admin, process, {}, 'one')).status, 'completed');
});

test('a long journal is deleted in batches, and that of an open instance cannot be deleted', async () => {
  const process = await publish([humanStep('a')]);
  const made = await startProcessInstance(baton.admin, process);
  const remove = baton.pool.run(sql`delete from process_instance_journal where instance_id = ${made.id}`);
  await assert.rejects(remove, /has not ended/);
  await assert.rejects(
    baton.pool.run(sql`update process_instance_journal set reason = 'x'`),
    /never changed/,
  );
  await baton.pool.run(sql`
    insert into process_instance_journal (instance_id, tenant_id, seq, at, kind)
    select ${made.id}, tenant_id, 1000 + n, now(), 'state' from process_instances, generate_series(1, 1500) n
    where id = ${made.id}`);
  await cancel(made.id);
  await age();
  const job = deleteOldInstances(worker.tools);
  assert.ok((await job.run()) >= job.batchMax);
  assert.ok(await isThere(made.id));
  const other = deleteOldInstances(worker.tools);
  await Promise.all([job.run(), other.run(), job.run()]);
  assert.ok(!(await isThere(made.id)));
});

test('an instance is kept while it has unclosed objects, while its caller runs, and while its event may be read again', async () => {
  const weak = await makeProcessAgent(baton);
  const process = await publishProcess(baton.admin, specOf(weak.key, [humanStep('a')]));
  const leaves = await startProcessInstance(baton.admin, process);
  await baton.pool.run(sql`
    update iam_bindings set permissions = '{tasks.read}' where principal_id = ${weak.principalId}`);
  await cancel(leaves.id);
  const child = await publish([setStep('a', { n: '1' })]);
  const caller = await publish([
    {
      id: 'f',
      fork: {
        mode: 'all',
        branches: [
          { id: 'one', do: [{ id: 'c', call: { process: child } }] },
          { id: 'two', do: [humanStep('h')] },
        ],
      },
    },
  ]);
  const parent = await startProcessInstance(baton.admin, caller);
  await worker.run();
  const childId = (
    await baton.pool.row<{ id: string }>(sql`select id from process_instances where parent_id = ${parent.id}`)
  )?.id as string;
  const kind = `k-${newId()}`;
  const begun = await publish([setStep('a', { n: '1' })], {
    start: { on: { observation: kind }, key: 'event.id' },
  });
  await observe(baton.admin, kind, {});
  // Simulates a turn that ended in the middle of the event, with the cursor before it.
  const before = await baton.pool.row<{ position: string; sequence: string }>(sql`
    select position, sequence from event_consumers where consumer = 'processes' and tenant_id = ${baton.tenantId}`);
  await worker.run();
  const [{ id: started }] = (await done(baton.admin.get(`/process-instances?definitionKey=${begun}`))).items;
  await baton.pool.run(sql`
    update event_consumers set position = ${before?.position}, sequence = ${before?.sequence}
    where consumer = 'processes' and tenant_id = ${baton.tenantId}`);
  await age();
  await forget();
  assert.deepEqual(await Promise.all([leaves.id, childId, started].map(isThere)), [true, true, true]);
  await worker.run();
  await forget();
  assert.deepEqual(await Promise.all([leaves.id, childId, started].map(isThere)), [true, true, false]);
  await cancel(parent.id);
  await forget();
  assert.ok(!(await isThere(childId)));
});
