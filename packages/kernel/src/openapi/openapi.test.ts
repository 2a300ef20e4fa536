import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { InstantInput, pageOf, Timestamp, Uuid } from '@baton/values/wire';
import { defineEvent, endpointsOf } from '../http/service.ts';
import { openApi, type Section } from './openapi.ts';

const errors = {
  not_found: { status: 404, when: 'There is no such thing.', react: 'Come back later.' },
  shelf_full: { status: 409, when: 'Nothing more fits.', react: 'Come back later.' },
  unavailable: { status: 503, when: 'Not now.', react: 'Come back later.' },
} as const;

const endpoint = endpointsOf<{
  code: keyof typeof errors;
  permission: string;
  auth: 'none';
  context: object;
}>();
const handle = (): never => assert.fail('a description calls nothing');

const Author = z.strictObject({ id: Uuid, name: z.string() }).meta({ id: 'Author' });
const Book = z
  .strictObject({ id: Uuid, author: Author, editor: Author.nullable(), printedAt: Timestamp })
  .meta({ id: 'Book' });
const Shelf = z
  .strictObject({
    label: z.string(),
    get parts() {
      return z.array(Shelf);
    },
  })
  .meta({ id: 'Shelf' });
/** Requires fewer fields than it returns, because of the default. */
const Label = z.strictObject({ text: z.string(), language: z.string().default('en') }).meta({ id: 'Label' });
const Labels = z.strictObject({ labels: z.array(Label) }).meta({ id: 'Labels' });
const NewBook = z.strictObject({ author: Uuid, copies: z.int().default(1) }).meta({ id: 'NewBook' });

const listBooks = endpoint({
  id: 'listBooks',
  method: 'GET',
  path: '/books',
  summary: 'List books.',
  paging: true,
  returns: { 200: pageOf(Book) },
  handle,
});
const createBook = endpoint({
  id: 'createBook',
  method: 'POST',
  path: '/books',
  summary: 'Add a book.',
  body: NewBook,
  returns: { 201: Book },
  errors: ['shelf_full'],
  emits: [defineEvent('book.created', 'book', z.strictObject({}))],
  etag: 'book',
  example: { author: '0190b2c4-0000-7000-8000-000000000001' },
  handle,
});
const getShelf = endpoint({
  id: 'getShelf',
  method: 'GET',
  path: '/shelves/{label}',
  summary: 'Read a shelf.',
  params: { label: z.string().describe('As it is written on the shelf.') },
  returns: { 200: Shelf },
  errors: ['not_found'],
  handle,
});
const replaceLabels = endpoint({
  id: 'replaceLabels',
  method: 'PUT',
  path: '/shelves/{label}/labels',
  summary: 'Replace the labels of a shelf.',
  params: { label: z.string() },
  ifMatch: 'shelf',
  body: Labels,
  returns: { 200: Labels, 204: null },
  errors: ['not_found'],
  handle,
});

const books: Section = { tag: 'Books', about: 'The things to read.', endpoints: [listBooks, createBook] };
const shelves: Section = {
  tag: 'Shelves',
  about: 'The place of a book.',
  endpoints: [getShelf, replaceLabels],
};

type Schema = Record<string, unknown>;

interface Media {
  schema: Schema;
  example?: unknown;
  examples?: Record<string, object>;
}

interface Described {
  tags: object[];
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, Schema>>;
}

interface Operation {
  deprecated?: boolean;
  tags: string[];
  parameters: object[];
  requestBody: { content: Record<string, Media> };
  responses: Record<number, { description: string; headers: Schema; content: Record<string, Media> }>;
}

function describe(...sections: Section[]): Described {
  const document = openApi(
    {
      title: 'Library',
      version: '1',
      description: 'For this test.',
      basePath: '/api',
      errors,
      error: z.strictObject({ code: z.string() }).meta({ id: 'Error' }),
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      securityOf: () => ['token'],
      pipelineCodesOf: () => ['unavailable'],
    },
    sections,
  );
  return document as Described;
}

const schema = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const document = describe(books, shelves);
const { schemas = {}, responses = {}, examples = {} } = document.components;

test('only a deprecated operation is marked as such', () => {
  const deprecated = endpoint({
    id: 'burnBook',
    method: 'POST',
    path: '/books:burn',
    summary: 'Burn a book.',
    deprecated: true,
    returns: { 204: null },
    handle,
  });
  const { paths } = describe(books, { tag: 'Old', about: 'What will be removed.', endpoints: [deprecated] });
  assert.deepEqual(
    [paths['/api/books:burn']?.['post'], paths['/api/books']?.['post']].map((one) => one?.deprecated),
    [true, undefined],
  );
});

test('a named form is described once and referred to, also inside other forms and in pages', () => {
  assert.deepEqual(answerTo('post', '/api/books', 201).schema, schema('Book'));
  assert.deepEqual(answerTo('get', '/api/books', 200).schema, schema('BookPage'));
  assert.deepEqual(schemas['BookPage']?.['properties'], {
    items: { type: 'array', items: schema('Book') },
    nextCursor: { type: ['string', 'null'] },
  });
  assert.deepEqual(schemas['Book']?.['properties'], {
    id: schema('Uuid'),
    author: schema('Author'),
    editor: { anyOf: [schema('Author'), { type: 'null' }] },
    printedAt: schema('Timestamp'),
  });
});

test('a form that contains itself refers to its own name', () => {
  assert.deepEqual(schemas['Shelf']?.['properties'], {
    label: { type: 'string' },
    parts: { type: 'array', items: schema('Shelf') },
  });
});

test('a recursive schema without a name is refused', () => {
  const Box = z.strictObject({
    get inner() {
      return Box.nullable();
    },
  });
  const getBox = endpoint({ ...plain('getBox', '/box'), returns: { 200: Box } });
  assert.throws(() => describe({ ...books, endpoints: [getBox] }), /recursive schema needs a name/);
});

test('a form that takes something else than it gives has two names, and so have the forms around it', () => {
  assert.deepEqual(requestOf('put', '/api/shelves/{label}/labels').schema, schema('LabelsInput'));
  assert.deepEqual(answerTo('put', '/api/shelves/{label}/labels', 200).schema, schema('Labels'));
  assert.deepEqual(
    [schemas['Label']?.['required'], schemas['LabelInput']?.['required']],
    [['text', 'language'], ['text']],
  );
});

test('a form that is only taken keeps its own name', () => {
  assert.deepEqual(requestOf('post', '/api/books').schema, schema('NewBook'));
  assert.deepEqual(schemas['NewBook']?.['required'], ['author']);
  assert.equal(schemas['NewBookInput'], undefined);
});

test('two different schemas with the same name are refused', () => {
  const getAuthor = endpoint({
    ...plain('getAuthor', '/author'),
    returns: { 200: z.strictObject({ pseudonym: z.string() }).meta({ id: 'Author' }) },
  });
  assert.throws(() => describe(books, { ...shelves, endpoints: [getAuthor] }), /schemas have the id Author/);
});

test('the named forms of a part that is parsed later are described, too', () => {
  const { $schema: _, ...form } = z.toJSONSchema(Author, { io: 'input' });
  const setAuthor = endpoint({
    ...plain('setAuthor', '/author'),
    method: 'POST',
    body: z.strictObject({ author: z.unknown().meta(form) }).meta({ id: 'AuthorRequest' }),
  });
  const { components } = describe({ ...books, endpoints: [setAuthor] });
  assert.deepEqual(components['schemas']?.['AuthorRequest']?.['properties'], { author: schema('Author') });
  assert.ok(components['schemas']?.['Author']);
});

test('tags are in the declared order, and an operation id or a tag occurs only once', () => {
  assert.deepEqual(document.tags, [
    { name: 'Books', description: 'The things to read.' },
    { name: 'Shelves', description: 'The place of a book.' },
  ]);
  assert.deepEqual(operationAt('post', '/api/books').tags, ['Books']);
  assert.throws(() => describe(books, { ...shelves, endpoints: [listBooks] }), /operation id listBooks/);
  assert.throws(() => describe(books, { ...shelves, tag: 'Books' }), /tag Books/);
});

test('paging, If-Match, the idempotency key and the headers of responses are described once', () => {
  const parameter = (name: string) => ({ $ref: `#/components/parameters/${name}` });
  assert.deepEqual(operationAt('get', '/api/books').parameters, [parameter('Limit'), parameter('Cursor')]);
  const { parameters, responses: answers } = operationAt('put', '/api/shelves/{label}/labels');
  assert.deepEqual(parameters.slice(1), [parameter('IdempotencyKey'), parameter('IfMatch')]);
  assert.deepEqual(Object.keys(answers[204]?.headers ?? {}), ['X-Request-Id', 'Idempotency-Replayed']);
  const created = operationAt('post', '/api/books').responses[201];
  assert.deepEqual(created?.headers['ETag'], { $ref: '#/components/headers/ETag' });
  assert.equal(document.components['parameters']?.['RequiredIdempotencyKey'], undefined);
});

test('an error response of several operations is a component, another is inline', () => {
  const answers = operationAt('get', '/api/shelves/{label}').responses;
  assert.deepEqual(answers[404], { $ref: '#/components/responses/NotFound' });
  assert.match(String(responses['NotFound']?.['description']), /There is no such thing/);
  assert.ok('Retry-After' in (responses['Unavailable']?.['headers'] as object));
  assert.match(operationAt('post', '/api/books').responses[409]?.description ?? '', /Nothing more fits/);
});

test('a response has an example of its form; equal ids mean equal objects', () => {
  const media = answerTo('get', '/api/books', 200);
  assert.deepEqual(media.examples, { BookPage: { $ref: '#/components/examples/BookPage' } });
  const page = pageOf(Book).parse(examples['BookPage']?.['value']);
  assert.equal(page.items[0]?.author.id, Author.parse(page.items[0]?.editor).id);
  assert.notEqual(page.items[0]?.id, page.items[0]?.author.id);
  assert.deepEqual(Shelf.parse(examples['Shelf']?.['value']), { label: 'label', parts: [] });
});

test('an example that a form declares goes first', () => {
  const Colour = z
    .string()
    .regex(/^#[0-9a-f]{6}$/)
    .meta({ examples: ['#ffcc00'] });
  const getColour = endpoint({
    ...plain('getColour', '/colour'),
    returns: { 200: z.strictObject({ colour: Colour }) },
  });
  const described = describe({ ...books, endpoints: [getColour] });
  assert.deepEqual(answerTo('get', '/api/colour', 200, described).example, { colour: '#ffcc00' });
});

function plain(id: string, path: string) {
  return { id, method: 'GET' as const, path, summary: 'For this test.', returns: { 204: null }, handle };
}

function operationAt(method: string, path: string, { paths } = document): Operation {
  return paths[path]?.[method] ?? assert.fail(`no ${method} ${path}`);
}

function answerTo(method: string, path: string, status: number, described = document): Media {
  const media = operationAt(method, path, described).responses[status]?.content['application/json'];
  return media ?? assert.fail(`no JSON with ${status}`);
}

function requestOf(method: string, path: string): Media {
  const media = operationAt(method, path).requestBody.content['application/json'];
  return media ?? assert.fail('no JSON');
}

test('a pattern is written without escapes that other languages refuse', () => {
  const address = z.string().regex(/^https?:\/\/[^/\\]+\/$/);
  const found = endpoint({
    id: 'findAddress',
    method: 'GET',
    path: '/addresses/{address}',
    summary: 'Find an address.',
    params: { address },
    query: { also: z.array(z.strictObject({ at: address })).optional() },
    returns: { 200: null },
    handle,
  });
  const text = JSON.stringify(describe({ tag: 'Addresses', about: 'Where.', endpoints: [found] }));
  const patterns = [...text.matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(([, one]) =>
    JSON.parse(one as string),
  );
  assert.deepEqual(patterns, Array(2).fill('^https?://[^/\\\\]+/$'));
});

test('an instant that is sent may be a day, or lack an offset: no format excludes these', () => {
  const found = endpoint({
    id: 'findPrinted',
    method: 'GET',
    path: '/printed',
    summary: 'Find what was printed.',
    query: { from: InstantInput.optional() },
    returns: { 200: null },
    handle,
  });
  const { components } = describe({ tag: 'Printed', about: 'When.', endpoints: [found] });
  const { format, anyOf } = components['schemas']?.['Instant'] as {
    format?: string;
    anyOf: { pattern: string }[];
  };
  assert.equal(format, undefined);
  const fits = (text: string) => anyOf.some(({ pattern }) => new RegExp(pattern, 'u').test(text));
  for (const text of [
    '2026-03-02',
    '2026-03-02T09:00',
    '2026-03-02T09:00:00.5Z',
    '2026-03-02T09:00:00+05:30',
  ])
    assert.ok(fits(text) && InstantInput.safeParse(text).success, text);
  for (const text of ['2026-02-30', 'tomorrow', '2026-03-02T25:00:00Z'])
    assert.ok(!fits(text) && !InstantInput.safeParse(text).success, text);
});
