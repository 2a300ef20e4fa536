import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { longTest } from '@baton/testing/depth';
import { startIdentity, type TestIdentity } from '../../../testing/identity.ts';
import { makeProvisioning, type Provisioning } from '../../../testing/provisioning.ts';

/**
 * A restore computes the generated columns of every row again, in a session with the server's own settings. PostgreSQL
 * once compiled the statement in `scim_search` for each row, which took 0.5 to 1 s each.
 */

let identity: TestIdentity;
let source: Provisioning;
let isJitAvailable: boolean | undefined;
before(async () => {
  identity = await startIdentity();
  source = await makeProvisioning(identity);
  // The service's own sessions have JIT compilation off, so it is turned on for this query.
  isJitAvailable = await identity.pool.transaction(async (tx) => {
    await tx.run(sql`set local jit = on`);
    return (await tx.row(sql<{ is_available: boolean }>`select pg_jit_available() as is_available`))
      ?.is_available;
  });
});
after(() => identity.close());

const users = 300;

/** Milliseconds to write the users in one transaction, which is rolled back. */
async function timeUsers(jit: 'on' | 'off'): Promise<number> {
  let ms = 0;
  const undone = new Error('undone');
  await identity.pool
    .transaction(async (tx) => {
      await tx.run(sql`set local session_replication_role = replica`);
      await tx.run(sql`select set_config('jit', ${jit}, true), set_config('jit_above_cost', '0', true)`);
      const started = performance.now();
      await tx.run(sql`
        insert into scim_users (
          id, provisioning_source_id, tenant_id, principal_id, external_identity_id, user_name, active, document)
        select gen_random_uuid(), ${source.sourceId}, ${source.tenantId}, gen_random_uuid(), gen_random_uuid(),
          'user-' || n, true, jsonb_build_object('title', 'Title ' || n, 'emails', jsonb_build_array(
            jsonb_build_object('type', 'work', 'value', 'user-' || n || '@example.com')))
        from generate_series(1, ${users}::integer) n`);
      ms = performance.now() - started;
      throw undone;
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error;
    });
  return ms;
}

describe('the generated columns', () => {
  test('are computed by functions that PostgreSQL does not compile for each row', async () => {
    const compiled = await identity.pool.rows(sql<{ name: string }>`
      select distinct p.proname as name
      from pg_attrdef d
      join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum and a.attgenerated <> ''
      join pg_depend on pg_depend.classid = 'pg_attrdef'::regclass and pg_depend.objid = d.oid
        and pg_depend.refclassid = 'pg_proc'::regclass
      join pg_proc p on p.oid = pg_depend.refobjid
      where not coalesce(p.proconfig, '{}') @> '{jit=off}'`);
    assert.deepEqual(compiled, []);
  });

  longTest('of several hundred SCIM users take no longer to restore where compiling is on', async (t) => {
    if (isJitAvailable !== true) return t.skip('this PostgreSQL is built without a compiler (JIT)');
    const off = await timeUsers('off');
    const on = await timeUsers('on');
    // Some extra time is allowed, because the outer statement may be compiled once.
    assert.ok(on < 3 * off + 2000, `${Math.round(on)} ms with JIT, ${Math.round(off)} ms without`);
  });
});
