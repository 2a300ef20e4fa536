import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type OpenApi, surfaceOf } from './api-surface.ts';
import { brokenPromises, checkReleasedApi } from './released-api.ts';

const text = { type: 'string' };
const task = { type: 'object', properties: { id: text, title: text }, required: ['id'] };
const newTask = { type: 'object', properties: { title: text, note: text }, required: ['title'] };

interface Changes {
  readonly id?: string;
  readonly path?: string;
  readonly returns?: object;
  readonly body?: object;
  readonly bodyRequired?: boolean;
  readonly parameters?: object[];
}

/** An API of one operation, which creates a task. */
function api({
  id = 'createTask',
  path = '/tasks',
  returns = { $ref: '#/components/schemas/Task' },
  body = { $ref: '#/components/schemas/NewTask' },
  bodyRequired = true,
  parameters = [{ $ref: '#/components/parameters/Key' }],
}: Changes = {}) {
  const content = (schema: object) => ({ content: { 'application/json': { schema } } });
  const operation = {
    operationId: id,
    parameters,
    requestBody: { required: bodyRequired, ...content(body) },
    responses: { 201: content(returns), 409: content({ properties: { error: text } }) },
  };
  const components = {
    schemas: { Task: task, NewTask: newTask },
    parameters: { Key: { name: 'Key', in: 'header' } },
  };
  return surfaceOf({ paths: { [path]: { post: operation } }, components } as unknown as OpenApi);
}

const changesTo = (changes: Changes, released = api()) =>
  brokenPromises(released, api(changes), '2026-11-28').map((text) => text.replace('POST /tasks: ', ''));
const withField = (schema: typeof task | typeof newTask, name: string, form: object, isRequired = false) => ({
  ...schema,
  properties: { ...schema.properties, [name]: form },
  required: isRequired ? [...schema.required, name] : schema.required,
});

describe('the surface of an API', () => {
  test('has the fields of successful responses and of requests, through references, lists, maps and variants', () => {
    const node = { properties: { name: text, parts: { items: { $ref: '#/components/schemas/Node' } } } };
    const either = { anyOf: [{ properties: { a: text, b: text }, required: ['a'] }, { type: 'null' }] };
    const document = {
      components: { schemas: { Node: node } },
      paths: {
        '/a': {
          put: {
            operationId: 'putA',
            requestBody: {
              content: { 'application/json': { schema: { properties: { either }, required: ['either'] } } },
            },
            responses: {
              200: {
                content: {
                  'application/json': {
                    schema: {
                      properties: {
                        tree: { $ref: '#/components/schemas/Node' },
                        map: { additionalProperties: { properties: { v: text } } },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
    };
    assert.deepEqual(surfaceOf(document as unknown as OpenApi), {
      'PUT /a': {
        id: 'putA',
        returns: 'map map{}.v tree tree.name tree.parts',
        accepts: 'body either either.a either.b',
        requires: 'either either.a',
      },
    });
  });
});

describe('a released API', () => {
  test('gains operations, response fields, optional fields and optional objects', () => {
    const owner = { properties: { name: text }, required: ['name'] };
    assert.deepEqual(
      changesTo({ returns: withField(task, 'owner', owner, true), body: withField(newTask, 'owner', owner) }),
      [],
    );
    assert.deepEqual(brokenPromises({}, api(), '2026-11-28'), []);
  });

  test('loses no operation, and no name of one', () => {
    assert.deepEqual(changesTo({ path: '/jobs' }), ['POST /tasks was removed.']);
    assert.deepEqual(changesTo({ id: 'addTask' }), ['operationId `createTask` is now `addTask`.']);
  });

  test('loses no field of a response or a request, and no parameter', () => {
    assert.deepEqual(changesTo({ returns: { properties: { id: text } } }), [
      'the response has lost `title`.',
    ]);
    assert.deepEqual(changesTo({ body: { properties: { title: text }, required: ['title'] } }), [
      'the request may not have `note` any more.',
    ]);
    assert.deepEqual(changesTo({ parameters: [] }), ['the request may not have `header:Key` any more.']);
  });

  test('requires no further field, parameter or body', () => {
    assert.deepEqual(changesTo({ body: withField(newTask, 'owner', text, true) }), [
      'the request must have `owner`.',
    ]);
    assert.deepEqual(changesTo({ body: { ...newTask, required: ['title', 'note'] } }), [
      'the request must have `note`.',
    ]);
    assert.deepEqual(changesTo({ parameters: [{ name: 'Key', in: 'header', required: true }] }), [
      'the request must have `header:Key`.',
    ]);
    assert.deepEqual(changesTo({}, api({ bodyRequired: false })), ['the request must have `body`.']);
  });

  test('may lose operations and fields that were deprecated 90 days before, and not earlier', () => {
    const released = api();
    const marked = (field: string) => ({
      'POST /tasks': { ...(released['POST /tasks'] ?? assert.fail()), deprecated: { [field]: '2026-08-30' } },
    });
    const withoutTitle = api({ returns: { properties: { id: text } } });
    assert.deepEqual(brokenPromises(marked('title'), withoutTitle, '2026-11-28'), []);
    assert.equal(brokenPromises(marked('title'), withoutTitle, '2026-11-27').length, 1);
    assert.deepEqual(brokenPromises(marked('*'), {}, '2026-11-28'), []);
    assert.equal(brokenPromises(marked('*'), {}, '2026-11-27').length, 1);
  });

  test('is compared with the descriptions of both services', () => {
    assert.deepEqual(checkReleasedApi('2026-11-28'), []);
  });
});
