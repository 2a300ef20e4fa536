import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const copies = 80;
const pageBytesMax = 4_194_304;

async function publish(key: string, source: string): Promise<void> {
  const years = Array.from({ length: 100 }, (_, n) => ({ year: 2000 + n, source }));
  const spec = { displayName: key, timezone: 'Europe/Berlin', years };
  await done(baton.admin.post('/calendars', { key, spec }), 201);
  await baton.pool.run(sql`
    with made as (
      insert into calendar_versions (id, tenant_id, key, version, calendar_hash, spec, provisional_years, created_by)
      select gen_random_uuid(), tenant_id, key || '-' || n, 1, calendar_hash, spec, provisional_years, created_by
      from calendar_versions, generate_series(2, ${copies}) n where key = ${key}
      returning *
    )
    insert into calendars (tenant_id, key, id, version, created_at) select tenant_id, key, id, 1, created_at from made`);
}

test('a page of the largest calendars ends before 4 MiB and continues by cursor; small ones fill the requested page', async () => {
  await publish('large', 'x'.repeat(500));
  const keys: string[] = [];
  let pages = 0;
  for (let cursor = ''; ; ) {
    const page = await done(baton.admin.get(`/calendars?limit=200${cursor}`));
    assert.ok(JSON.stringify(page).length < pageBytesMax + 1000);
    keys.push(...page.items.map(({ key }: { key: string }) => key));
    pages += 1;
    if (page.nextCursor === null) break;
    cursor = `&cursor=${page.nextCursor}`;
  }
  assert.deepEqual([pages, new Set(keys).size, keys.length], [2, copies, copies]);
  await baton.pool.run(sql`delete from calendars where key like 'large%'`);
  await publish('small', 'law');
  const page = await done(baton.admin.get('/calendars?limit=200'));
  assert.deepEqual([page.items.length, page.nextCursor], [copies, null]);
});
