import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '@baton/kernel/http/refusal';
import { SharedStatement } from './shared-statement.ts';

/** Starts a statement that the test completes; the result of each entry is its double. */
function startSlowStatement(busy?: () => Promise<void> | undefined) {
  const batches: { size: number; done(): void; failed(reason: Error): void }[] = [];
  const statement = new SharedStatement<number, number>(
    (entries) =>
      new Promise((done, failed) => {
        batches.push({ size: entries.length, done: () => done(entries.map((entry) => entry * 2)), failed });
      }),
    busy,
  );
  return { batches, statement };
}

/** Waits for two iterations of the event loop, because a statement starts at the end of one. */
async function turn() {
  for (let turns = 0; turns < 2; turns += 1) await new Promise((done) => setImmediate(done));
}

test('calls of one turn, and those during a statement, share one statement, and each gets its own result', async () => {
  const { batches, statement } = startSlowStatement();
  const answered: number[] = [];
  const callFrom = (first: number, end: number) =>
    Array.from({ length: end - first }, (_, entry) =>
      statement.call(first + entry).then((answer) => answered.push(answer)),
    );
  const sizes = () => batches.map(({ size }) => size);
  const calls = callFrom(0, 2);
  await turn();
  assert.deepEqual(sizes(), [2]);
  calls.push(...callFrom(2, 700));
  await turn();
  assert.deepEqual(sizes(), [2]);
  batches[0]?.done();
  await turn();
  assert.deepEqual(answered, [0, 2]);
  assert.deepEqual(sizes(), [2, 500]);
  batches[1]?.done();
  await turn();
  assert.deepEqual(sizes(), [2, 500, 198]);
  batches[2]?.done();
  await Promise.all(calls);
  await statement.idle();
  assert.deepEqual(
    answered,
    Array.from({ length: 700 }, (_, entry) => entry * 2),
  );
});

test('a statement that fails fails for its own batch only', async () => {
  const { batches, statement } = startSlowStatement();
  const outcomes: string[] = [];
  const call = (entry: number) =>
    statement.call(entry).then(
      (answer) => outcomes.push(`answered ${answer}`),
      () => outcomes.push(`failed ${entry}`),
    );
  const first = call(1);
  await turn();
  const second = call(2);
  batches[0]?.done();
  await first;
  await turn();
  batches[1]?.failed(new Error('gone'));
  await second;
  const third = call(3);
  await turn();
  batches[2]?.done();
  await third;
  assert.deepEqual(outcomes, ['answered 2', 'failed 2', 'answered 6']);
});

test('when too many wait, one more is refused with 503 and Retry-After', async () => {
  const { batches, statement } = startSlowStatement();
  const calls = Array.from({ length: 10_000 }, (_, entry) => statement.call(entry));
  await assert.rejects(
    statement.call(0),
    (error) =>
      error instanceof Refusal && error.code === 'unavailable' && error.headers['retry-after'] === '1',
  );
  for (let batch = 0; batch < 20; batch += 1) {
    await turn();
    batches[batch]?.done();
  }
  assert.equal((await Promise.all(calls)).length, 10_000);
});

test('while results cannot be used, a batch waits: until they can, or until it has 16 entries', async () => {
  let use = Promise.withResolvers<void>();
  const { batches, statement } = startSlowStatement(() => use.promise);
  const calls: Promise<number>[] = [];
  const call = async (entries: number) => {
    for (let entry = 0; entry < entries; entry += 1) calls.push(statement.call(entry));
    await turn();
    return batches.map(({ size }) => size);
  };
  assert.deepEqual(await call(15), []);
  assert.deepEqual(await call(1), [16]);
  batches[0]?.done();
  assert.deepEqual(await call(3), [16]);
  use.resolve();
  use = Promise.withResolvers();
  assert.deepEqual(await call(0), [16, 3]);
  batches[1]?.done();
  assert.equal((await Promise.all(calls)).length, 19);
});
