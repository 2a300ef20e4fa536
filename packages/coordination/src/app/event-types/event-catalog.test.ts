import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import { sql } from '@baton/kernel/database/sql';
import { defineEvent } from '@baton/kernel/http/service';
import { createLog } from '@baton/kernel/process/log';
import { emit } from '../../ledger/journal/journal.ts';
import { findUndeclaredEvents, readEventDeclarations } from '../../testing/app/event-catalog.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { writeEvents } from '../../testing/ledger/journal-writer.ts';
import { openBackground } from '../background.ts';
import { endpoints } from '../endpoints.ts';
import { readCoordinationSettings } from '../settings.ts';
import { eventCatalog } from './event-catalog.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

test('the catalog has every event of every *.events.ts file, each type once', async () => {
  const declared = await readEventDeclarations();
  assert.ok(declared.length > 80, `${declared.length}`);
  const types = declared.map(({ type }) => type).toSorted();
  assert.deepEqual([...eventCatalog.keys()], types, 'add the file to app/event-types/event-catalog.ts');
  for (const event of declared) assert.equal(eventCatalog.get(event.type), event);
});

test('endpoints emit only events of the catalog', () => {
  for (const { method, path, emits } of endpoints)
    for (const event of emits)
      assert.equal(
        eventCatalog.get(event.type),
        event,
        `${method} ${path} emits ${event.type}, not in the catalog`,
      );
});

test('types are lower-case words with dots, which filters by prefix can match', () => {
  for (const type of eventCatalog.keys()) assert.match(type, /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/);
});

test('versions are integers from 1, and an entity is one lower-case word', () => {
  for (const { version, entity, type } of eventCatalog.values()) {
    assert.ok(Number.isSafeInteger(version) && version >= 1, type);
    assert.match(entity, /^[a-z][a-z_]*$/, type);
  }
});

/** Changes a row and writes an event, in one command of the worker. */
async function changeAnd(event: ReturnType<typeof defineEvent>, payload: object): Promise<string> {
  const log = createLog({ name: 'worker', level: 'silent' });
  const { tools, close } = await openBackground(readCoordinationSettings(baton.env), log, 'test-worker');
  try {
    await tools.command('catalog', baton.tenantId, async (context) => {
      await context.db.run(sql`update tenants set name = ${event.type} where id = ${baton.tenantId}`);
      emit(context, event, { entityId: baton.tenantId }, payload);
    });
    return 'written';
  } catch (error) {
    return (error as Error).message;
  } finally {
    await close();
  }
}

async function nameAndEvents() {
  const [tenant] = await baton.pool.rows<{ name: string }>(
    sql`select name from tenants where id = ${baton.tenantId}`,
  );
  const [events] = await baton.pool.rows<{ count: number }>(
    sql`select count(*) from events where entity_id = ${baton.tenantId}`,
  );
  return { name: tenant?.name, events: events?.count };
}

test('an event that is missing from the catalog writes nothing: neither the event nor its change', async () => {
  const before = await nameAndEvents();
  const unknown = defineEvent('tenant.forged', 'tenant', z.strictObject({}));
  assert.equal(await changeAnd(unknown, {}), 'tenant.forged is missing from the catalog of events');
  assert.deepEqual(await nameAndEvents(), before);
});

test("a changed declaration of a known type writes nothing either: the catalog's version is required", async () => {
  const before = await nameAndEvents();
  const older = defineEvent('workspace.updated', 'workspace', z.strictObject({}), 1);
  assert.equal(await changeAnd(older, {}), 'workspace.updated is missing from the catalog of events');
  assert.deepEqual(await nameAndEvents(), before);
});

test('the tests find stored events that differ from the catalog in type, version, entity or payload', async () => {
  const written = { request_id: 'another', type: 'run.succeeded', entity_type: 'run' };
  const payload = { taskId: baton.tenantId, attempt: 1, taskCompleted: true };
  const pool = baton.pool;
  await writeEvents(pool, baton.tenantId, [{ ...written, payload }]);
  assert.deepEqual(await findUndeclaredEvents(pool), []);
  const wrong = [
    { ...written, payload, type: 'run.forged' },
    { ...written, payload, schema_version: 2 },
    { ...written, payload, entity_type: 'task' },
    { ...written, payload: { ...payload, more: 1 } },
    { ...written, payload: { ...payload, attempt: 'first' } },
  ];
  for (const draft of wrong) {
    await pool.transaction(async (tx) => {
      await writeEvents(tx, baton.tenantId, [draft]);
      assert.equal((await findUndeclaredEvents(tx)).length, 1, JSON.stringify(draft));
      await tx.run(sql`rollback`);
      await tx.run(sql`begin`);
    });
  }
});
