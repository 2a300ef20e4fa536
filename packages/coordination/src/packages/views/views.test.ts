import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { installSettings } from '../../testing/packages/packages.ts';
import { blockOf, insertTestView } from '../../testing/packages/views.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const titles = { de: 'Offene Aufgaben', 'de-AT': 'Offene Sachen', fr: 'Tâches' };
const publish = (more: object = {}) =>
  insertTestView(baton, baton.admin, [blockOf()], { title: 'Open tasks', titles, ...more });

/** Links a view to a new package. @returns the package's key */
async function link(key: string): Promise<string> {
  const { key: of } = await installSettings(baton, baton.admin, null);
  await baton.pool.run(sql`
    insert into package_objects (tenant_id, kind, key, package_key, version, applied_by)
    values (${baton.tenantId}, 'View', ${key}, ${of}, '1.0', 'apply')`);
  return of;
}

test('GET /views lists all views of the tenant by key', async () => {
  const keys = [await publish(), await publish(), await publish()].sort();
  await insertTestView(baton, baton.otherAdmin, [blockOf()]);
  const anybody = await baton.actor({ permissions: ['org.read'] });
  const { items, nextCursor } = await done(anybody.get('/views'));
  assert.equal(nextCursor, null);
  assert.deepEqual(
    items.map(({ key }: any) => key),
    keys,
  );
  const { createdAt, updatedAt, id, ...rest } = items[0];
  assert.ok(createdAt === updatedAt && id);
  assert.deepEqual(rest, {
    ...{ tenantId: baton.tenantId, key: keys[0], title: 'Open tasks', version: 1, package: null },
  });
  await refused(anybody.get('/views?other=1'), 400, 'invalid_request');
});

test('GET /views has titles in the requested language, or the default title', async () => {
  const key = await publish();
  const titleIn = async (locale: string) => {
    const { items } = await done(baton.admin.get(`/views?locale=${locale}`));
    return items.find((item: any) => item.key === key).title;
  };
  assert.equal(await titleIn('de'), 'Offene Aufgaben');
  assert.equal(await titleIn('de-at'), 'Offene Sachen');
  assert.equal(await titleIn('de-CH'), 'Offene Aufgaben');
  assert.equal(await titleIn('fr-FR'), 'Tâches');
  assert.equal(await titleIn('it'), 'Open tasks');
  assert.equal(await titleIn(''), 'Open tasks');
});

test('views contain the link to their package, and ?package= filters by it', async () => {
  const [key, other] = [await publish(), await publish()];
  const of = await link(key);
  const { items } = await done(baton.admin.get(`/views?package=${of}`));
  assert.deepEqual(
    items.map((item: any) => [item.key, item.package.key, item.package.version, item.package.installHash]),
    [[key, of, '1.0', null]],
  );
  assert.deepEqual((await done(baton.admin.get(`/views/${key}`))).package, items[0].package);
  assert.equal((await done(baton.admin.get(`/views/${other}`))).package, null);
  assert.deepEqual((await done(baton.admin.get('/views?package=absent'))).items, []);
});

test('GET /views/{key} reads a view with its blocks', async () => {
  const key = await publish();
  const view = await done(baton.admin.get(`/views/${key}`));
  assert.deepEqual([view.key, view.title, view.titles, view.version], [key, 'Open tasks', titles, 1]);
  assert.deepEqual(view.blocks, [blockOf()]);
  assert.deepEqual(await refused(baton.admin.get('/views/absent'), 404, 'not_found'), { view: 'absent' });
  await refused(baton.otherAdmin.get(`/views/${key}`), 404, 'not_found');
  await refused(baton.admin.get('/views/No'), 400, 'invalid_request');
});

test('a retired view returns 404', async () => {
  const key = await publish();
  await baton.pool.run(sql`update views set status = 'retired' where key = ${key}`);
  await refused(baton.admin.get(`/views/${key}`), 404, 'not_found');
  await refused(baton.admin.post(`/views/${key}:query`, { block: 0 }), 404, 'not_found');
  assert.ok((await done(baton.admin.get('/views'))).items.every((item: any) => item.key !== key));
});
