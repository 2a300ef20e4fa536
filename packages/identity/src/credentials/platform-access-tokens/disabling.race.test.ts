import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { makeBearer } from '../../testing/objects.ts';
import { actAmid } from '../../testing/traffic.ts';
import { until } from '../../testing/waiting.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

test('a disable wins against 200 parallel requests for tokens of the principal, and leaves no live token', async () => {
  const { tenantId, principalId } = await makeBearer(identity);
  const path = `/tenants/${tenantId}/principals/${principalId}`;
  const wanted = { name: 'x', audiences: ['control-plane'] };
  // Disables through another process: otherwise the test would measure how long the busy process waits for a
  // connection.
  const quiet = await identity.another();
  await actAmid(quiet, {
    request: () =>
      identity.post(`${path}/platform-access-tokens`, wanted, { 'idempotency-key': randomUUID() }),
    act: () => quiet.post(`${path}:disable`),
  });
  const live = async () => {
    const row = await identity.pool.row<{ live: number }>(sql`
      select count(*) as live from platform_access_tokens
      where principal_id = ${principalId} and revoked_at is null`);
    return row?.live;
  };
  // The first 100 tokens are revoked at once, the others in the background.
  await until(async () => (await live()) === 0, 'every token is revoked');
});
