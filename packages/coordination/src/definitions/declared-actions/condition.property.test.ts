import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { byDepth } from '@baton/testing/depth';
import type { Json } from '@baton/values/wire';
import { findConditionFault, pathsIn } from './condition.ts';
import { ConditionFault, holdsCondition, type Roots } from './evaluate-condition.ts';

const { left: operand, right: condition } = grammar();

function grammar() {
  const scalar = fc.oneof(
    fc.constantFrom<Json>(null, true, false, 0, 1, 2, -1, 'a', 'b', '1', ''),
    fc.integer({ min: -3, max: 3 }),
  );
  const path = fc
    .array(fc.constantFrom('payload', 'task', 'a', 'b', '0', '1', 'list', 'length', '__proto__'), {
      minLength: 1,
      maxLength: 4,
    })
    .map((segments) => segments.join('.'));
  const { condition: right, operand: left } = fc.letrec<{ condition: Json; operand: Json }>((tie) => ({
    operand: fc.oneof(
      { maxDepth: 2 },
      scalar,
      path.map((at): Json => ({ var: at })),
      fc.jsonValue({ maxDepth: 2 }).map((value): Json => ({ const: value as Json })),
      fc.array(tie('operand'), { maxLength: 3 }),
    ),
    condition: fc.oneof(
      { maxDepth: 4 },
      fc.boolean(),
      path.map((at): Json => ({ exists: at })),
      fc
        .tuple(fc.constantFrom('eq', 'ne', 'lt', 'le', 'gt', 'ge', 'in'), tie('operand'), tie('operand'))
        .map(([operator, one, other]): Json => ({ [operator]: [one, other] })),
      tie('condition').map((part): Json => ({ not: part })),
      fc
        .tuple(fc.constantFrom('and', 'or'), fc.array(tie('condition'), { minLength: 1, maxLength: 4 }))
        .map(([operator, parts]): Json => ({ [operator]: parts })),
    ),
  }));
  return { left, right };
}

const document = fc.dictionary(
  fc.constantFrom('a', 'b', 'list'),
  fc.oneof(
    fc.constantFrom<Json>(null, true, 0, 1, 'a', 'b'),
    fc.array(fc.constantFrom<Json>(1, 2, 'a', null), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom<Json>(1, 'a', null)),
  ),
) as fc.Arbitrary<Json>;

/**
 * The grammar of docs/reference/rules.md#condition again, implemented as simply as possible, without regard to speed.
 */
function naive(part: any, roots: Roots): boolean {
  if (part === true || part === false) return part;
  const name = Object.keys(part)[0] as string;
  const content = part[name];
  if (name === 'not') return !naive(content, roots);
  if (name === 'exists') return naiveAt(content, roots) !== null;
  if (name === 'and') {
    for (const one of content) if (!naive(one, roots)) return false;
    return true;
  }
  if (name === 'or') {
    for (const one of content) if (naive(one, roots)) return true;
    return false;
  }
  const one = naiveValue(content[0], roots);
  const other = naiveValue(content[1], roots);
  if (name === 'eq') return canonical(one) === canonical(other);
  if (name === 'ne') return canonical(one) !== canonical(other);
  if (name === 'in') {
    if (other === null) return false;
    if (!Array.isArray(other)) throw new ConditionFault();
    return other.map(canonical).includes(canonical(one));
  }
  if (one === null || other === null) return false;
  if (typeof one !== typeof other || !['number', 'string'].includes(typeof one)) throw new ConditionFault();
  const before = (one as number) < (other as number);
  const after = (one as number) > (other as number);
  return { lt: before, le: !after, gt: after, ge: !before }[name] as boolean;
}

function naiveValue(part: any, roots: Roots): Json {
  if (Array.isArray(part)) return part.map((item) => naiveValue(item, roots));
  if (part === null || typeof part !== 'object') return part;
  return 'var' in part ? naiveAt(part.var, roots) : part.const;
}

function naiveAt(path: string, roots: Roots): Json {
  let places: any = JSON.parse(JSON.stringify(roots));
  for (const segment of path.split('.')) {
    const known = places === null || typeof places !== 'object' ? [] : Object.entries(places);
    places = known.find(([name]) => name === segment)?.[1] ?? null;
  }
  return places;
}

/** Serialized with sorted names, so that equal values have equal strings; -0 is 0, as in JSON. */
function canonical(value: any): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  return `{${Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)
    .join()}}`;
}

const attempt = (judge: () => boolean) => {
  try {
    return judge();
  } catch (error) {
    assert.ok(error instanceof ConditionFault, String(error));
    return 'fault';
  }
};

test('conditions have the same result as a naive evaluator, and fail if it fails', () => {
  fc.assert(
    fc.property(condition, document, document, (one, payload, task) => {
      const roots = { payload, task };
      fc.pre(findConditionFault(one) === undefined);
      assert.equal(
        attempt(() => holdsCondition(one, roots)),
        attempt(() => naive(one, roots)),
      );
    }),
    { numRuns: byDepth(500, 3000) },
  );
  fc.assert(
    fc.property(operand, (one) => {
      const paths = pathsIn({ eq: [one, null] });
      assert.ok(paths.every((path) => JSON.stringify(one).includes(path)));
    }),
  );
});

test('the limits of a condition are 16 levels, 256 nodes, 16 KiB, 50 segments and the known roots', () => {
  let deep: Json = { exists: 'payload.a' };
  for (let level = 1; level < 16; level += 1) deep = { not: deep };
  const bounds = { levelsMax: 16, roots: ['payload'] };
  assert.equal(findConditionFault(deep, bounds), undefined);
  assert.match(findConditionFault({ not: deep }, bounds) ?? '', /more than 16 nested operators/);
  assert.match(findConditionFault({ and: Array(51).fill(true) }, bounds) ?? '', /1 to 50/);
  assert.match(findConditionFault({ exists: 'task.a' }, bounds) ?? '', /task is not one of payload/);
  assert.match(findConditionFault({ eq: [{ var: 'x.a' }, 1] }, bounds) ?? '', /x is not one of/);
  assert.equal(findConditionFault({ eq: [{ const: { var: 'x.a' } }, 1] }, bounds), undefined);
  const wide = { eq: [Array(254).fill(1), 1] };
  assert.match(findConditionFault(wide, bounds) ?? '', /256 nodes/);
  assert.match(findConditionFault({ eq: ['x'.repeat(16_384), 1] }, bounds) ?? '', /16384 bytes/);
});

test('a condition stops after the maximum number of steps, whatever values it compares', () => {
  const list = Array.from({ length: 20_000 }, (_, n) => n);
  const roots = { payload: { list, same: [...list] } };
  const costly = { or: Array(20).fill({ ne: [{ var: 'payload.list' }, { var: 'payload.same' }] }) };
  assert.equal(findConditionFault(costly), undefined);
  assert.throws(() => holdsCondition(costly, roots), /too many steps/);
  assert.equal(holdsCondition({ eq: [{ var: 'payload.list' }, { var: 'payload.same' }] }, roots), true);
});
