import assert from 'node:assert/strict';
import { test } from 'node:test';
import { insertValues, type TextPart, wholeExpression } from './text-expressions.ts';
import type { Json } from './wire.ts';

const end = { literal: '', expression: undefined };

test('finds the expression of a text that consists of one expression, and of no other text', () => {
  const path = { literal: '', expression: 'a' };
  assert.equal(wholeExpression([path, end]), 'a');
  for (const parts of [[end], [path, path, end], [{ literal: ' ', expression: 'a' }, end]])
    assert.equal(wholeExpression(parts), undefined);
  assert.equal(wholeExpression([path, { literal: '.', expression: undefined }]), undefined);
});

test('inserts texts unchanged, null as the empty text, and other values as JSON', () => {
  const values: Json[] = ['x', null, 0, false, { a: [1] }];
  const parts: TextPart<Json>[] = [...values.map((expression) => ({ literal: '|', expression })), end];
  assert.equal(
    insertValues(parts, (value) => value),
    '|x||0|false|{"a":[1]}',
  );
});

test('evaluates in order, and stops as soon as the text is longer than the limit', () => {
  const evaluated: string[] = [];
  const parts = ['a', 'b', 'c'].map((expression) => ({ literal: '', expression }));
  const text = insertValues(
    [...parts, end],
    (expression) => {
      evaluated.push(expression);
      return 'xx';
    },
    3,
  );
  assert.deepEqual([text, evaluated], ['xxxx', ['a', 'b']]);
});
