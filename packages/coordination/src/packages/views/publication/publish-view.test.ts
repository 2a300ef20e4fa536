import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../../testing/leases.ts';
import { blockOf } from '../../../testing/packages/views.ts';
import { viewsMax } from '../view.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const newKey = (prefix: string) => `${prefix}-${newId()}`;
const viewOf = (key: string, spec: object = {}) => ({
  ...{ apiVersion: 'baton/v1', kind: 'View', key },
  spec: { title: 'Work at hand', titles: { de: 'Was ansteht' }, blocks: [blockOf()], ...spec },
});

/** A version of a package with these documents; JSON is YAML. */
function filesOf(manifest: object, documents: readonly object[]) {
  const file = (path: string, content: object) => ({ path, content: JSON.stringify(content) });
  return [file('package.yaml', manifest), ...documents.map((one, n) => file(`views/${n}.yaml`, one))];
}

const plan = (files: object[]) => done(baton.admin.post('/packages:plan', { package: { files } }));

async function apply(manifest: object, ...documents: object[]): Promise<any[]> {
  const files = filesOf(manifest, documents);
  const { planHash, problems } = await plan(files);
  assert.deepEqual(problems, []);
  const { applied } = await done(baton.admin.post('/packages:apply', { package: { files }, planHash }));
  return applied;
}

const idOf = async (key: string) => (await done(baton.admin.get(`/views/${key}`))).id;
const listed = async (of: string) => (await done(baton.admin.get(`/views?package=${of}`))).items;

test('a package publishes a view, changes it, retires it by removing its document, and restores it', async () => {
  const [of, key] = [newKey('p'), newKey('v')];
  const version = (number: string) => ({ key: of, version: number });
  const change = (action: string, number: number) => ({ kind: 'View', key, action, version: number });
  assert.deepEqual(await apply(version('1'), viewOf(key)), [change('create', 1)]);
  const id = await idOf(key);
  const [first] = await listed(of);
  assert.deepEqual(
    [first.key, first.title, first.version, first.package.version],
    [key, 'Work at hand', 1, '1'],
  );
  const task = await done(baton.admin.post('/tasks', { title: 'The newest' }), 201);
  const { items } = await done(baton.admin.post(`/views/${key}:query`, { block: 0, limit: 1 }));
  assert.deepEqual(items, [{ id: task.id, title: 'The newest' }]);

  assert.deepEqual(await apply(version('1'), viewOf(key)), []);
  assert.deepEqual(await apply(version('2'), viewOf(key, { title: 'My work' })), [change('update', 2)]);
  assert.equal((await done(baton.admin.get(`/views/${key}`))).title, 'My work');

  assert.deepEqual(await apply(version('3')), [change('retire', 3)]);
  await refused(baton.admin.get(`/views/${key}`), 404, 'not_found');
  await refused(baton.admin.post(`/views/${key}:query`, { block: 0 }), 404, 'not_found');
  assert.deepEqual(await listed(of), []);

  assert.deepEqual(await apply(version('4'), viewOf(key)), [change('restore', 4)]);
  assert.equal(await idOf(key), id);
  assert.equal((await listed(of)).length, 1);

  const events = await eventsOf(baton, id);
  assert.deepEqual(
    events.map(({ type, payload }: any) => [type, payload.key, payload.version, payload.previousVersion]),
    [
      ['view.published', key, 1, null],
      ['view.published', key, 2, 1],
      ['view.retired', key, 3, undefined],
      ['view.published', key, 4, 3],
    ],
  );
  const [one, two, , four] = events.map(({ payload }: any) => payload.specHash);
  assert.ok(one.startsWith('sha256:') && one !== two && one === four);
});

test('a view with a new key is a separate view, and the old one is retired', async () => {
  const [of, from, to] = [newKey('p'), newKey('v'), newKey('v')];
  await apply({ key: of, version: '1' }, viewOf(from));
  const id = await idOf(from);
  const renames = [{ kind: 'View', from, to }];
  const applied = await apply({ key: of, version: '2', renames }, viewOf(to));
  assert.deepEqual(applied, [{ kind: 'View', key: to, action: 'rename', version: 1 }]);
  await refused(baton.admin.get(`/views/${from}`), 404, 'not_found');
  assert.deepEqual(
    (await listed(of)).map((view: any) => view.key),
    [to],
  );
  assert.equal((await eventsOf(baton, id)).at(-1)?.type, 'view.retired');
});

test('an invalid view is a problem of its document, and nothing is applied', async () => {
  const [of, key] = [newKey('p'), newKey('v')];
  const wrong = { columns: [{ field: 'id' }, { field: 'secret' }], filters: [{ field: 'id', op: 'gte' }] };
  const files = filesOf({ key: of, version: '1' }, [viewOf(key, { blocks: [blockOf(wrong)] })]);
  const { planHash, problems } = await plan(files);
  assert.deepEqual(
    problems.map(({ code, severity, path, file }: any) => [code, severity, path, file]),
    [
      ['unknown_field', 'error', '/spec/blocks/0/columns/1/field', 'views/0.yaml'],
      ['data_type_mismatch', 'error', '/spec/blocks/0/filters/0/op', 'views/0.yaml'],
    ],
  );
  await refused(
    baton.admin.post('/packages:apply', { package: { files }, planHash }),
    422,
    'invalid_package',
  );
  await refused(baton.admin.get(`/views/${key}`), 404, 'not_found');
});

test('a tenant has at most 1,000 views', async () => {
  const { tenantId, principalId } = baton.admin;
  const of = newKey('p');
  const spec = JSON.stringify({ title: 'V', titles: {}, blocks: [blockOf()] });
  await baton.pool.run(sql`
    insert into views (id, tenant_id, key, spec, spec_hash, created_by)
    select gen_random_uuid(), ${tenantId}::uuid, 'many-' || n, ${spec}::json, 'sha256:x', ${principalId}::uuid
    from generate_series(1, ${viewsMax}::integer) n`);
  const files = filesOf({ key: of, version: '1' }, [viewOf(newKey('v'))]);
  const { planHash } = await plan(files);
  await refused(
    baton.admin.post('/packages:apply', { package: { files }, planHash }),
    422,
    'invalid_package',
  );
  assert.deepEqual(await listed(of), []);
  await baton.pool.run(sql`delete from views where key like 'many-%'`);
  await apply({ key: of, version: '1' }, viewOf(newKey('v')));
});
