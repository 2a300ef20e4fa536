import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { byDepth } from '@baton/testing/depth';
import { canonicalJson } from '@baton/values/canonical-json';
import { type DoorService, doorCredential, startDoors } from '../testing/door/door-service.ts';

let doors: DoorService;
before(async () => {
  doors = await startDoors();
});
after(() => doors.close());

interface Problems {
  code: string;
  details: { errors: { in: string; path: (string | number)[]; type: string; message: string }[] };
}

async function post(body: string, headers: Record<string, string> = {}) {
  const received = await doors.call('POST', '/api/doors', body, headers);
  return { ...received, code: (received.body as Problems)?.code };
}

async function problemsOf(body: string) {
  const { status, body: answer } = await post(body);
  assert.equal(status, 400);
  return (answer as Problems).details.errors;
}

test('the last value of a repeated key counts', async () => {
  const { status, body } = await post('{"label":"first","label":"last"}');
  assert.deepEqual([status, (body as { door: { label: string } }).door.label], [201, 'last']);
});

test('__proto__ and constructor are ordinary names: unknown as fields, plain keys in a free document', async () => {
  for (const name of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']) {
    const [problem] = await problemsOf(`{"label":"x","${name}":{"admin":true}}`);
    assert.deepEqual([problem?.type, problem?.path], ['extra_forbidden', [name]]);
    const free = await post(`{"label":"x","settings":{"${name}":{"admin":true}}}`);
    assert.equal(free.status, 201, free.text);
    assert.ok(free.text.includes(`"${name}":{"admin":true}`), free.text);
  }
});

test('a body that is not UTF-8 is refused', async () => {
  const { port } = doors.server.address() as { port: number };
  for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf8]]) {
    const body = Buffer.concat([Buffer.from('{"label":"'), Buffer.from(bytes), Buffer.from('"}')]);
    const response = await fetch(`http://127.0.0.1:${port}/api/doors`, {
      method: 'POST',
      headers: doorCredential(),
      body,
    });
    assert.equal(response.status, 400);
  }
});

test('NUL and a lone surrogate are refused anywhere in the body; surrogate pairs are kept', async () => {
  for (const body of [
    '{"label":"a\\u0000"}',
    '{"label":"\\ud800"}',
    '{"label":"\\udc00\\ud800"}',
    '{"label":"x","settings":{"a":[{"b":"\\u0000"}]}}',
    '{"label":"x","settings":{"\\u0000":1}}',
    '{"label":"x","settings":{"\\uDEAD":1}}',
  ]) {
    const { status, code, text } = await post(body);
    assert.deepEqual([status, code], [422, 'validation_error'], body);
    assert.ok(text.isWellFormed() && !text.includes('\\u0000'), text);
  }
  const { body } = await post('{"label":"\\ud83d\\ude42 \\\\u0000"}');
  assert.equal((body as { door: { label: string } }).door.label, '🙂 \\u0000');
});

test('a deeply nested body gets an answer, with an idempotency key and without', async () => {
  const label = '"label":"x"';
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    const levels = Math.floor(19_000 / (open.length + close.length));
    const deep = `${open.repeat(levels)}1${close.repeat(levels)}`;
    for (const name of ['x-request-id', 'idempotency-key']) {
      const headers = { [name]: `deep ${open}` };
      const bare = await post(deep, headers);
      assert.equal(bare.status, 400, bare.text);
      const inside = await post(`{${label},"settings":{"a":${deep}},"zebra":"\\u0041"}`, headers);
      assert.equal(inside.status, 400, inside.text);
      const escaped = await post(`{${label},"settings":{"a":${deep.replace('1', '"\\ud800"')}}}`, headers);
      assert.equal(escaped.status, 422, escaped.text);
    }
  }
});

test('canonical JSON does not depend on the order of keys, and any depth works', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = canonicalJson(value);
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
      assert.equal(canonicalJson(reversed(value)), text);
    }),
  );
  const deep = `${'{"a":['.repeat(100_000)}${']}'.repeat(100_000)}`;
  assert.equal(canonicalJson(JSON.parse(deep)), deep);
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, reversed(item)]),
  );
}

test('an integer must be exact as a double, and a number beyond every double is refused', async () => {
  assert.equal((await post('{"label":"x","count":9007199254740991}')).status, 201);
  for (const count of ['9007199254740992', '1e400', '1.5', '"1"', 'true', 'null'])
    assert.equal((await post(`{"label":"x","count":${count}}`)).status, 400, count);
  for (const number of ['1e400', '-1e999', `1${'0'.repeat(400)}`]) {
    const { status, text } = await post(`{"label":"x","settings":{"a":[${number}]}}`);
    assert.equal(status, 400, text);
  }
  const { text } = await post('{"label":"x","settings":{"a":1e300,"b":-0.5,"c":"1e400"}}');
  assert.ok(text.includes('"a":1e+300') && text.includes('"b":-0.5'), text);
});

test('at most 20 problems are reported, with names of at most 100 characters and without the values sent', async () => {
  const names = Array.from({ length: 30 }, (_, index) => `"${index}${'n'.repeat(200)}":"canary"`);
  const problems = await problemsOf(`{"label":["canary"],"count":"canary",${names.join(',')}}`);
  assert.equal(problems.length, 20);
  assert.ok(problems.every(({ path }) => String(path.at(-1) ?? '').length <= 100));
  assert.ok(!JSON.stringify(problems).includes('canary'));
});

test('a missing field has another problem type than a wrong one', async () => {
  const [missing] = await problemsOf('{}');
  assert.deepEqual([missing?.path, missing?.type, missing?.message], [['label'], 'missing', 'Required']);
  const [wrong] = await problemsOf('{"label":null}');
  assert.deepEqual([wrong?.path, wrong?.type], [['label'], 'invalid_type']);
});

test('white space and a byte order mark around a body are accepted', async () => {
  assert.equal((await post('\ufeff \r\n\t{"label":"x"} \n')).status, 201);
});

test('no body gets a 500', async () => {
  const bodies = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.json(),
    fc.jsonValue().map((settings) => JSON.stringify({ label: 'x', settings })),
  );
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      const { status, text } = await post(body);
      assert.ok([201, 400, 422].includes(status), text);
    }),
    { numRuns: byDepth(50, 300) },
  );
});
