import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { Ajv } from 'ajv';
import { cloudEventOf } from '../../ledger/sinks/cloud-event.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { openStream } from '../../testing/stream/stream-client.ts';
import { describeEvents } from './async-api.ts';
import { eventCatalog } from './event-catalog.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

type Json = Record<string, unknown>;
interface Document extends Json {
  channels: Record<string, { messages: Record<string, { $ref: string }> }>;
  components: { messages: Record<string, Json>; schemas: Record<string, Json> };
}
const document = describeEvents() as Document;

/** The schema that the AsyncAPI project publishes for its version 3.0.0, in draft 7. */
function publishedSchema(): Json {
  const path = createRequire(import.meta.url).resolve('@asyncapi/specs/schemas/3.0.0-without-$id.json');
  return JSON.parse(readFileSync(path, 'utf8')) as Json;
}

const options = { strict: false, validateFormats: false, allErrors: false } as const;

test('the document matches the schema that AsyncAPI 3.0 publishes; a broken one does not', () => {
  const fits = new Ajv(options).compile(publishedSchema());
  assert.ok(fits(document), JSON.stringify(fits.errors?.slice(0, 5)));
  assert.ok(!fits({ ...document, asyncapi: '2.6.0' }));
  assert.ok(!fits({ ...document, operations: { streamEvents: { action: 'publish' } } }));
});

test('each reference resolves', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)];
  assert.ok(references.length > 300);
  for (const [, path] of references) {
    const target = (path as string)
      .split('/')
      .reduce<unknown>((part, step) => (part as Json | undefined)?.[step], document);
    assert.notEqual(target, undefined, path);
  }
});

test('both channels have a message for each type of the catalog', () => {
  const types = [...eventCatalog.keys()];
  assert.deepEqual(Object.keys(document.channels['events']?.messages ?? {}), types);
  assert.deepEqual(
    Object.keys(document.channels['webhooks']?.messages ?? {}),
    types.map((type) => `${type}.cloudevent`),
  );
});

/** The schema of a message in the form that a consumer's validator reads. */
function messageSchema(name: string) {
  const payload = document.components.messages[name]?.['payload'] as Json;
  return new Ajv(options).compile({ ...payload, components: document.components });
}

test('messages of the stream match the schema of their type, and not that of another', async () => {
  const task = await baton.admin.post('/tasks', { title: 'described' });
  assert.equal(task.status, 201);
  await journalIsStable(baton.pool);
  const stream = openStream(baton.url, { token: baton.admin.token, query: '?types=task.' });
  const [event] = await stream.received(1);
  await stream.close();
  assert.ok(messageSchema('task.created')(event));
  assert.ok(!messageSchema('task.claimed')(event));
  assert.ok(!messageSchema('task.created')({ ...(event as object), payload: {} }));
});

test('messages of webhooks match the schema of their type, and not that of another', async () => {
  const { body } = await baton.admin.post('/tasks', { title: 'posted' });
  await journalIsStable(baton.pool);
  const [event] = (await baton.admin.get(`/events?entityId=${body.id}`)).body.items;
  const sent = JSON.parse(JSON.stringify(cloudEventOf(event))) as object;
  assert.ok(messageSchema('task.created.cloudevent')(sent));
  assert.ok(!messageSchema('task.claimed.cloudevent')(sent));
  assert.ok(!messageSchema('task.created.cloudevent')({ ...(sent as object), specversion: '0.3' }));
});

test('GET /asyncapi.json returns the document without a credential', async () => {
  const answer = await baton.request('GET', '/asyncapi.json');
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  assert.deepEqual(answer.body, JSON.parse(JSON.stringify(document)));
});
