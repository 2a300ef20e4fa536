import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startDatabaseProxy } from '@baton/kernel/testing/database/database-proxy';
import { byDepth } from '@baton/testing/depth';
import { adminHeader, startIdentity } from '../testing/identity.ts';

test('40 requests on silent connections get 503 in 9 s, and 40 new ones succeed in 5 s of the return', async (t) => {
  const identity = await startIdentity();
  const proxy = await startDatabaseProxy(identity.databaseUrl);
  const service = await identity.another({ IAM_DATABASE_URL: proxy.url });
  t.after(async () => {
    await service.close();
    await proxy.cut();
    await identity.close();
  });
  const forty = (msMax: number) =>
    Promise.all(
      Array.from({ length: 40 }, async () => {
        const response = await fetch(`${service.url}/api/v1/tenants`, {
          headers: adminHeader,
          signal: AbortSignal.timeout(byDepth(60_000, msMax)),
        });
        await response.text();
        return response.status;
      }),
    );
  assert.deepEqual(new Set(await forty(9000)), new Set([200]));
  proxy.silence();
  assert.deepEqual(new Set(await forty(9000)), new Set([503]));
  proxy.speak();
  const returnedAt = performance.now();
  while (performance.now() - returnedAt < byDepth(60_000, 5000))
    if ((await forty(5000)).every((status) => status === 200)) return;
  assert.fail('not within 5 s of the return');
});
