import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '@baton/values/wire';
import { findConditionFault } from './condition.ts';
import { ConditionFault, holdsCondition } from './evaluate-condition.ts';

const roots = {
  payload: { ok: true, one: 1, name: 'b', none: null, list: [1, { a: [2] }], deep: { a: { b: 'c' } } },
};
const at = (path: string): Json => ({ var: `payload.${path}` });

const holding: Json[] = [
  true,
  { eq: [at('ok'), true] },
  { eq: [at('deep'), { const: { a: { b: 'c' } } }] },
  { eq: [at('list'), [1, { const: { a: [2] } }]] },
  { eq: [at('list.1.a.0'), 2] },
  { eq: [at('absent.further'), null] },
  { ne: [at('ok'), 1] },
  { ne: [at('name'), 'B'] },
  { lt: [at('one'), 2] },
  { le: [1, at('one')] },
  { gt: [at('name'), 'a'] },
  { ge: [at('name'), 'b'] },
  { in: [at('name'), ['a', at('name')]] },
  { in: [1, at('list')] },
  { exists: 'payload.deep.a.b' },
  { not: { exists: 'payload.none' } },
  { not: { exists: 'payload.constructor' } },
  { not: { exists: 'payload.name.length' } },
  { not: { exists: 'payload.list.length' } },
  { not: { exists: 'payload.list.7' } },
  { not: { exists: 'elsewhere' } },
  { and: [true, { or: [false, true] }] },
];
const failing: Json[] = [
  false,
  { eq: [at('one'), '1'] },
  { lt: [at('absent'), 1] },
  { ge: [1, at('none')] },
  { in: [1, at('none')] },
  { in: [2, [1, '2']] },
  { and: [true, false] },
  { or: [false, { not: true }] },
];
const faulty: Json[] = [
  { lt: [at('one'), 'a'] },
  { gt: [at('ok'), false] },
  { le: [at('list'), 1] },
  { in: [1, at('name')] },
];

test('conditions are true, false, or compare values without an order', () => {
  for (const condition of [...holding, ...failing, ...faulty])
    assert.equal(findConditionFault(condition), undefined, JSON.stringify(condition));
  for (const condition of holding)
    assert.equal(holdsCondition(condition, roots), true, JSON.stringify(condition));
  for (const condition of failing)
    assert.equal(holdsCondition(condition, roots), false, JSON.stringify(condition));
  for (const condition of faulty)
    assert.throws(() => holdsCondition(condition, roots), ConditionFault, JSON.stringify(condition));
});
