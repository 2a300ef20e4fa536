import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess } from '@baton/testing/depth';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { makePrincipal, makeTenant } from '../../testing/objects.ts';
import { until } from '../../testing/waiting.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

async function makeVictim() {
  const tenantId = await makeTenant(identity);
  const principalId = await makePrincipal(identity, tenantId);
  return {
    principalId,
    disable: () => identity.post(`/tenants/${tenantId}/principals/${principalId}:disable`),
  };
}

const entering = (principalId: string) =>
  sql<{ status: string }>`select enter_principal(${principalId}) as status`;

test('a disable ends the connection of a stalled command of its principal', async () => {
  const { principalId, disable } = await makeVictim();
  const began = performance.now();
  const stuck = identity.pool.transaction(async (tx) => {
    await tx.row(entering(principalId));
    const { status } = await disable();
    assert.equal(status, 200);
    assertTookLess(began, 5000);
    return tx.row(entering(principalId));
  });
  await assert.rejects(stuck, /terminat|connection error/);
});

test('a disable waits for another one that is at work', async () => {
  const { principalId, disable } = await makeVictim();
  const answer = await identity.pool.transaction(async (tx) => {
    await tx.run(sql`select take_principal_lock(${principalId})`);
    const second = disable();
    // Longer than the timeout after which a stalled holder loses the lock.
    await tx.run(sql`select pg_sleep(1.5)`);
    return { second };
  });
  assert.equal((await answer.second).status, 200);
});

test('who comes after a waiting disable sees the principal disabled', async () => {
  const { principalId, disable } = await makeVictim();
  const waits = async () => {
    const row = await identity.pool.row<{ count: number }>(
      sql`
        select count(*) as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'advisory'`,
    );
    return (row?.count ?? 0) > 0;
  };
  const [disabled, later] = await identity.pool
    .transaction(async (tx) => {
      await tx.row(entering(principalId));
      const asked = disable();
      await until(waits, 'the disable waits');
      return [asked, identity.pool.row(entering(principalId))] as const;
    })
    .then((both) => Promise.all(both));
  assert.equal(disabled.status, 200);
  assert.equal(later?.status, 'disabled');
});

test('a disable does not wait in the line of the other writes of its tenant', async () => {
  const tenantId = await makeTenant(identity);
  const principalId = await makePrincipal(identity, tenantId);
  const writes = await identity.pool.transaction(async (tx) => {
    await tx.row(sql`select id from tenants where id = ${tenantId} for no key update`);
    const waiting = Array.from({ length: 40 }, () => identity.patch(`/tenants/${tenantId}`, { name: 'New' }));
    const isUnderWay = async () => {
      // Uses a connection other than `tx`, because a transaction reads pg_stat_activity only once.
      const row = await identity.pool.row<{ count: number }>(
        sql`
          select count(*) as count from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return (row?.count ?? 0) >= 10;
    };
    await until(isUnderWay, 'the writes wait');
    const { status } = await identity.post(`/tenants/${tenantId}/principals/${principalId}:disable`);
    assert.equal(status, 200);
    return waiting;
  });
  for (const { status } of await Promise.all(writes)) assert.ok([200, 503].includes(status), String(status));
});
