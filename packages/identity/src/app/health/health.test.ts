import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess } from '@baton/testing/depth';
import { startIdentity, testSigningKey } from '../../testing/identity.ts';

test('/readyz reports a database that hangs within seconds, and /healthz does not check it', async (t) => {
  const identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
  t.after(() => identity.close());
  const ready = () => identity.request('GET', '/readyz');
  assert.equal((await ready()).status, 200);
  await identity.pool.transaction(async (db) => {
    await db.run(sql`lock table schema_migrations in access exclusive mode`);
    const began = performance.now();
    const { status, body, headers } = await ready();
    assert.deepEqual([status, body], [503, { detail: 'unavailable', database: false, signingKey: true }]);
    assert.equal(headers.get('retry-after'), '1');
    assertTookLess(began, 5000);
    assert.equal((await identity.request('GET', '/healthz')).status, 200);
  });
  assert.equal((await ready()).status, 200);
});
