import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type Statement, sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { findContents } from '../audit-chain/seals.sql.ts';
import { type AuditMatch, findAudits } from './audit-records.sql.ts';

/** Most records are exchanges of the busy tenant; those of the quiet tenant are scattered among them. */
const [busy, quiet] = [randomUUID(), randomUUID()];
const exchange = 'platform_access_tokens.exchange';
const token = 'platform_access_token';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
  await identity.pool.run(sql`
    insert into audit_records (tenant_id, action, actor_ref, resource_type, resource_id, outcome, request_id)
    select case when n % 100 = 0 then ${quiet}::uuid else ${busy}::uuid end,
      case when n % 500 = 1 then 'groups.create' else ${exchange} end, 'actor-' || n % 200,
      case when n % 500 = 1 then 'group' else ${token} end, md5((n % 300)::text)::uuid,
      case when n % 400 = 1 then 'denied' else 'allowed' end, 'request-' || n
    from generate_series(1, 19000) n`);
  await identity.pool.run(sql`analyze audit_records`);
});
after(() => identity.close());

async function indexesOf({ text, values }: Statement<unknown>): Promise<string[]> {
  const rows = await identity.pool.rows<{ 'QUERY PLAN': string }>({ text: `explain ${text}`, values });
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  return [...plan.matchAll(/ (?:using|Bitmap Index Scan on) (\w+)/g)].map(([, index]) => index as string);
}

describe('reading goes by an index of its own', () => {
  const resource_id = '00000000-0000-4000-8000-000000000000';
  for (const [match, index] of [
    [{}, 'audit_records_of_tenant'],
    [{ action: exchange }, 'audit_records_of_tenant'],
    [{ action: 'groups.create' }, 'audit_records_by_action'],
    [{ resource_type: token }, 'audit_records_of_tenant'],
    [{ resource_type: 'group' }, 'audit_records_by_resource_type'],
    [{ actor_ref: 'actor-7' }, 'audit_records_by_actor'],
    [{ resource_id }, 'audit_records_by_resource'],
    [{ request_id: 'request-7' }, 'audit_records_by_request'],
    [{ outcome: 'allowed' }, 'audit_records_of_tenant'],
    [{ outcome: 'denied' }, 'audit_records_denied'],
  ] as [AuditMatch, string][])
    test(`a tenant's records by ${Object.entries(match).join() || 'nothing else'}`, async () => {
      for (const tenant_id of [busy, quiet])
        for (const order of ['asc', 'desc'] as const) {
          const bounds = { from: undefined, to: undefined, above: 100, below: 1e9, rowsMax: 101 };
          const found = await indexesOf(findAudits({ match: { tenant_id, ...match }, ...bounds, order }));
          assert.deepEqual(found, [index], `${order} ${tenant_id === busy ? 'busy' : 'quiet'}`);
        }
    });

  test('the records of a link, however far they lie apart', async () => {
    for (const tenant_id of [busy, quiet]) {
      const range = { tenant_id, after: 0, through: 19_000, records: 256 };
      assert.deepEqual(await indexesOf(findContents([range])), ['audit_records_of_tenant']);
    }
  });
});
