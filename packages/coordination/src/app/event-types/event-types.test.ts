import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { eventCatalog } from './event-catalog.ts';

let baton: TestCoordination;
let reader: Actor;
before(async () => {
  baton = await startCoordination();
  reader = await baton.actor({ permissions: ['events.read'] });
});
after(() => baton.close());

interface Listed {
  type: string;
  version: number;
  entityType: string;
  payloadSchema: Record<string, unknown>;
}

async function list(): Promise<Listed[]> {
  const answer = await reader.get('/event-types');
  assert.equal(answer.status, 200);
  assert.deepEqual(Object.keys(answer.body), ['items', 'nextCursor']);
  assert.equal(answer.body.nextCursor, null);
  return answer.body.items;
}

test('GET /event-types lists every type with its version, its entity and the schema of its payload', async () => {
  const items = await list();
  assert.deepEqual(
    items.map(({ type, version, entityType }) => ({ type, version, entityType })),
    [...eventCatalog.values()].map(({ type, version, entity }) => ({ type, version, entityType: entity })),
  );
  for (const item of items) {
    assert.deepEqual(Object.keys(item), ['type', 'version', 'entityType', 'payloadSchema']);
    assert.equal(item.payloadSchema['type'], 'object', item.type);
  }
  const versionOf = (type: string) => items.find((item) => item.type === type)?.version;
  assert.deepEqual(
    ['run.started', 'approval.requested', 'workspace.updated', 'task.claimed'].map(versionOf),
    [2, 2, 2, 1],
  );
});

test('the ETag is event-types- and a SHA-256; If-None-Match with it returns 304, with another one 200', async () => {
  const first = await reader.get('/event-types');
  const etag = first.headers.get('etag') ?? '';
  const hash = createHash('sha256').update(JSON.stringify(first.body.items)).digest('hex');
  assert.equal(etag, `"event-types-${hash}"`);
  for (const header of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = await reader.get('/event-types', { 'if-none-match': header });
    assert.deepEqual([again.status, again.body, again.headers.get('etag')], [304, '', etag], header);
  }
  const other = await reader.get('/event-types', { 'if-none-match': '"event-types-0"' });
  assert.deepEqual([other.status, other.body], [200, first.body]);
});

test('it requires events.read and accepts no query parameters', async () => {
  const other = await baton.actor({ permissions: ['tasks.read'] });
  const refused = await other.get('/event-types');
  assert.deepEqual([refused.status, refused.body.error.code], [403, 'permission_denied']);
  assert.deepEqual(refused.body.error.details, { required: ['events.read'] });
  const query = await reader.get('/event-types?limit=5');
  assert.deepEqual([query.status, query.body.error.code], [400, 'invalid_request']);
});

test('payloads of the journal match their published schemas, which allow fields that are added later', async () => {
  const { admin } = baton;
  const task = (await admin.post('/tasks', { title: 'publish' })).body;
  await admin.patch(
    `/tasks/${task.id}`,
    { dueDate: '2030-01-01', priority: 'high' },
    { 'if-match': `"task-${task.version}"` },
  );
  await admin.post('/goals', { title: 'all', desiredState: 'everything is published' });
  await admin.post('/workspaces', { slug: `w-${newId()}`, name: 'here' });
  await journalIsStable(baton.pool);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const schemas = new Map((await list()).map((item) => [item.type, ajv.compile(item.payloadSchema)]));
  const { items } = (await reader.get('/events?limit=200')).body;
  const seen = new Set<string>();
  for (const { type, payload } of items) {
    const fits = schemas.get(type);
    assert.ok(fits !== undefined, type);
    assert.ok(fits(payload), `${type}: ${JSON.stringify(fits.errors)}`);
    assert.ok(fits({ ...(payload as object), addedLater: { deep: true } }), type);
    seen.add(type);
  }
  assert.ok(seen.has('task.created') && seen.has('task.updated'), [...seen].join());
  assert.equal(schemas.get('task.created')?.({ publicId: 'T-1' }), false);
});

test('a schema contains all schemas that it refers to', async () => {
  for (const { type, payloadSchema } of await list()) {
    const text = JSON.stringify(payloadSchema);
    const named = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference ?? '');
    const defined = new Set(Object.keys(payloadSchema['$defs'] ?? {}));
    for (const reference of named)
      assert.ok(defined.has(reference.replace('#/$defs/', '')), `${type}: ${reference}`);
  }
});
