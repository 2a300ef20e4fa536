import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import { isWithin } from './artifact-type.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const wanted = { key: 'report', displayName: 'Report', mediaTypes: ['text/plain'] };
const make = (body: object = {}) => baton.admin.post('/artifact-types', { ...wanted, ...body });

test('POST creates the next version of the key and emits an event', async () => {
  const metadataSchema = { required: ['pages'], properties: { pages: { type: 'integer' }, token: true } };
  const {
    id,
    createdAt: _,
    ...type
  } = await done(
    make({
      key: 'proof',
      description: 'd',
      metadataSchema,
      mediaTypes: ['Image/*', 'text/plain', 'image/*'],
      maxBytes: 10,
    }),
    201,
  );
  assert.deepEqual(type, {
    tenantId: baton.tenantId,
    key: 'proof',
    version: 1,
    displayName: 'Report',
    description: 'd',
    metadataSchema,
    mediaTypes: ['image/*', 'text/plain'],
    maxBytes: 10,
    createdBy: baton.admin.principalId,
    package: null,
  });
  const next = await done(make({ key: 'proof' }), 201);
  assert.deepEqual([next.version, next.maxBytes, next.metadataSchema, next.description], [2, null, {}, '']);
  const [event] = await eventsOf(baton, id);
  assert.deepEqual([event?.type, event?.schema_version], ['artifact_type.created', 1]);
  assert.deepEqual(event?.payload, {
    key: 'proof',
    version: 1,
    mediaTypes: ['image/*', 'text/plain'],
    maxBytes: 10,
    declaresMetadataSchema: true,
  });
  const [plain] = await eventsOf(baton, next.id);
  assert.deepEqual([plain?.payload['maxBytes'], plain?.payload['declaresMetadataSchema']], [null, false]);
});

test('concurrent versions of one key get different numbers, without a gap', async () => {
  const made = await Promise.all(Array.from({ length: 12 }, () => make({ key: 'rush' })));
  const versions = await Promise.all(
    made.map(async (answer) => (await done(Promise.resolve(answer), 201)).version),
  );
  assert.deepEqual(
    versions.sort((a, b) => a - b),
    Array.from({ length: 12 }, (_, n) => n + 1),
  );
});

describe('a malformed type is refused', () => {
  const cases: [string, object, number, string, Record<string, unknown>?][] = [
    [
      'an empty media type',
      { mediaTypes: [] },
      422,
      'invalid_artifact_type',
      { field: 'mediaTypes', minItems: 1, maxItems: 50 },
    ],
    [
      '51 media types',
      { mediaTypes: Array.from({ length: 51 }, (_, n) => `a/b${n}`) },
      422,
      'invalid_artifact_type',
    ],
    ...['text', 'text/', '*/plain', 'a b/c', 'text/plain; charset=utf-8', `a/${'b'.repeat(300)}`].map(
      (one): [string, object, number, string, Record<string, unknown>] => [
        `the media type ${one.slice(0, 30)}`,
        { mediaTypes: ['a/b', one] },
        422,
        'invalid_artifact_type',
        { field: 'mediaTypes[1]' },
      ],
    ),
    ...[0, -1, 1.5, 2 ** 60].map((maxBytes): [string, object, number, string, Record<string, unknown>] => [
      `maxBytes ${maxBytes}`,
      { maxBytes },
      422,
      'invalid_artifact_type',
      { field: 'maxBytes', min: 1 },
    ]),
    ['a blank name', { displayName: '  ' }, 422, 'invalid_artifact_type', { field: 'displayName' }],
    [
      'a schema that is not an object',
      { metadataSchema: [] },
      422,
      'invalid_document',
      { field: 'metadataSchema' },
    ],
    [
      'a schema over 16 KiB',
      { metadataSchema: { description: 'x'.repeat(16_384) } },
      422,
      'payload_too_large',
    ],
    [
      'a deeply nested schema',
      { metadataSchema: JSON.parse(`${'{"not":'.repeat(25)}{}${'}'.repeat(25)}`) },
      422,
      'payload_too_deep',
    ],
    [
      'an invalid schema',
      { metadataSchema: { properties: { a: { type: 'x' } } } },
      422,
      'invalid_json_schema',
    ],
    [
      'a schema with an external reference',
      { metadataSchema: { $ref: 'https://x' } },
      422,
      'invalid_json_schema',
      {
        field: 'metadataSchema',
        path: '/$ref',
        message: 'must refer to a place in the same document',
        ref: 'https://x',
      },
    ],
    [
      'a secret in a schema',
      { metadataSchema: { default: 'ghp_0123456789abcdefABCDEF' } },
      422,
      'secret_material_rejected',
    ],
    ['a key in capitals', { key: 'Report' }, 400, 'invalid_request'],
    ['a key of 64 characters', { key: 'a'.repeat(64) }, 400, 'invalid_request'],
    ['a long name', { displayName: 'x'.repeat(201) }, 400, 'invalid_request'],
    ['a long description', { description: 'x'.repeat(2001) }, 400, 'invalid_request'],
    ['no media types at all', { mediaTypes: undefined }, 400, 'invalid_request'],
  ];
  for (const [name, body, status, code, details] of cases)
    test(name, async () => {
      const given = await refused(make(body), status, code);
      if (details !== undefined) assert.deepEqual(given, details);
    });
});

test('GET finds a type by its key (the newest version), by key@version and by its id', async () => {
  const [first, second] = [await done(make({ key: 'found' }), 201), await done(make({ key: 'found' }), 201)];
  const get = (ref: string) => baton.admin.get(`/artifact-types/${ref}`);
  assert.deepEqual(await done(get('found')), second);
  assert.deepEqual(await done(get('found@1')), first);
  assert.deepEqual(await done(get('found@2')), second);
  assert.deepEqual(await done(get(first.id.toUpperCase())), first);
  for (const absent of ['found@3', 'found@01', 'Found', 'absent', newId(), 'found@', 'a b'])
    await refused(get(encodeURIComponent(absent)), 404, 'not_found');
});

test('a key with the form of an id is found by that id, unless another type has it', async () => {
  const key = newId();
  const { id } = await done(make({ key }), 201);
  assert.equal((await done(baton.admin.get(`/artifact-types/${key}`))).id, id);
  const other = await done(make({ key: id }), 201);
  assert.equal((await done(baton.admin.get(`/artifact-types/${id}`))).id, id);
  assert.equal((await done(baton.admin.get(`/artifact-types/${id}@1`))).id, other.id);
});

test('GET lists types in pages, newest first, filtered by key and package', async () => {
  for (let n = 0; n < 3; n += 1) await done(make({ key: 'listed' }), 201);
  const versionsOf = async (query: string) =>
    (await done(baton.admin.get(`/artifact-types?${query}`))).items.map(
      ({ version }: { version: number }) => version,
    );
  assert.deepEqual(await versionsOf('key=listed'), [3, 2, 1]);
  assert.deepEqual(await versionsOf('key=listed&package=none'), []);
  const { nextCursor } = await done(baton.admin.get('/artifact-types?key=listed&limit=2'));
  assert.deepEqual(await versionsOf(`key=listed&limit=2&cursor=${nextCursor}`), [1]);
  await refused(baton.admin.get('/artifact-types?cursor=x'), 422, 'invalid_cursor');
});
test('a range of media types is contained in another', () => {
  const within: [string, string][] = [
    ['a/b', 'a/b'],
    ['a/b', 'a/*'],
    ['a/*', 'a/*'],
    ['a/*', '*/*'],
    ['*/*', '*/*'],
  ];
  const outside: [string, string][] = [
    ['a/*', 'a/b'],
    ['*/*', 'a/*'],
    ['ab/c', 'a/*'],
    ['a/bc', 'a/b'],
  ];
  for (const [range, other] of within) assert.equal(isWithin(range, other), true, `${range} ${other}`);
  for (const [range, other] of outside) assert.equal(isWithin(range, other), false, `${range} ${other}`);
});
