import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { brokenVersions } from './event-versions.ts';

const committed = JSON.parse(
  readFileSync(join(import.meta.dirname, '../openapi/coordination.asyncapi.json'), 'utf8'),
) as object;

/** A catalog of one event, with this payload. */
function catalog(properties: object, { required = Object.keys(properties), version = 1, type = 'a.b' } = {}) {
  return {
    components: {
      messages: {
        [type]: { payload: { $ref: '#/components/schemas/ABEvent' } },
        [`${type}.cloudevent`]: { payload: { $ref: '#/components/schemas/None' } },
      },
      schemas: {
        Uuid: { type: 'string', format: 'uuid' },
        ABPayload: { type: 'object', properties, required },
        ABEvent: {
          allOf: [
            { type: 'object' },
            {
              type: 'object',
              properties: {
                schemaVersion: { const: version },
                payload: { $ref: '#/components/schemas/ABPayload' },
              },
            },
          ],
        },
      },
    },
  };
}

const uuid = { $ref: '#/components/schemas/Uuid' };
const text = { type: 'string' };
const orNull = (schema: object) => ({ anyOf: [schema, { type: 'null' }] });
const object = (properties: object, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
});

test('the committed catalog keeps its own promises', () => {
  assert.deepEqual(brokenVersions(committed, committed), []);
});

test('further types and fields, more values of an enumeration and a narrower kind are no break', () => {
  const before = catalog(
    { id: uuid, kind: { enum: ['x'] }, note: orNull(text) },
    { required: ['id', 'kind'] },
  );
  const after = catalog({ id: uuid, kind: { enum: ['x', 'y'] }, note: text, more: { type: 'integer' } });
  Object.assign(after.components.messages, { 'c.d': after.components.messages['a.b'] });
  assert.deepEqual(brokenVersions(before, after), []);
});

test('a field that was removed, became optional or has another type requires a new version', () => {
  for (const [before, after, told, required] of [
    [{ id: uuid, n: text }, { id: uuid }, 'payload.n was removed', ['id']],
    [{ n: text }, { n: text }, 'payload.n was always there, and may be absent now', []],
    [{ n: text }, { n: { type: 'integer' } }, 'payload.n was string, and may be integer now', ['n']],
    [{ n: uuid }, { n: text }, 'payload.n was string (uuid), and may be string now', ['n']],
    [{ n: text }, { n: orNull(text) }, 'payload.n was string, and may be null now', ['n']],
    [{ n: object({ x: text }) }, { n: object({ y: text }) }, 'payload.n.x was removed', ['n']],
    [
      { n: { type: 'array', items: uuid } },
      { n: { type: 'array', items: { type: 'integer' } } },
      'payload.n[] was string (uuid), and may be integer now',
      ['n'],
    ],
  ] as const) {
    const advice = 'Raise its version (the last argument of defineEvent), or leave the field as it is.';
    const changed = (version: number) => catalog(after, { required: [...required], version });
    assert.deepEqual(brokenVersions(catalog(before), changed(1)), [`a.b, version 1: ${told}. ${advice}`]);
    assert.deepEqual(brokenVersions(catalog(before), changed(2)), []);
  }
});

test('a removed type is reported', () => {
  assert.deepEqual(brokenVersions(catalog({}), catalog({}, { type: 'e.f' })), [
    'a.b is no longer declared: consumers of the journal still expect it.',
  ]);
});
