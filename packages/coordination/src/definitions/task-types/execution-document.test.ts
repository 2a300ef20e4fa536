import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const make = (execution: unknown) =>
  baton.admin.post('/task-types', { key: `t${newId()}`, displayName: 'T', execution });
const stored = async (execution: unknown) => {
  const { id } = await done(make(execution), 201);
  return (await done(baton.admin.get(`/task-types/${id}`))).execution;
};

const retry = { backoffSeconds: 60, maxBackoffSeconds: 3600 };

test('a new version stores the defaults: a pause of a minute that doubles up to an hour, and startDateHolds', async () => {
  for (const left of [undefined, null, {}, { retry: null, startDateHolds: null }, { retry: {} }])
    assert.deepEqual(await stored(left), { retry, startDateHolds: true }, JSON.stringify(left));
  assert.deepEqual(await stored({ progressTimeoutSeconds: 9, startDateHolds: false }), {
    progressTimeoutSeconds: 9,
    retry,
    startDateHolds: false,
  });
});

test('the stored form is accepted unchanged', async () => {
  const whole = {
    retry: {
      maxAttempts: 1000,
      backoffSeconds: 0,
      maxBackoffSeconds: 604_800,
      retryOn: ['rate_limited', 'a'],
    },
    startDateHolds: false,
  };
  assert.deepEqual(await stored(whole), whole);
  const repeated = await stored({ retry: { ...whole.retry, retryOn: ['a', 'b', 'a'] } });
  assert.deepEqual(repeated.retry.retryOn, ['a', 'b']);
});

test('each number, word and name that is out of bounds is refused with its path', async () => {
  const faults: [unknown, string][] = [
    [{ retry: { maxAttempts: 0 } }, 'retry.maxAttempts'],
    [{ retry: { maxAttempts: 1001 } }, 'retry.maxAttempts'],
    [{ retry: { maxAttempts: 1.5 } }, 'retry.maxAttempts'],
    [{ retry: { backoffSeconds: -1 } }, 'retry.backoffSeconds'],
    [{ retry: { backoffSeconds: '60' } }, 'retry.backoffSeconds'],
    [{ retry: { maxBackoffSeconds: 604_801 } }, 'retry.maxBackoffSeconds'],
    [{ retry: { backoffSeconds: 61, maxBackoffSeconds: 60 } }, 'retry.maxBackoffSeconds'],
    [{ retry: { backoffSeconds: 3601 } }, 'retry.maxBackoffSeconds'],
    [{ retry: { retryOn: [] } }, 'retry.retryOn'],
    [{ retry: { retryOn: ['Rate limited'] } }, 'retry.retryOn.0'],
    [{ retry: { retryOn: Array.from({ length: 21 }, (_, n) => `r${n}`) } }, 'retry.retryOn'],
    [{ retry: { retries: 3 } }, 'retry'],
    [{ retry: 3 }, 'retry'],
    [{ startDateHolds: 'yes' }, 'startDateHolds'],
  ];
  for (const [execution, path] of faults) {
    const { reason, field } = await refused(make(execution), 422, 'invalid_task_execution');
    assert.deepEqual([reason, field], ['malformed', `execution.${path}`], JSON.stringify(execution));
  }
});
