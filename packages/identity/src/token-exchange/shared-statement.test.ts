import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '@baton/kernel/refusal';
import { SharedStatement } from './shared-statement.ts';

/** A statement that answers when the test says so, each entry with its double. */
function startSlowStatement() {
  const batches: { size: number; done(): void; failed(reason: Error): void }[] = [];
  const statement = new SharedStatement<number, number>(
    (entries) =>
      new Promise((done, failed) => {
        batches.push({ size: entries.length, done: () => done(entries.map((entry) => entry * 2)), failed });
      }),
  );
  return { batches, statement };
}

const turn = () => new Promise((done) => setImmediate(done));

test('calls that come while one is under way share the next one, and each gets its own answer', async () => {
  const { batches, statement } = startSlowStatement();
  const answered: number[] = [];
  const calls = Array.from({ length: 700 }, (_, entry) =>
    statement.call(entry).then((answer) => answered.push(answer)),
  );
  const sizes = () => batches.map(({ size }) => size);
  await turn();
  assert.deepEqual(sizes(), [1]);
  batches[0]?.done();
  await turn();
  assert.deepEqual(answered, [0]);
  assert.deepEqual(sizes(), [1, 500]);
  batches[1]?.done();
  await turn();
  assert.deepEqual(sizes(), [1, 500, 199]);
  batches[2]?.done();
  await Promise.all(calls);
  await statement.idle();
  assert.deepEqual(
    answered,
    Array.from({ length: 700 }, (_, entry) => entry * 2),
  );
});

test('a failure is that of those who share the statement, and of nobody else', async () => {
  const { batches, statement } = startSlowStatement();
  const outcomes: string[] = [];
  const call = (entry: number) =>
    statement.call(entry).then(
      (answer) => outcomes.push(`answered ${answer}`),
      () => outcomes.push(`failed ${entry}`),
    );
  const [first, second] = [call(1), call(2)];
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
  const calls = Array.from({ length: 10_001 }, (_, entry) => statement.call(entry));
  await assert.rejects(
    statement.call(0),
    (error) =>
      error instanceof Refusal && error.code === 'unavailable' && error.headers['retry-after'] === '1',
  );
  for (let batch = 0; batch < 21; batch += 1) {
    batches[batch]?.done();
    await turn();
  }
  assert.equal((await Promise.all(calls)).length, 10_001);
});
