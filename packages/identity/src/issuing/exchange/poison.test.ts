import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { startIdentity, testSigningKey } from '../../testing/identity.ts';
import { makeBearer } from '../../testing/objects.ts';
import { auditOf } from '../../testing/records.ts';
import { until } from '../../testing/waiting.ts';
import { SharedStatement } from '../shared-statement.ts';

test('an exchange whose audit row the store refuses fails alone, among others in the same insert', async (t) => {
  const port = await freePort();
  const identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey(), IAM_METRICS_PORT: port });
  t.after(() => identity.close());
  const [good, bad] = [await makeBearer(identity), await makeBearer(identity)];
  const exchange = async ({ token }: { token: string }) =>
    (
      await identity.request('POST', '/api/v1/platform-access-tokens:exchange', {
        body: { token, audience: 'control-plane' },
      })
    ).status;
  const waitingRows = async () => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return Number(/^iam_audit_rows_waiting (\d+)$/m.exec(text)?.[1]);
  };
  await identity.pool.run({
    text: `alter table audit_records add constraint poison check (tenant_id <> '${bad.tenantId}') not valid`,
    values: [],
  });

  const callers = [good, bad, good, good, bad, good];
  const inserted = await identity.pool.transaction(async (tx) => {
    // The first insert waits for this lock; all entries that arrive in the meantime form the second insert.
    await tx.run(sql`lock table audit_records in share mode`);
    const first = exchange(good);
    await until(async () => {
      const row = await identity.pool.row<{ waits: boolean }>(sql`
        select exists (
          select from pg_locks join pg_stat_activity using (pid)
          where relation = 'audit_records'::regclass and not granted and datname = current_database()) as waits`);
      return row?.waits === true;
    }, 'the first insert waits');
    const others = callers.map(exchange);
    await until(async () => (await waitingRows()) === callers.length, 'the others wait for their insert');
    return { answers: [first, ...others] };
  });
  const answers = await Promise.all(inserted.answers);
  assert.deepEqual(answers, [200, 200, 500, 200, 200, 500, 200]);
  const audited = (await auditOf(identity, good.tenantId)).filter(
    ({ action }) => action === 'platform_access_tokens.exchange',
  );
  assert.equal(audited.length, 5, 'none is written twice');
});

test('batches that follow do not wait while the entries of a failed one are tried', async (t) => {
  const stuck = Promise.withResolvers<readonly number[]>();
  const identity = await startIdentity();
  t.after(() => identity.close());
  const poison = (): Promise<readonly number[]> =>
    identity.pool.rows(sql`select 'poison'::integer`).then(() => []);
  const statement = new SharedStatement<number, number>((entries) => {
    if (entries.length > 1) return poison();
    return entries[0] === 1 ? stuck.promise : Promise.resolve(entries);
  });
  const [one, two] = [statement.call(1), statement.call(2)];
  assert.equal(await two, 2);
  assert.equal(await statement.call(3), 3);
  let isIdle = false;
  const idle = statement.idle().then(() => {
    isIdle = true;
  });
  assert.equal(await statement.call(4), 4);
  assert.equal(isIdle, false, 'the close of the service waits for the last one');
  stuck.resolve([1]);
  assert.equal(await one, 1);
  await idle;
});
