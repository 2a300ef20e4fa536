import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth, isLongProof } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { done } from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import {
  publishProcess,
  setStep,
  specOf,
  startProcesses,
} from '../../testing/processes/process-instances.ts';
import { observe } from '../../testing/rules/rules.ts';

// Tests many definitions that wait for the same event: each one gets it, and the transaction that evaluates them stays
// short, because readers of every tenant's journal wait for it.

const { baton, worker, agent } = await startProcesses();

const statusOf = async (definitionKey: string) =>
  (await done(baton.admin.get(`/process-instances?definitionKey=${definitionKey}`))).items.map(
    ({ status }: { status: string }) => status,
  );

/** A definition that an observation of this kind starts. */
const startedBy = (kind: string, more: object = {}) =>
  specOf(agent.key, [setStep('note', { seen: 'true' })], {
    start: { on: { observation: kind, ...more }, key: 'event.id' },
  });

test('more than a thousand older triggers for an event do not prevent a definition from starting', async () => {
  const kind = `seen-${newId()}`;
  const [first, last] = [`a-${newId()}`, `z-${newId()}`];
  const correlate = Array.from({ length: 20 }, () => ({ on: { observation: kind }, key: 'event.id' }));
  for (let version = 1; version <= 51; version += 1)
    await publishProcess(
      baton.admin,
      { ...specOf(agent.key, [setStep('n', { n: '1' })]), version, correlate },
      first,
    );
  await publishProcess(baton.admin, startedBy(kind), last);
  await observe(baton.admin, kind, {});
  await worker.run();
  assert.deepEqual(await statusOf(last), ['completed']);
});

test('slow conditions are evaluated in several turns, and each definition starts once', async () => {
  const [kind, events, definitions] = [`seen-${newId()}`, 2, byDepth(100, 300)];
  // About 5,000 steps of the 10,000 that one expression may cost: evaluating 300 such expressions takes longer than one
  // turn.
  const list = `[${Array.from({ length: 20 }, (_, n) => n).join(',')}]`;
  const all = `${list}.all(x, ${list}.all(y, x + y >= 0))`;
  for (let n = 0; n < definitions; n += 1)
    await publishProcess(baton.admin, startedBy(kind, { where: all }), `slow-${newId()}`);
  for (let n = 0; n < events; n += 1) await observe(baton.admin, kind, {});
  await journalIsStable(baton.pool);
  const turnMs: number[] = [];
  for (let more = true; more; ) {
    const startedAt = performance.now();
    more = (await worker.turns.run()) > 0;
    turnMs.push(performance.now() - startedAt);
    await journalIsStable(baton.pool);
  }
  const row = await baton.pool.row<{ started: number }>(sql`
    select count(*)::integer as started from process_instances where definition_key like 'slow-%'`);
  assert.equal(row?.started, definitions * events);
  assert.ok(turnMs.length > byDepth(2, 4), `${turnMs.length} turns`);
  if (isLongProof) assert.ok(Math.max(...turnMs) < 3000, turnMs.join(' '));
});
