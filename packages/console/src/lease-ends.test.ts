import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endReasons, isOwnEnd } from '../web/src/task/lease-ends.ts';

test('ending your own claim is no loss; losing it to somebody else is reported', () => {
  const [me, other] = ['ada', 'grace'];
  for (const [reason, by, isOwn] of [
    [endReasons.givenBack, me, true],
    [endReasons.givenBack, undefined, true],
    ['completed', me, true],
    ['completed', null, true],
    ['completed', undefined, true],
    ['completed', other, false],
    ['task_cancelled', me, true],
    ['task_cancelled', other, false],
    ['task_cancelled', null, false],
    [endReasons.ended, me, true],
    [endReasons.ended, other, false],
    [endReasons.ended, undefined, false],
    ['the operator needs it', me, false],
    [null, null, false],
  ] as const)
    assert.equal(isOwnEnd(reason, by, me), isOwn, `${reason} by ${by}`);
});
