import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { encodeCursor, type JournalPosition, parseCursor } from '../../ledger/journal/cursor.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import { openResumingStream } from '../../testing/stream/resuming-stream.ts';
import { until } from '../../testing/wait-until.ts';

let baton: TestCoordination;
let reader: Actor;

before(async () => {
  baton = await startCoordination({ CP_WS_POLL_INTERVAL_SECONDS: '1' });
  reader = await baton.actor({ permissions: ['events.read'] });
});
after(() => baton.close());

async function endCursor(): Promise<string> {
  await journalIsStable(baton.pool);
  return (await reader.get('/events?tail=1')).body.nextCursor;
}

const write = (count: number) =>
  writeEvents(
    baton.pool,
    baton.tenantId,
    Array.from({ length: count }, () => ({})),
  );

test('a client that resumes by its cursor gets each event once and in order, even though processes end', async () => {
  const ids: string[] = [];
  let service = await baton.another();
  const client = openResumingStream({
    url: () => service.url,
    token: () => reader.token,
    after: await endCursor(),
    received: ({ id }) => ids.push(id),
  });
  const expected: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    expected.push(...(await write(250)));
    // One event of this round proves that the client is connected to the process that ends next.
    await until(() => ids.length > expected.length - 250);
    const next = await baton.another();
    await service.close();
    service = next;
    expected.push(...(await write(3)));
  }
  await until(() => ids.length >= expected.length);
  assert.deepEqual(ids, expected);
  assert.equal(client.opened.get(1001), 3);
  await client.close();
  await service.close();
});

test('a client uses a new token after its own has expired, and fails after its right is lost', async () => {
  const service = await baton.another({ CP_IAM_BINDING_CACHE_TTL_SECONDS: '0' });
  const actor = await baton.actor({ permissions: ['events.read'] });
  const expired = await baton.issuer.sign(
    { sub: actor.iamPrincipalId, tenant_id: actor.tenantId, scope: ['control-plane:read'] },
    { lifeSeconds: -60 },
  );
  const tokens = [expired, actor.token];
  const ids: string[] = [];
  const client = openResumingStream({
    url: () => service.url,
    token: () => tokens.shift() ?? actor.token,
    after: await endCursor(),
    received: ({ id }) => ids.push(id),
  });
  const expected = await write(2);
  await until(() => ids.length === 2);
  assert.deepEqual(ids, expected);
  await baton.pool.run(sql`
    update iam_bindings set permissions = '{tasks.read}' where principal_id = ${actor.principalId}`);
  await assert.rejects(client.failed, /4403 permission_denied/);
  await client.close();
  await service.close();
});

test('with a cursor of another history a client continues from the point where the histories diverge', async () => {
  const kept = await endCursor();
  const expected = await write(1);
  const { position, sequence } = parseCursor(await endCursor()) as JournalPosition;
  const lost = encodeCursor({ position, sequence: sequence + 1000 });
  const ids: string[] = [];
  const client = openResumingStream({
    url: () => baton.url,
    token: () => reader.token,
    after: lost,
    received: ({ id }) => ids.push(id),
  });
  expected.push(...(await write(2)));
  await until(() => ids.length >= 2);
  assert.deepEqual(ids, expected.slice(-2));
  assert.equal(client.opened.get(4400), 1);
  assert.notEqual(client.cursor, kept);
  await client.close();
});
