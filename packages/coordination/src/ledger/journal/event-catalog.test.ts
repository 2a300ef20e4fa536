import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpoints } from '../../app/endpoints.ts';
import { readEventCatalog } from '../../testing/event-catalog.ts';

test('every type of event is declared once, in the file of its feature', async () => {
  const catalog = await readEventCatalog();
  const types = catalog.map(({ type }) => type);
  assert.ok(types.length > 10);
  assert.deepEqual(
    types.filter((type, index) => types.indexOf(type) !== index),
    [],
  );
  const declared = new Set(catalog);
  for (const { method, path, emits } of endpoints)
    for (const event of emits)
      assert.ok(declared.has(event), `${method} ${path} emits ${event.type} of its own`);
});

test('types are lower-case words with dots, which every filter by prefix can name', async () => {
  for (const { type } of await readEventCatalog())
    assert.match(type, /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/);
});
