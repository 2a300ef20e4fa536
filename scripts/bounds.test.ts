import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { endpointsOf, type Operation } from '@baton/kernel/http/service';
import { unboundedInputs } from './bounds.ts';
import { services } from './services.ts';

const endpoint = endpointsOf<{ code: string; permission: string; auth: string; context: object }>();

/** An endpoint whose body has this field as `field`. */
const taking = (field: z.ZodType): Operation =>
  endpoint({
    id: 'plant',
    method: 'POST',
    path: '/planted',
    summary: 'Planted.',
    body: z.strictObject({ field }),
    returns: { 204: null },
    handle: () => undefined,
  });

test('everything that a caller may send to an endpoint has a maximum', () => {
  for (const { name, endpoints } of services) {
    assert.ok(endpoints.length > 50, name);
    assert.deepEqual(unboundedInputs(endpoints), []);
  }
});

test('a text, list, record or document without a maximum is found', () => {
  const planted: [z.ZodType, string][] = [
    [z.string(), 'body.field is a text without maxLength'],
    [z.string().regex(/^[a-z]+$/), 'body.field is a text without maxLength'],
    [z.string().nullish(), 'body.field is a text without maxLength'],
    [z.array(z.int()), 'body.field is a list without maxItems'],
    [z.array(z.string()).max(9), 'body.field[] is a text without maxLength'],
    [z.record(z.string().max(9), z.int()), 'body.field has any number of names: maxProperties'],
    [z.looseObject({}), 'body.field is a free document without x-maxBytes'],
    [z.unknown(), 'body.field is anything'],
    [z.unknown().meta({ type: 'object' }), 'body.field is a free document without x-maxBytes'],
    [z.union([z.int(), z.strictObject({ deep: z.string() })]), 'body.field.deep is a text without maxLength'],
  ];
  for (const [form, problem] of planted)
    assert.deepEqual(unboundedInputs([taking(form)]), [`POST /planted: ${problem}`]);
  for (const form of [z.string().max(9), z.string().regex(/^[a-z]{1,9}$/), z.uuid(), z.enum(['a']), z.int()])
    assert.deepEqual(unboundedInputs([taking(form)]), []);
});

test('a query and a path parameter without a maximum are found', () => {
  const search = endpoint({
    id: 'search',
    method: 'GET',
    path: '/planted/{name}',
    summary: 'Planted.',
    params: { name: z.string() },
    query: { filter: z.string().optional() },
    returns: { 204: null },
    handle: () => undefined,
  });
  assert.deepEqual(unboundedInputs([search]), [
    'GET /planted/{name}: query.filter is a text without maxLength',
    'GET /planted/{name}: path.name is a text without maxLength',
  ]);
});
