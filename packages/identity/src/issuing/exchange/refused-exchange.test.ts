import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { makeBearer, makeServiceAccount } from '../../testing/objects.ts';
import { storeCounts } from '../../testing/records.ts';

// Signing and recording happen concurrently: neither may become visible without the other.

const audience = 'control-plane';
let identity: TestIdentity;
let exchanges: readonly (readonly [path: string, body: object])[];
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey(), IAM_SIGNING_QUEUE_MAX: '1' });
  const { tenantId, token } = await makeBearer(identity);
  const { clientId, clientSecret } = await makeServiceAccount(identity, tenantId);
  exchanges = [
    ['platform-access-tokens:exchange', { token, audience }],
    ['tokens/exchange', { clientId, clientSecret, audience }],
  ];
});
after(() => identity.close());

const ask = ([path, body]: (typeof exchanges)[number]) =>
  identity.request('POST', `/api/v1/${path}`, { body });

/**
 * Repeats the request while the queue is full, because the signature of a failed exchange may still be in progress and
 * occupy the queue's only place.
 */
async function askInTurn(exchange: (typeof exchanges)[number]) {
  let answer = await ask(exchange);
  for (let n = 0; n < 200 && answer.status === 503; n += 1) answer = await ask(exchange);
  return answer;
}

async function countAudits(): Promise<number> {
  const { audits } = (await storeCounts(identity)) as { audits: number };
  return audits;
}

test('an exchange that finds the queue of signatures full is not recorded', async () => {
  const before = await countAudits();
  const asked = Array.from({ length: 15 }, () => exchanges).flat();
  const answers = await Promise.all(asked.map(ask));
  const served = answers.filter(({ status }) => status === 200).length;
  assert.ok(served > 0 && served < answers.length, `${served} served`);
  for (const { status, body } of answers)
    if (status !== 200) assert.deepEqual([status, body], [503, { detail: 'unavailable' }]);
  assert.equal((await countAudits()) - before, served);
});

test('an exchange whose record cannot be written gives no token', async (t) => {
  const { pool } = identity;
  await pool.run(sql`create function refuse_record() returns trigger language plpgsql as
    $$ begin raise exception 'the record is full'; end $$`);
  await pool.run(sql`create trigger refuse_record before insert on audit_records
    for each row execute function refuse_record()`);
  t.after(() => pool.run(sql`drop function if exists refuse_record cascade`));
  for (const exchange of exchanges) {
    const { status, body } = await askInTurn(exchange);
    assert.deepEqual([status, body], [500, { detail: 'Internal Server Error' }]);
  }
  await pool.run(sql`drop function refuse_record cascade`);
  for (const exchange of exchanges) assert.equal((await askInTurn(exchange)).status, 200);
});
