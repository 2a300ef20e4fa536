import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/kernel/ids';
import { sql } from '@baton/kernel/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable } from '../../testing/journal-writer.ts';
import { done } from '../../testing/leases.ts';
import { observe, observed, ruleBody } from '../../testing/rules.ts';
import { makeNarrowPerson } from '../../testing/workspaces.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

async function dryRun(more: Record<string, unknown>, actor = baton.admin) {
  await journalIsStable(baton.pool);
  const { action: _, ...body } = ruleBody();
  return (await done(actor.post('/rules:dry-run', { ...body, ...more }))).results as any[];
}

test('it says what the rule would have done at the newest causes, and writes nothing', async () => {
  const type = `k-${newId()}`;
  const eventIds = [];
  for (const n of [1, 2, 'x'])
    eventIds.push((await observe(baton.admin, type, { n, hosts: ['a', 'b'] })).eventId);
  const rows = () =>
    baton.pool.row(sql`
      select (select count(*) from events) as events, (select count(*) from rules) as rules,
        (select count(*) from tasks) as tasks, (select count(*) from rule_evaluations) as evaluations,
        (select count(*) from event_consumers) as consumers`);
  const before = await rows();
  const rule = {
    trigger: observed(type),
    condition: { gt: [{ var: 'payload.data.n' }, 1] },
    action: {
      kind: 'ensure_work',
      taskType: 'task',
      forEach: 'payload.data.hosts',
      dedupKeyTemplate: 'k-{{ item }}',
      fields: { title: 'Look at {{ item }}', priority: 'high' },
    },
  };
  const found = await dryRun(rule);
  const item = (host: string) => ({
    dedupKey: `k-${host}`,
    taskId: null,
    taskType: 'task',
    title: `Look at ${host}`,
    priority: 'high',
    refused: null,
  });
  const would = { action: 'ensure_work', items: 2, work: [item('a'), item('b')] };
  assert.deepEqual(found, [
    { triggerRef: `event:${eventIds[2]}`, status: 'failed', reason: 'rule_condition_error' },
    { triggerRef: `event:${eventIds[1]}`, status: 'matched', would },
    { triggerRef: `event:${eventIds[0]}`, status: 'not_matched' },
  ]);
  assert.deepEqual(await rows(), before);
  assert.equal((await dryRun({ ...rule, limit: 1 })).length, 1);
  const later = new Date(Date.now() + 60_000).toISOString();
  assert.deepEqual(await dryRun({ ...rule, since: later }), []);
  assert.equal((await dryRun({ ...rule, since: '2020-01-01T00:00:00Z' })).length, 3);
});

test('what the caller does not see causes nothing, and who may not read tasks reads none', async () => {
  const type = `k-${newId()}`;
  const { person, mine, other } = await makeNarrowPerson(baton);
  await observe(baton.admin, type, {}, { workspaceId: other.id });
  const { eventId } = await observe(baton.admin, type, {}, { workspaceId: mine.id });
  const rule = {
    trigger: observed(type),
    action: { kind: 'ensure_work', taskType: 'task', fields: { title: '{{ task.title }}!' } },
  };
  const refs = (await dryRun(rule, person)).map(({ triggerRef }) => triggerRef);
  assert.deepEqual(refs, [`event:${eventId}`]);
  const weak = await baton.actor({ permissions: ['rules.write'] });
  assert.deepEqual(
    (await dryRun(rule, weak)).map(({ reason }) => reason),
    ['permission_denied', 'permission_denied'],
  );
});

test('a schedule is looked at once, as of now', async () => {
  const [found, ...others] = await dryRun({
    trigger: { kind: 'schedule', type: 'interval', everySeconds: 60 },
    action: { kind: 'cancel_work', dedupKeyTemplate: 'stale' },
  });
  assert.equal(others.length, 0);
  assert.match(found.triggerRef, /^schedule:\d+$/);
  assert.equal(found.would.work[0].dedupKey, 'stale');
});
