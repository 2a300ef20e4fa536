import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BatonError } from '@baton/sdk';
import { FormProblem, faultsIn, rejectionIn, textOf } from './form-faults.ts';

const refusal = (details: object, code = 'invalid_request', message = 'No.') =>
  new BatonError({ code: code as never, message, status: 422, details: details as Record<string, unknown> });

describe('the faults of a refused request', () => {
  for (const [what, details, faults] of [
    [
      'of coordination',
      { errors: [{ loc: 'body.admit.role', message: 'Required' }] },
      [['admit.role', 'Required']],
    ],
    ['in a query', { errors: [{ loc: 'query.limit', message: 'Too big' }] }, [['query.limit', 'Too big']]],
    ['in a document', { errors: [{ path: '/a~1b/0', message: 'wrong' }] }, [['a/b.0', 'wrong']]],
    ['with a code', { errors: [{ path: '/name', code: 'nul_character' }] }, [['name', 'nul character']]],
    ['of identity', { problems: [{ loc: ['body', 'amr', 1], msg: 'Too long' }] }, [['amr.1', 'Too long']]],
    ['with one field', { field: 'evidence[0]' }, [['evidence.0', 'No.']]],
    ['with its own message', { field: 'key', message: 'is reserved' }, [['key', 'is reserved']]],
    [
      'with several fields',
      { fields: ['from', 'to', 3] },
      [
        ['from', 'No.'],
        ['to', 'No.'],
      ],
    ],
    ['without any', { missing: ['admin'] }, []],
    ['with something else', { errors: [null], field: {} }, [['', 'is invalid']]],
  ] as const)
    test(`are read ${what}`, () => {
      const found = faultsIn(refusal(details)).map(({ path, message }) => [path, message]);
      assert.deepEqual(found, faults);
    });

  test('are bounded', () => {
    const errors = Array.from({ length: 1000 }, () => ({ loc: 'body.a', message: 'x' }));
    assert.equal(faultsIn(refusal({ errors })).length, 50);
    assert.equal(faultsIn(refusal({ fields: errors.map(() => 'a') })).length, 50);
  });

  test('are those of the cause of a command of several requests', () => {
    const cause = refusal({ field: 'email' });
    assert.equal(rejectionIn(new Error('Nobody was invited.', { cause })), cause);
    assert.deepEqual(
      faultsIn(new Error('Nobody was invited.', { cause })).map(({ path }) => path),
      ['email'],
    );
    assert.deepEqual(faultsIn(new Error('broken')), []);
    assert.deepEqual(faultsIn(null), []);
  });

  test('of a form that is not sent name its field', () => {
    assert.deepEqual(faultsIn(new FormProblem('Choose one.', 'role')), [
      { path: 'role', message: 'Choose one.' },
    ]);
    assert.deepEqual(faultsIn(new FormProblem('Choose one.')), []);
  });
});

test('only a message that repeats its code is replaced by a text of the console', () => {
  assert.match(textOf(refusal({}, 'invalid_issuer', 'invalid issuer')), /http or https address/);
  assert.equal(textOf(refusal({}, 'invalid_issuer', 'Not this one.')), 'Not this one.');
  assert.equal(textOf(refusal({}, 'rate_limited', 'rate limited')), 'rate limited');
});
