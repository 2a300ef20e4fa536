import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { startIdentity } from '../../testing/identity.ts';
import { makePrincipal, makeTenant } from '../../testing/objects.ts';
import { until } from '../../testing/waiting.ts';
import { makeKey } from './testing/records.ts';

const attempts = byDepth(2, 3);
const message = 'the audit log could not be sealed';

/**
 * Links are created in the order of the numbers, and `verify` reports a record that is left out. A link that the
 * database refuses therefore delays all sealing, but nothing else.
 */
test('a link that the store refuses is tried once a second at most, is logged, and holds up no request; later all is sealed', async (t) => {
  const { file } = await makeKey();
  const identity = await startIdentity({ IAM_AUDIT_KEY_FILE: file });
  t.after(() => identity.close());
  const bad = await makeTenant(identity);
  await identity.pool.run({
    text: `alter table audit_seals add constraint poison check (tenant_id <> '${bad}') not valid`,
    values: [],
  });
  await makePrincipal(identity, bad);
  const failures = () => identity.logged.filter((line) => line.includes(message));
  await until(() => failures().length > 0, 'the first failure is in the log');
  const [beganAt, before] = [performance.now(), failures().length];
  assert.match(failures()[0] ?? '', /violates check constraint/);
  const good = await makeTenant(identity);
  await makePrincipal(identity, good);
  await makePrincipal(identity, bad);
  await until(() => failures().length >= before + attempts, 'it was tried again and again');
  // A transaction may have started just as the clock was read, so one interval is subtracted.
  assert.ok(performance.now() - beganAt >= 1000 * (attempts - 1), 'not faster than once a second');

  await identity.pool.run(sql`alter table audit_seals drop constraint poison`);
  await until(async () => {
    const row = await identity.pool.row<{ left: number }>(sql`
      select (select count(*) from audit_records)
        - (select coalesce(sum(records), 0) from audit_seals) as left`);
    return row?.left === 0;
  }, 'every record of both is sealed');
});
