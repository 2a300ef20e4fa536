import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';
import {
  evaluationsOf,
  makeRule,
  makeRuleWorker,
  observe,
  observed,
  ruleBody,
} from '../../testing/rules/rules.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const kind = () => `k-${newId()}`;

async function dryRun(more: Record<string, unknown>, actor = baton.admin) {
  await journalIsStable(baton.pool);
  const { action: _, ...body } = ruleBody();
  return (await done(actor.post('/rules:dry-run', { ...body, ...more }))).results as any[];
}

test('it returns the results that the rule would have had for the newest causes, and writes nothing', async () => {
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
      fields: { title: 'Review {{ item }}', priority: 'high' },
    },
  };
  const found = await dryRun(rule);
  const item = (host: string) => ({
    dedupKey: `k-${host}`,
    taskId: null,
    taskType: 'task',
    title: `Review ${host}`,
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

test('events that the caller may not see trigger no evaluation, and tasks require tasks.read', async () => {
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

test('a schedule is evaluated once, as of now', async () => {
  const [found, ...others] = await dryRun({
    trigger: { kind: 'schedule', type: 'interval', everySeconds: 60 },
    action: { kind: 'cancel_work', dedupKeyTemplate: 'stale' },
  });
  assert.equal(others.length, 0);
  assert.match(found.triggerRef, /^schedule:\d+$/);
  assert.equal(found.would.work[0].dedupKey, 'stale');
});

test('two dry-runs of a tenant run at a time, and some wait; those beyond are refused, and no other call waits', async () => {
  const type = kind();
  const list = Array.from({ length: 1600 }, (_, n) => ({ n: n / 7, on: 'x' }));
  for (let n = 0; n < byDepth(6, 20); n += 1) await observe(baton.admin, type, { list });
  await journalIsStable(baton.pool);
  const texts = Array.from({ length: 32 }, () => '{{ payload }} and more');
  const body = ruleBody({
    trigger: observed(type),
    action: {
      forEach: 'payload.data.list',
      where: { lt: [{ var: 'item.n' }, 7] },
      fields: { title: '{{ payload }}', customFields: { texts } },
    },
  });
  const answers = Promise.all(Array.from({ length: 30 }, () => baton.admin.post('/rules:dry-run', body)));
  const refusedOnes = (await answers).filter(({ status }) => status !== 200);
  assert.ok(refusedOnes.length >= 10 && refusedOnes.length <= 28, String(refusedOnes.length));
  for (const { status, body: answer, headers } of refusedOnes) {
    assert.deepEqual([status, answer.error.code], [503, 'unavailable']);
    assert.equal(headers.get('retry-after'), '1');
  }
  assert.equal((await baton.admin.post('/rules:dry-run', body)).status, 200);
});

test('a caller who may not read the journal gets no data from it by a rule, neither simulated nor enabled', async () => {
  const type = kind();
  const author = await baton.actor({ permissions: ['rules.write', 'rules.read', 'tasks.write'] });
  const reading = [
    { condition: { eq: [{ var: 'payload.data.word' }, 'x'] } },
    { action: { fields: { title: '{{ payload }}' } } },
    { action: { fields: { title: 'by {{ trigger.actorId }}' } } },
    { action: { fields: { title: 'of {{ trigger }}' } } },
    { action: { forEach: 'payload.data.list', fields: { title: 'x' } } },
  ];
  const plain = {
    action: { fields: { title: '{{ trigger.type }}' }, dedupKeyTemplate: '{{ trigger.eventId }}' },
  };
  const rules = [];
  for (const documents of [...reading, plain])
    rules.push(await makeRule(author, { trigger: observed(type), ...documents }));
  await observe(baton.admin, type, { word: 'x', list: [1] });
  const worker = makeRuleWorker(baton);
  await worker.run();
  await worker.close();
  const codes = [];
  for (const { id } of rules) {
    const [{ status, error }] = await evaluationsOf(baton.admin, id);
    codes.push(`${status} ${error?.code} ${error?.details.required}`);
  }
  const denied = 'failed permission_denied events.read';
  assert.deepEqual(codes, [...reading.map(() => denied), 'matched undefined undefined']);
  for (const documents of reading) {
    const body = ruleBody({ trigger: observed(type), ...documents });
    const { results } = await done(author.post('/rules:dry-run', body));
    assert.deepEqual(
      results.map(({ status, reason, would }: any) => [status, reason, would]),
      [['failed', 'permission_denied', undefined]],
    );
  }
  const reader = await baton.actor({ permissions: ['rules.write', 'events.read'] });
  const { results } = await done(
    reader.post('/rules:dry-run', ruleBody({ trigger: observed(type), ...reading[1] })),
  );
  assert.equal(results[0].status, 'matched');
});
