import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { makePrincipal, makeTenant } from '../../testing/objects.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

interface JournalEvent {
  sequence: number;
  tenant_id: string;
  type: string;
}

async function readAfter(
  after: number,
  query = '',
): Promise<{ items: JournalEvent[]; next_after: number | null }> {
  return (await identity.get(`/events?after=${after}${query}`)).body;
}

async function headOfJournal(): Promise<number> {
  const row = await identity.pool.row<{ head: number }>(
    sql`select coalesce(max(sequence), 0) as head from events`,
  );
  return row?.head ?? 0;
}

describe('GET /events', () => {
  test('serves events of all tenants in the order of their sequence, in pages', async () => {
    const start = await headOfJournal();
    const tenants = [await makeTenant(identity), await makeTenant(identity)];
    for (const tenantId of tenants) await makePrincipal(identity, tenantId);
    const { items, next_after } = await readAfter(start);
    assert.equal(next_after, null);
    assert.deepEqual(Object.keys(items[0] ?? {}), [
      'sequence',
      'id',
      'tenant_id',
      'type',
      'aggregate_type',
      'aggregate_id',
      'payload',
      'occurred_at',
    ]);
    assert.deepEqual(
      items.map(({ tenant_id, type }) => [tenant_id, type]),
      [
        [tenants[0], 'tenant.created'],
        [tenants[1], 'tenant.created'],
        [tenants[0], 'principal.created'],
        [tenants[1], 'principal.created'],
      ],
    );
    const first = await readAfter(start, '&limit=3');
    assert.deepEqual(first, { items: items.slice(0, 3), next_after: items[2]?.sequence });
    assert.deepEqual(await readAfter(first.next_after, '&limit=3'), {
      items: items.slice(3),
      next_after: null,
    });
    const exact = await readAfter(start, '&limit=4');
    assert.deepEqual([exact.items.length, exact.next_after], [4, null]);
    assert.deepEqual(await readAfter(items[3]?.sequence as number), { items: [], next_after: null });
  });

  test('is narrowed to a tenant and a type', async () => {
    const tenantId = await makeTenant(identity);
    await makePrincipal(identity, tenantId);
    await makeTenant(identity);
    const types = async (query: string) => (await readAfter(0, query)).items.map(({ type }) => type);
    assert.deepEqual(await types(`&tenantId=${tenantId}`), ['tenant.created', 'principal.created']);
    assert.deepEqual(await types(`&tenantId=${tenantId}&type=principal.created`), ['principal.created']);
    assert.deepEqual(await types('&type=unknown'), []);
  });

  test('Journal-Read-To moves on for a reader of a tenant without events', async () => {
    const [quiet, busy] = [await makeTenant(identity), await makeTenant(identity)];
    const read = async (query: string) => {
      const { status, body, headers } = await identity.get(`/events?tenantId=${quiet}${query}`);
      assert.equal(status, 200);
      return { items: body.items, readTo: Number(headers.get('journal-read-to')) };
    };
    const head = async () => (await readAfter(0, `&tenantId=${busy}&limit=500`)).items.at(-1)?.sequence ?? 0;
    const first = await read('&after=0');
    assert.deepEqual([first.items.length, first.readTo], [1, await head()]);
    for (let n = 0; n < 3; n += 1) await makePrincipal(identity, busy);
    const second = await read(`&after=${first.readTo}`);
    assert.deepEqual([second.items, second.readTo], [[], await head()]);
    await makePrincipal(identity, quiet);
    await makePrincipal(identity, quiet);
    const page = await read(`&after=${second.readTo}&limit=1`);
    assert.deepEqual([page.items.length, page.items[0].sequence], [1, page.readTo]);
    assert.equal((await read(`&after=${page.readTo}`)).items.length, 1);
  });

  test('after and limit have their ranges', async () => {
    for (const query of ['after=-1', 'after=x', 'limit=0', 'limit=501', 'limit=1.5', 'tenantId=x'])
      assert.equal((await identity.get(`/events?${query}`)).status, 422, query);
    for (const query of ['', 'after=0', 'limit=500', 'limit=1'])
      assert.equal((await identity.get(`/events?${query}`)).status, 200, query);
  });
});

describe('the journal and the audit log', () => {
  test('refuse every change of what was written', async () => {
    await makeTenant(identity);
    for (const table of ['events', 'audit_records'])
      for (const text of [
        `update ${table} set occurred_at = now()`,
        `delete from ${table}`,
        `truncate ${table}`,
        `truncate ${table} cascade`,
      ])
        await assert.rejects(identity.pool.run({ text, values: [] }), /append-only/, text);
  });

  test('are written with the change or not at all', async () => {
    const before = await headOfJournal();
    const refuseAudit = `create function no_audit() returns trigger language plpgsql as $$
      begin raise exception 'no audit today'; end $$`;
    await identity.pool.run({ text: refuseAudit, values: [] });
    await identity.pool.run({
      text: 'create trigger no_audit before insert on audit_records for each statement execute function no_audit()',
      values: [],
    });
    const slug = `t-${randomUUID()}`;
    const { status, body } = await identity.post('/tenants', { slug, name: 'x' });
    assert.deepEqual([status, body], [500, { detail: 'Internal Server Error' }]);
    await identity.pool.run({ text: 'drop trigger no_audit on audit_records', values: [] });
    assert.equal(await headOfJournal(), before);
    assert.equal((await identity.post('/tenants', { slug, name: 'x' })).status, 201);
  });
});
