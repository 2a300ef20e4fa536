import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { Refusal } from '@baton/kernel/refusal';
import type { Db } from '@baton/kernel/db';
import { ExchangeLedger, type LedgerEntry } from './exchange-ledger.ts';

/** The other side is a database that answers when the test says so. */
function slowDatabase() {
  const batches: { rows: number; done(): void; failed(reason: Error): void }[] = [];
  const run: Db['run'] = ({ values }) =>
    new Promise((done, failed) => {
      const rows = JSON.parse(values.at(-1) as string).length;
      batches.push({ rows, done: () => done(rows), failed });
    });
  return { batches, db: { run } as Db };
}

const entry: LedgerEntry = {
  audit: {
    tenant_id: randomUUID(),
    action: 'platform_access_tokens.exchange',
    actor_ref: 'x',
    resource_type: 'platform_access_token',
    resource_id: randomUUID(),
    outcome: 'allowed',
    reason: '',
    request_id: 'x',
  },
};

const turn = () => new Promise((done) => setImmediate(done));

test('rows that come while one insert is under way share the next one, and each waits for its own', async () => {
  const { batches, db } = slowDatabase();
  const ledger = new ExchangeLedger(db);
  const written: number[] = [];
  const records = Array.from({ length: 700 }, (_, n) => ledger.record(entry).then(() => written.push(n)));
  await turn();
  assert.deepEqual(
    batches.map(({ rows }) => rows),
    [1],
  );
  batches[0]?.done();
  await turn();
  assert.deepEqual(written, [0]);
  assert.deepEqual(
    batches.map(({ rows }) => rows),
    [1, 500],
  );
  batches[1]?.done();
  await turn();
  assert.deepEqual(
    batches.map(({ rows }) => rows),
    [1, 500, 199],
  );
  batches[2]?.done();
  await Promise.all(records);
  await ledger.idle();
  assert.equal(written.length, 700);
});

test('a failed insert fails those who share it, and nobody else', async () => {
  const { batches, db } = slowDatabase();
  const ledger = new ExchangeLedger(db);
  const outcomes: string[] = [];
  const note = (record: Promise<void>, name: string) =>
    record.then(
      () => outcomes.push(`${name} written`),
      () => outcomes.push(`${name} failed`),
    );
  const first = note(ledger.record(entry), 'first');
  const second = note(ledger.record(entry), 'second');
  batches[0]?.done();
  await first;
  await turn();
  batches[1]?.failed(new Error('gone'));
  await second;
  const third = note(ledger.record(entry), 'third');
  await turn();
  batches[2]?.done();
  await third;
  assert.deepEqual(outcomes, ['first written', 'second failed', 'third written']);
});

test('when too many wait, one more is refused with 503 and Retry-After', async () => {
  const { batches, db } = slowDatabase();
  const ledger = new ExchangeLedger(db);
  const records = Array.from({ length: 10_001 }, () => ledger.record(entry));
  await assert.rejects(
    ledger.record(entry),
    (error) =>
      error instanceof Refusal && error.code === 'unavailable' && error.headers['retry-after'] === '1',
  );
  const settled = Promise.all(records);
  for (let done = 0; done < 22; done += 1) {
    batches[done]?.done();
    await turn();
  }
  await settled;
});
