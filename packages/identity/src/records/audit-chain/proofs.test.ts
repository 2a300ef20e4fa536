import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Statement, sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { makeTenant } from '../../testing/objects.ts';
import { until } from '../../testing/waiting.ts';
import { auditCommand, makeKey, tamper } from './testing/records.ts';

/** Tests attacks by the owner of the database while identity runs and seals. */

async function started(): Promise<{ identity: TestIdentity; env: Record<string, string> }> {
  const keys = await makeKey();
  const identity = await startIdentity({ IAM_AUDIT_KEY_FILE: keys.file });
  return { identity, env: { IAM_DATABASE_URL: identity.databaseUrl, IAM_AUDIT_KEY_FILE: keys.file } };
}

let identity: TestIdentity;
let env: Record<string, string>;
before(async () => {
  ({ identity, env } = await started());
});
after(() => identity.close());

const verify = (tenantId: string) => auditCommand(['verify', '--tenant', tenantId], env);

async function untilSealed(tenantId: string): Promise<void> {
  await until(async () => {
    const row = await identity.pool.row<{ is_sealed: boolean }>(sql`
      select max(sequence) <= (select max(last_sequence) from audit_seals where tenant_id = ${tenantId}) as is_sealed
      from audit_records where tenant_id = ${tenantId}`);
    return row?.is_sealed === true;
  }, 'the records are sealed');
}

const columns = 'tenant_id, action, actor_ref, resource_type, resource_id, outcome, reason, request_id';

// These tests run in parallel, because each waits twice for the sealer, which runs once a second.
describe('a record that no process with the key wrote', { concurrency: true }, () => {
  for (const [what, statement, problem] of [
    [
      'with a time months ago',
      (tenantId) => sql`
        insert into audit_records (tenant_id, action, actor_ref, resource_type, resource_id, outcome, request_id, occurred_at)
        values (${tenantId}, 'tenants.update', 'bootstrap', 'tenant', ${tenantId}, 'allowed', 'r', now() - interval '90 days')`,
      /record \d+ \(2\d{3}-.*Z\) has no HMAC/,
    ],
    [
      'with the HMAC of another record',
      (tenantId) => ({
        text: `insert into audit_records (${columns}, written_at, mac)
          select ${columns.replace('reason', `'another'`)}, written_at, mac
          from audit_records where tenant_id = $1 limit 1`,
        values: [tenantId],
      }),
      /record \d+ \(2.*Z\) is not as a process with one of these keys wrote it/,
    ],
    [
      'that is a copy of a genuine one',
      (tenantId) => ({
        text: `insert into audit_records (id, ${columns}, written_at, mac)
          select id, ${columns}, written_at, mac from audit_records where tenant_id = $1 limit 1`,
        values: [tenantId],
      }),
      /record \d+ \(2.*Z\) is a copy of another one/,
    ],
    [
      'that is genuine and moved in time',
      (tenantId) => ({
        text: `with removed as (delete from audit_records where tenant_id = $1 returning *)
          insert into audit_records (id, ${columns}, written_at, mac, occurred_at)
          select id, ${columns}, written_at, mac, occurred_at - interval '10 minutes' from removed`,
        values: [tenantId],
      }),
      /record \d+ \(2.*Z\) was written at another time, 2.*Z/,
    ],
  ] as [string, (tenantId: string) => Statement<unknown>, RegExp][])
    test(`${what} is sealed, and found`, async () => {
      const tenantId = await makeTenant(identity);
      await untilSealed(tenantId);
      assert.equal((await verify(tenantId)).code, 0);
      assert.ok((await tamper(identity.pool, statement(tenantId))) > 0);
      await untilSealed(tenantId);
      const { code, out } = await verify(tenantId);
      assert.equal(code, 1, out);
      assert.match(out, problem);
    });
});
