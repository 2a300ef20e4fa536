import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { processorMsOf } from '@baton/kernel/testing/process/processor-time';
import { byDepth } from '@baton/testing/depth';
import type { Json, JsonObject } from '../wire.ts';
import { prepareSchema } from './schema.ts';
import { SchemaDefect } from './schema-tree.ts';

const faults = (schema: Json, instance: Json) => prepareSchema(schema).faultsOf(instance);

describe('the faults of each keyword', () => {
  const cases: { schema: Json; fits: Json[]; misses: Json[] }[] = [
    { schema: true, fits: [1, {}], misses: [] },
    { schema: false, fits: [], misses: [1, {}] },
    { schema: { type: 'integer' }, fits: [1, 1.0, -0], misses: [1.5, '1', null] },
    { schema: { type: ['null', 'array'] }, fits: [null, []], misses: [{}, 0] },
    { schema: { enum: [1, { a: [1, { b: 2 }] }] }, fits: [1, { a: [1, { b: 2 }] }], misses: [2, '1', {}] },
    { schema: { const: { a: 1, b: 2 } }, fits: [{ b: 2, a: 1 }], misses: [{ a: 1 }, [1, 2]] },
    { schema: { const: null }, fits: [null], misses: [0, false] },
    { schema: { multipleOf: 0.1 }, fits: [0.3, 1, 'x'], misses: [0.35] },
    { schema: { multipleOf: 1e-7 }, fits: [3e-7], misses: [3.5e-7] },
    { schema: { maximum: 3, exclusiveMinimum: 1 }, fits: [2, 3, '9'], misses: [1, 4] },
    { schema: { exclusiveMaximum: 3, minimum: 1 }, fits: [1, 2.9], misses: [3, 0] },
    { schema: { maxLength: 2, minLength: 1 }, fits: ['a', '🐢🐢', 7], misses: ['', '🐢🐢🐢'] },
    { schema: { minLength: 2 }, fits: ['🐢🐢'], misses: ['🐢'] },
    { schema: { pattern: '^a+$' }, fits: ['aa', 1], misses: ['b', 'ab'] },
    { schema: { pattern: 'b' }, fits: ['abc'], misses: ['ac'] },
    {
      schema: { uniqueItems: true },
      fits: [[1, '1', true], 'x'],
      misses: [
        [1, 2, 1.0],
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
      ],
    },
    { schema: { minItems: 1, maxItems: 2 }, fits: [[1], [1, 2]], misses: [[], [1, 2, 3]] },
    { schema: { minProperties: 1, maxProperties: 1 }, fits: [{ a: 1 }], misses: [{}, { a: 1, b: 2 }] },
    { schema: { required: ['a', 'toString'] }, fits: [{ a: 1, toString: 1 }, 1], misses: [{ a: 1 }] },
    { schema: { dependentRequired: { a: ['b'] } }, fits: [{}, { a: 1, b: 1 }], misses: [{ a: 1 }] },
    { schema: { properties: { toString: false } }, fits: [{}], misses: [{ toString: 1 }] },
    {
      schema: JSON.parse('{"properties":{"__proto__":{"type":"null"}}}'),
      fits: [{}, JSON.parse('{"__proto__":null}')],
      misses: [JSON.parse('{"__proto__":1}')],
    },
    {
      schema: { properties: { a: true }, patternProperties: { '^x': true }, additionalProperties: false },
      fits: [{ a: 1, x1: 1 }],
      misses: [{ b: 1 }],
    },
    {
      schema: { patternProperties: { '^x': { type: 'null' } } },
      fits: [{ x: null, y: 1 }],
      misses: [{ x: 1 }],
    },
    { schema: { propertyNames: { maxLength: 1 } }, fits: [{ a: 1 }], misses: [{ ab: 1 }] },
    {
      schema: { prefixItems: [{ type: 'null' }], items: false },
      fits: [[], [null]],
      misses: [[1], [null, 1]],
    },
    { schema: { contains: { const: 1 } }, fits: [[2, 1]], misses: [[], [2]] },
    { schema: { contains: { const: 1 }, minContains: 0, maxContains: 1 }, fits: [[], [1]], misses: [[1, 1]] },
    { schema: { not: { type: 'null' } }, fits: [1], misses: [null] },
    { schema: { oneOf: [{ minimum: 1 }, { maximum: 2 }] }, fits: [0, 3], misses: [1] },
    {
      schema: JSON.parse('{"if":{"type":"null"},"then":false,"else":{"type":"string"}}'),
      fits: ['x'],
      misses: [null, 1],
    },
    {
      schema: { dependentSchemas: { a: { required: ['b'] } } },
      fits: [{}, { a: 1, b: 1 }],
      misses: [{ a: 1 }],
    },
    { schema: { format: 'email' }, fits: ['no address'], misses: [] },
    { schema: { $ref: '#/$defs/a%20b~1c', $defs: { 'a b/c': { type: 'null' } } }, fits: [null], misses: [1] },
    { schema: { $ref: '#here', $defs: { a: { $anchor: 'here', type: 'null' } } }, fits: [null], misses: [1] },
    { schema: { items: { $ref: '#' }, type: 'array' }, fits: [[[], []]], misses: [[[], 1]] },
    // Inside a part with its own $id, references are relative to that part.
    {
      schema: {
        $defs: { a: { $id: 'part', $ref: '#/$defs/b', $defs: { b: { type: 'null' } } } },
        $ref: '#/$defs/a',
      },
      fits: [null],
      misses: [1],
    },
    // The reference resolves to the dynamic anchor of the outermost part: a tree whose nodes must have a value.
    {
      schema: {
        $id: 'strict',
        $dynamicAnchor: 'node',
        required: ['value'],
        $ref: '#/$defs/tree',
        $defs: {
          tree: {
            $id: 'tree',
            $dynamicAnchor: 'node',
            properties: { children: { items: { $dynamicRef: '#node' } } },
          },
        },
      },
      fits: [{ value: 1, children: [{ value: 2 }] }],
      misses: [{ value: 1, children: [{}] }],
    },
    {
      schema: {
        allOf: [{ properties: { a: true } }],
        anyOf: [{ properties: { b: { const: 1 } } }, true],
        unevaluatedProperties: false,
      },
      fits: [{ a: 1, b: 1 }],
      misses: [{ a: 1, b: 2 }, { c: 1 }],
    },
    {
      schema: {
        if: { prefixItems: [{ const: 1 }] },
        contains: { const: 9 },
        minContains: 0,
        unevaluatedItems: false,
      },
      fits: [[1, 9], [9, 9], []],
      misses: [[2], [1, 2]],
    },
  ];
  for (const { schema, fits, misses } of cases)
    test(JSON.stringify(schema), () => {
      for (const instance of fits) assert.deepEqual(faults(schema, instance), [], JSON.stringify(instance));
      for (const instance of misses)
        assert.notEqual(faults(schema, instance).length, 0, JSON.stringify(instance));
    });
});

test('faults have a place and a message, at most 20, without the sent values', () => {
  const schema: Json = {
    properties: {
      'a/b': { items: { type: 'integer', maximum: 5 } },
      c: { anyOf: [{ type: 'null' }, { minLength: 3 }] },
    },
    required: ['d'],
    additionalProperties: false,
  };
  assert.deepEqual(faults(schema, { 'a/b': [1, 'x', 6], c: 'ab', e: 1 }), [
    { path: '', message: 'must have the property d' },
    { path: '/a~1b/1', message: 'must be integer' },
    { path: '/a~1b/2', message: 'must be <= 5' },
    { path: '/c', message: 'must match a schema of anyOf' },
    { path: '/e', message: 'is not allowed' },
  ]);
  assert.equal(faults({ items: { type: 'null' } }, Array(30).fill(1)).length, 20);
  const [{ path } = { path: '' }] = faults({ additionalProperties: false }, { ['é'.repeat(500)]: 1 });
  assert.equal(path.length, 200);
});

describe('a document that is not a schema of the draft, or refers to other documents, is refused with the place', () => {
  const nested = (levels: number): JsonObject => (levels === 0 ? {} : { not: nested(levels - 1) });
  const cases: [string, Json, string][] = [
    ['a text', 'x', ''],
    ['a list', [], ''],
    ['null inside', { properties: { a: null } }, '/properties/a'],
    ['an unknown type', { type: 'text' }, '/type'],
    ['a type twice', { type: ['null', 'null'] }, '/type'],
    ['no types', { type: [] }, '/type'],
    ['a negative length', { minLength: -1 }, '/minLength'],
    ['a broken length', { items: { maxItems: 1.5 } }, '/items/maxItems'],
    ['multiples of nothing', { multipleOf: 0 }, '/multipleOf'],
    ['a name twice', { required: ['a', 'a'] }, '/required'],
    ['no schemas', { anyOf: [] }, '/anyOf'],
    ['items of the draft before', { items: [{}] }, '/items'],
    ['another draft', { $schema: 'http://json-schema.org/draft-07/schema#' }, '/$schema'],
    ['a fragment as identity', { $id: '#a' }, '/$id'],
    ['an anchor with a space', { $anchor: 'a b' }, '/$anchor'],
    ['an anchor twice', { $defs: { a: { $anchor: 'x' }, b: { $anchor: 'x' } } }, '/$defs/b/$anchor'],
    ['another document', { $ref: 'https://example.com/s.json' }, '/$ref'],
    ['a file', { $ref: 'file:///etc/passwd' }, '/$ref'],
    ['another document, dynamically', { $dynamicRef: 'other#a' }, '/$dynamicRef'],
    ['another document, recursively', { items: { $recursiveRef: 'other' } }, '/items/$recursiveRef'],
    ['a place that is not there', { $ref: '#/$defs/a' }, '/$ref'],
    ['a place that is no schema', { $ref: '#/required', required: ['a'] }, '/$ref'],
    ['a broken escape', { $ref: '#/%zz' }, '/$ref'],
    ['itself', { $ref: '#' }, ''],
    [
      'itself through two others',
      { $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { not: { $ref: '#/$defs/a' } } } },
      '/$defs/a',
    ],
    [
      '1,001 references',
      { allOf: Array(1001).fill({ $ref: '#/$defs/a' }), $defs: { a: true } },
      '/allOf/1000',
    ],
    ['a pattern that looks ahead', { pattern: '(?=a)b' }, '/pattern'],
    ['a pattern that looks behind', { pattern: '(?<!a)b' }, '/pattern'],
    ['a reference to a group', { pattern: '(a)\\1' }, '/pattern'],
    ['a broken pattern', { patternProperties: { '(': true } }, '/patternProperties/('],
    ['a pattern of 60,000 steps', { pattern: '(abcdefghij){1000}'.repeat(6) }, '/pattern'],
    ['nested repetitions', { pattern: '((a{30}){30})' }, '/pattern'],
    ['a bracket hidden from the count', { pattern: '(a{100}[)]){300}' }, '/pattern'],
    [
      '300 patterns of 10 steps',
      { patternProperties: Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`abcd${n}`, true])) },
      '/patternProperties/abcd263',
    ],
    ['a deep defect', { allOf: [nested(10), { not: { type: 'x' } }] }, '/allOf/1/not/type'],
  ];
  for (const [name, schema, path] of cases)
    test(name, () => {
      assert.throws(
        () => prepareSchema(schema),
        (error) => error instanceof SchemaDefect && (assert.equal(error.path, path), true),
      );
    });
});

test('names of properties, constants and examples are no keywords', () => {
  const schema = {
    properties: { $ref: { const: { $ref: 'https://x' } } },
    examples: [{ type: 5 }],
    'x-own': { type: 5 },
  };
  assert.deepEqual(faults(schema, { $ref: { $ref: 'https://x' } }), []);
  assert.equal(faults(schema, { $ref: 1 }).length, 1);
});

/** Tests schemas and instances that are designed to be slow, each within the limits of a document. */
const worst: Record<string, [Json, Json]> = {
  'every branch leads to two more': [
    {
      $ref: '#/$defs/a0',
      $defs: {
        ...Object.fromEntries(
          Array.from({ length: 200 }, (_, n) => [
            `a${n}`,
            { anyOf: Array(2).fill({ $ref: `#/$defs/a${n + 1}` }) },
          ]),
        ),
        a200: { type: 'null' },
      },
    },
    1,
  ],
  'two ways into each level': [
    {
      $ref: '#/$defs/a',
      $defs: {
        a: { type: 'array', minItems: 1, items: { oneOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] } },
      },
    },
    JSON.parse('['.repeat(19) + ']'.repeat(19)),
  ],
  '400 references in a row': [
    {
      $ref: '#/$defs/a0',
      $defs: Object.fromEntries(
        Array.from({ length: 900 }, (_, n) => [`a${n}`, n === 899 ? true : { $ref: `#/$defs/a${n + 1}` }]),
      ),
    },
    1,
  ],
  'equal items, 1,500 times': [
    { allOf: Array(1500).fill({ properties: { a: { uniqueItems: true } } }) },
    { a: Array.from({ length: 4990 }, (_, n) => n) },
  ],
  'equal large items': [
    { allOf: Array(2000).fill({ uniqueItems: true }) },
    Array.from({ length: 20 }, (_, n) => 'x'.repeat(3000) + n),
  ],
  '2,000 constants against a large value': [
    { anyOf: Array.from({ length: 2000 }, (_, i) => ({ const: { i } })) },
    { a: Array.from({ length: 4900 }, (_, n) => n) },
  ],
  'long texts counted 2,000 times': [
    { items: { allOf: Array.from({ length: 2000 }, (_, n) => ({ maxLength: 40_000 + n })) } },
    ['a'.repeat(65_000)],
  ],
  '280 patterns on 4,900 names': [
    { patternProperties: Object.fromEntries(Array.from({ length: 280 }, (_, n) => [`a${n}`, true])) },
    Object.fromEntries(Array.from({ length: 4900 }, (_, n) => [`a${n}`, 1])),
  ],
  'a pattern that is exponential elsewhere': [
    { items: { pattern: '^(a|a?b?c?)+$' } },
    Array(60).fill(`${'a'.repeat(1000)}!`),
  ],
  'a pattern of 500 steps': [{ items: { pattern: '(a?){160}b' } }, Array(60).fill('a'.repeat(1000))],
  'what 500 schemas have left unlooked at': [
    {
      allOf: Array.from({ length: 500 }, () => ({ additionalProperties: true })),
      unevaluatedProperties: false,
    },
    Object.fromEntries(Array.from({ length: 4900 }, (_, n) => [`a${n}`, 1])),
  ],
  'nested unevaluated keywords': [
    {
      $ref: '#/$defs/a',
      $defs: {
        a: {
          additionalProperties: { $ref: '#/$defs/a' },
          allOf: Array(300).fill({ unevaluatedProperties: true }),
          unevaluatedProperties: false,
        },
      },
    },
    Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`a${n}`, { b: {} }])),
  ],
  'multiples of a tiny number': [
    { items: { allOf: Array(500).fill({ multipleOf: 3e-300 }) } },
    Array(4900).fill(1e300),
  ],
  'required names': [
    { allOf: Array(400).fill({ required: Array.from({ length: 10 }, (_, n) => `a${n}`) }), items: true },
    Object.fromEntries(Array.from({ length: 4900 }, (_, n) => [`a${n}`, 1])),
  ],
  'dynamic references': [
    { $dynamicAnchor: 'a', items: { allOf: Array(900).fill({ $dynamicRef: '#a' }) } },
    JSON.parse('['.repeat(19) + ']'.repeat(19)),
  ],
};

describe('the worst schemas and instances take less than 100 ms, and less than 250,000 steps', () => {
  for (const [name, [schema, instance]] of Object.entries(worst))
    test(name, () => {
      const prepared = prepareSchema(schema);
      prepared.faultsOf(instance);
      const took = Math.min(
        ...Array.from({ length: 3 }, () => processorMsOf(() => prepared.faultsOf(instance))),
      );
      assert.ok(took < 100, `${took} ms`);
      assert.ok(processorMsOf(() => prepareSchema(schema)) < 300);
    });
  test('an instance whose validation was cut short is not valid', () => {
    const [schema, instance] = worst['every branch leads to two more'] as [Json, Json];
    assert.deepEqual(faults(schema, instance), [{ path: '', message: 'takes too many steps to validate' }]);
  });
  test('an ordinary schema of 5,000 values takes a fifth of the limit', () => {
    const row = {
      type: 'object',
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 80, pattern: '^[a-z]+$' },
        points: { type: 'integer', minimum: 0, maximum: 100 },
      },
      required: ['name'],
      additionalProperties: false,
    };
    const instance = { rows: Array.from({ length: 1600 }, () => ({ name: 'turtle', points: 5 })) };
    const prepared = prepareSchema({ properties: { rows: { type: 'array', items: row } } });
    assert.deepEqual(prepared.faultsOf(instance), []);
    assert.ok(prepared.stepsFor(instance) < 150_000, String(prepared.stepsFor(instance)));
  });
});

/**
 * Schemas and instances with only a few names and values, so that they match often. `contains` is left out: together
 * with `prefixItems`, ajv accepts an empty list, and doesn't count the matching members as evaluated.
 */
const value: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'value' },
    fc.constantFrom<Json>(null, true, 0, 1, 2.5, 'a', 'ab', 'b'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'ab'), tie('value'), { maxKeys: 3 }) as fc.Arbitrary<Json>,
  ),
})).value;

const schema: fc.Arbitrary<Json> = fc.letrec<{ schema: Json }>((tie) => {
  const inner = tie('schema');
  const several = fc.array(inner, { minLength: 1, maxLength: 3 });
  const byName = fc.dictionary(fc.constantFrom('a', 'b', 'ab'), inner, { maxKeys: 2 });
  const count = fc.nat(3);
  const keywords = {
    type: fc.constantFrom<Json>('null', 'integer', 'number', 'string', 'array', 'object', ['null', 'object']),
    enum: fc.array(value, { minLength: 1, maxLength: 3 }),
    const: value,
    minimum: count,
    exclusiveMaximum: count,
    multipleOf: fc.constantFrom(1, 2, 0.5),
    minLength: count,
    maxLength: count,
    pattern: fc.constantFrom('^a', 'b$', 'a|b'),
    minItems: count,
    maxItems: count,
    uniqueItems: fc.boolean(),
    minProperties: count,
    maxProperties: count,
    required: fc.subarray(['a', 'b']),
    dependentRequired: fc.constant({ a: ['b'] }),
    allOf: several,
    anyOf: several,
    oneOf: several,
    not: inner,
    if: inner,
    else: inner,
    dependentSchemas: byName,
    prefixItems: several,
    items: inner,
    properties: byName,
    patternProperties: fc.dictionary(fc.constantFrom('^a', 'b$'), inner, { maxKeys: 2 }),
    additionalProperties: inner,
    propertyNames: inner,
    unevaluatedItems: inner,
    unevaluatedProperties: inner,
    $ref: fc.constantFrom('#/$defs/x', '#/$defs/y'),
  };
  const some = fc.subarray(Object.keys(keywords) as (keyof typeof keywords)[], { maxLength: 4 });
  return {
    schema: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'schema' },
      fc.boolean(),
      some.chain((names) =>
        fc.record(Object.fromEntries(names.map((name) => [name, keywords[name]]))),
      ) as fc.Arbitrary<Json>,
    ),
  };
}).schema;

/**
 * The result of ajv, or nothing if ajv's generated program is faulty: for some schemas with `not: true`, the program
 * uses a variable that it doesn't declare.
 */
function answerOf(oracle: (instance: Json) => unknown, instance: Json): unknown {
  try {
    return oracle(instance);
  } catch (error) {
    assert.ok(error instanceof ReferenceError, String(error));
    return undefined;
  }
}

const randomSchemas = byDepth(60, 300);

test(`agrees with ajv, which makes programs of schemas, on ${randomSchemas} random schemas with five instances each`, () => {
  const defs = {
    x: { type: ['array', 'object'], minItems: 1, items: { type: 'null' } },
    y: { properties: { a: true } },
  };
  let asked = 0;
  fc.assert(
    fc.property(schema, fc.array(value, { minLength: 5, maxLength: 5 }), (given, values) => {
      // Serialized and parsed again, because ajv distinguishes objects with other prototypes.
      const [made, ...instances] = JSON.parse(JSON.stringify([given, ...values])) as [Json, ...Json[]];
      const document = (
        typeof made === 'boolean' ? { allOf: [made] } : { ...(made as JsonObject) }
      ) as JsonObject;
      document['$defs'] = defs;
      const oracle = new Ajv2020({ strict: false, validateFormats: false, logger: false }).compile(document);
      const prepared = prepareSchema(document);
      for (const instance of instances) {
        const expected = answerOf(oracle, instance);
        if (expected === undefined) continue;
        asked += 1;
        assert.equal(
          prepared.faultsOf(instance).length === 0,
          expected,
          JSON.stringify({ document, instance }),
        );
      }
    }),
    { numRuns: randomSchemas },
  );
  assert.equal(asked >= byDepth(180, 1_000), true);
});
