import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { done, openSession } from '../../testing/leases.ts';
import { humanStep, startProcesses } from '../../testing/processes/process-instances.ts';

// Tests the events of late work, their recipients and their order.

const { baton, worker, start, get, told } = await startProcesses();

/** Makes all open timers of an instance due at one past instant, and fires them. */
async function passAll(id: string): Promise<void> {
  const dueAt = new Date(Date.now() - 1000).toISOString();
  await baton.pool.run(sql`
    update process_instances set state = jsonb_set(state, '{timers}', (
      select jsonb_object_agg(key, value || jsonb_build_object('dueAt', ${dueAt}::text)) from jsonb_each(state -> 'timers')))
    where id = ${id}`);
  await worker.fire(id);
  await worker.timers();
}

const actor = async () => (await baton.actor({ kind: 'human' })).principalId;
const principals = (...ids: string[]) => ids.map((principal) => ({ principal }));

async function makeRole(holder: string): Promise<string> {
  const { id, slug } = await done(
    baton.admin.post('/roles', { slug: `r${newId().slice(-8)}`, name: 'Owners' }),
    201,
  );
  await done(baton.admin.post(`/principals/${holder}/roles`, { roleId: id }), 201);
  return slug;
}

test('at the same instant, the warning is emitted first, then the breach, then the escalations', async () => {
  const to = principals(await actor());
  const escalations = ['PT3H', 'due', 'PT2H', 'due'].map((after) => ({ after, action: 'notify', to }));
  const step = humanStep('a', { due: { duration: 'PT1H', warnBefore: 'PT1M' }, escalations });
  for (let n = 0; n < 8; n += 1) {
    const { id } = await start([step]);
    await passAll(id);
    const rows = await baton.pool.rows<{ type: string; level: number | null }>(sql`
      select type, (payload ->> 'level')::int as level from events
      where entity_id = ${id} and type in ('process.sla_warning', 'process.sla_breached', 'process.escalated')
      order by position, sequence`);
    assert.deepEqual(
      rows.map(({ type, level }) => level ?? type),
      ['process.sla_warning', 'process.sla_breached', 1, 2, 3, 4],
    );
  }
});

test('a warning and a breach contain the owner of the process and the holder of the task', async () => {
  const [owner, worked] = [await actor(), await baton.actor()];
  const due = { duration: 'PT1H', warnBefore: 'PT1M' };
  const role = await makeRole(owner);
  const gone = newId();
  const chain = [...principals(gone), { expr: "data.missing + '1'" }, { role }];
  const made = await start([humanStep('a', { due })], { owner: chain, due }, {});
  const { taskId } = made.openElements[0];
  const sessionId = await openSession(worked);
  await done(worked.post(`/tasks/${taskId}:claim`, { sessionId }));
  await passAll(made.id);
  for (const type of ['sla_warning', 'sla_breached'])
    assert.deepEqual(
      (await told(made.id, type))
        .map((payload) => [payload['scope'], payload['owner'], payload['assignee']])
        .sort(),
      [
        ['process', owner, null],
        ['step', owner, worked.principalId],
      ],
    );
  const assigned = await start([humanStep('a', { due, assign: principals(worked.principalId) })]);
  await passAll(assigned.id);
  const [breach] = await told(assigned.id, 'sla_breached');
  assert.deepEqual([breach?.['owner'], breach?.['assignee']], [null, worked.principalId]);
});

test('a reminder without recipients is for the person who has the task or has not voted, otherwise for the owner', async () => {
  const [owner, assigned, voter, other] = [await actor(), await actor(), await actor(), await actor()];
  const [claiming, escalations] = [await baton.actor(), [{ after: 'due', action: 'remind' }]];
  const remindedBy = async (
    step: object,
    chain = principals(owner),
    before: (made: any) => Promise<void> = () => Promise.resolve(),
  ) => {
    const made = await start([step], { owner: chain });
    await before(made);
    await passAll(made.id);
    const [{ to, addressees, unresolved }] = (await told(made.id, 'escalated')) as any[];
    assert.equal(to, addressees[0] ?? null);
    return [addressees, unresolved];
  };
  const due = 'PT1H';
  const human = (more: object = {}) => humanStep('a', { due, escalations, ...more });
  assert.deepEqual(await remindedBy(human({ assign: principals(assigned) })), [[assigned], []]);
  const claimed = await remindedBy(human(), principals(owner), async ({ openElements: [{ taskId }] }) => {
    await done(claiming.post(`/tasks/${taskId}:claim`, { sessionId: await openSession(claiming) }));
  });
  assert.deepEqual(claimed, [[claiming.principalId], []]);
  assert.deepEqual(await remindedBy(human()), [[owner], []]);
  const vote = { id: 'v', approve: { approvers: principals(voter, other), quorum: 'any', due, escalations } };
  assert.deepEqual(await remindedBy(vote), [[voter, other], []]);
  const nobody = newId();
  assert.deepEqual(await remindedBy(human(), principals(nobody)), [
    [],
    [JSON.stringify({ principal: nobody })],
  ]);
  const stays = await start([human()]);
  await passAll(stays.id);
  assert.deepEqual(
    [(await get(stays.id)).status, (await told(stays.id, 'escalated'))[0]?.['addressees']],
    ['running', []],
  );
});
