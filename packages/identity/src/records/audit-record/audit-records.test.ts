import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeBearer, makePrincipal, makeTenant } from '../../testing/objects.ts';
import type { AuditRow } from './audit-record.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

interface AuditPage {
  items: AuditRow[];
  next_after: number | null;
}

const read = (query: string): Promise<AuditPage> => made(identity.get(`/audit?${query}`));

async function headOfRecord(): Promise<number> {
  return (await read('order=desc&limit=1')).items[0]?.sequence ?? 0;
}

describe('GET /audit', () => {
  test('serves the records of all tenants in the order of their sequence, in pages', async () => {
    const start = await headOfRecord();
    const tenants = [await makeTenant(identity), await makeTenant(identity)];
    for (const tenantId of tenants) await makePrincipal(identity, tenantId);
    const { items, next_after } = await read(`after=${start}`);
    assert.equal(next_after, null);
    assert.deepEqual(Object.keys(items[0] ?? {}), [
      'sequence',
      'id',
      'tenant_id',
      'action',
      'actor_ref',
      'resource_type',
      'resource_id',
      'outcome',
      'reason',
      'request_id',
      'occurred_at',
    ]);
    assert.deepEqual(
      items.map(({ tenant_id, action }) => [tenant_id, action]),
      [
        [tenants[0], 'tenants.create'],
        [tenants[1], 'tenants.create'],
        [tenants[0], 'principals.create'],
        [tenants[1], 'principals.create'],
      ],
    );
    const first = await read(`after=${start}&limit=3`);
    assert.deepEqual(first, { items: items.slice(0, 3), next_after: items[2]?.sequence });
    assert.deepEqual(await read(`after=${first.next_after}&limit=3`), {
      items: items.slice(3),
      next_after: null,
    });
    assert.deepEqual(await read(`after=${items[3]?.sequence}`), { items: [], next_after: null });

    const newest = await read('order=desc&limit=2');
    assert.deepEqual(newest, { items: items.slice(2).reverse(), next_after: items[2]?.sequence });
    const older = await read(`order=desc&limit=2&after=${newest.next_after}`);
    assert.deepEqual(older.items, items.slice(0, 2).reverse());
    assert.equal(
      (await read(`order=desc&after=${items[0]?.sequence}&tenantId=${tenants[0]}`)).next_after,
      null,
    );
  });

  test('is narrowed by each filter and by several', async () => {
    const { tenantId, principalId, token, credential } = await makeBearer(identity);
    const exchange = (audience: string, requestId: string) =>
      identity.request('POST', '/api/v1/platform-access-tokens:exchange', {
        body: { token, audience },
        headers: { 'x-request-id': requestId },
      });
    const requestId = `r-${randomUUID()}`;
    await made(exchange('control-plane', requestId));
    assert.equal((await exchange('other', `r-${randomUUID()}`)).status, 403);
    await makeTenant(identity);
    const all = (await read(`tenantId=${tenantId}`)).items;
    assert.equal(all.length, 6);
    for (const [query, matches] of [
      [
        'action=platform_access_tokens.exchange',
        ({ action }) => action === 'platform_access_tokens.exchange',
      ],
      ['action=audiences.create', ({ action }) => action === 'audiences.create'],
      [`actor=${principalId}`, ({ actor_ref }) => actor_ref === principalId],
      ['actor=bootstrap&limit=2', ({ actor_ref }) => actor_ref === 'bootstrap'],
      ['resourceType=platform_access_token', (row) => row.resource_type === 'platform_access_token'],
      ['resourceType=audience', (row) => row.resource_type === 'audience'],
      [`resourceId=${credential.id}`, ({ resource_id }) => resource_id === credential.id],
      ['outcome=denied', ({ outcome }) => outcome === 'denied'],
      ['outcome=allowed', ({ outcome }) => outcome === 'allowed'],
      [`requestId=${requestId}`, ({ request_id }) => request_id === requestId],
      [
        `actor=${principalId}&outcome=denied`,
        (row) => row.actor_ref === principalId && row.outcome === 'denied',
      ],
    ] as [string, (row: AuditRow) => boolean][]) {
      const expected = all.filter(matches);
      assert.ok(expected.length > 0, query);
      const { items } = await read(`tenantId=${tenantId}&${query}`);
      assert.deepEqual(items, expected.slice(0, query.includes('limit=2') ? 2 : undefined), query);
      const back = await read(`tenantId=${tenantId}&order=desc&${query.replace('&limit=2', '')}`);
      assert.deepEqual(back.items, expected.reverse(), query);
    }
    assert.deepEqual((await read(`requestId=${requestId}`)).items.length, 1);
    assert.deepEqual((await read(`tenantId=${tenantId}&action=unknown`)).items, []);
  });

  test('from and to name the first and the last instant', async () => {
    const tenantId = await makeTenant(identity);
    await identity.pool.run(sql`
      insert into audit_records (tenant_id, action, actor_ref, resource_type, resource_id, outcome, request_id, occurred_at)
      select ${tenantId}, 'n.' || n, 'a', 'r', gen_random_uuid(), 'allowed', 'q',
        timestamptz '2001-01-01' + n * interval '1 hour' + ((n * 37) % 50) * interval '1 second'
      from generate_series(1, 400) n order by n`);
    const { items } = await read(`tenantId=${tenantId}&limit=500`);
    const times = items.map(({ occurred_at }) => occurred_at);
    for (const [from, to] of [
      [undefined, times[300]],
      [times[3], undefined],
      [times[17], times[17]],
      [times[100], times[250]],
      ['2001-01-05T10:30:00+02:00', '2001-01-05T20:30:00Z'],
      ['2001-01-09', '2001-01-08'],
      ['1999-01-01', '2000-01-01'],
      ['2999-01-01', undefined],
    ]) {
      const query = [from && `from=${encodeURIComponent(from)}`, to && `to=${encodeURIComponent(to)}`];
      const [first, last] = [Date.parse(from ?? '1970-01-01'), Date.parse(to ?? '2999-12-31')];
      const expected = items.filter(({ occurred_at }) => {
        const time = Date.parse(occurred_at);
        return time >= first && time <= last;
      });
      for (const order of ['asc', 'desc']) {
        const found = await read(
          `tenantId=${tenantId}&limit=500&order=${order}&${query.filter(Boolean).join('&')}`,
        );
        assert.deepEqual(
          found.items,
          order === 'asc' ? expected : expected.toReversed(),
          `${from} ${to} ${order} ${items.length}`,
        );
      }
    }
  });

  test('every filter has its form', async () => {
    for (const query of [
      'after=-1',
      'after=x',
      'limit=0',
      'limit=501',
      'tenantId=x',
      'resourceId=x',
      'outcome=maybe',
      'order=up',
      'from=yesterday',
      'to=2026-02-30',
      `actor=${'x'.repeat(201)}`,
      'unknown=1',
    ])
      assert.equal((await identity.get(`/audit?${query}`)).status, 422, query);
    assert.equal((await identity.get('/audit?limit=500&after=0')).status, 200);
    assert.equal((await identity.request('GET', '/api/v1/audit')).status, 401);
  });
});
