import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import { installSettings } from '../../testing/packages/packages.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const pathOf = (key: string) => `/packages/${key}/settings`;
function put(key: string, values: unknown, version = 0, by: Actor = baton.admin) {
  const headers = { authorization: `Bearer ${by.token}`, 'if-match': `package-settings-${version}` };
  return baton.request('PUT', `/api/v1${pathOf(key)}`, { body: { values }, headers });
}
const install = async (schema: object | null = {}) => (await installSettings(baton, baton.admin, schema)).key;

const limits = {
  properties: {
    days: { type: 'integer', default: 3 },
    mail: {
      type: 'object',
      properties: { from: { type: 'string', default: 'a@example.com' }, cc: { type: 'array' } },
    },
    level: { $ref: '#/$defs/level' },
    unset: { type: 'object', properties: { x: { type: 'string' } } },
  },
  $defs: { level: { enum: ['low', 'high'], default: 'low' } },
  additionalProperties: false,
};

describe('GET /packages/{key}/settings', () => {
  test('returns the set values, and the effective ones: the set values merged over the defaults', async () => {
    const key = await install(limits);
    const { status, body, headers } = await baton.admin.get(pathOf(key));
    assert.equal(status, 200);
    assert.equal(headers.get('etag'), '"package-settings-0"');
    assert.deepEqual(body, {
      ...{
        package: key,
        title: 'Settings',
        packageVersion: '1.0',
        version: 0,
        updatedBy: null,
        updatedAt: null,
      },
      ...{ schema: limits, uischema: null, values: {}, schemaHash: 'sha256:x', canManage: true },
      effective: { days: 3, mail: { from: 'a@example.com' }, level: 'low' },
    });
    const set = await done(put(key, { days: 5, mail: { cc: ['x'] } }));
    assert.deepEqual(set.effective, { days: 5, mail: { from: 'a@example.com', cc: ['x'] }, level: 'low' });
    const reader = await baton.actor({ permissions: ['packages.settings.read'] });
    assert.equal((await done(reader.get(pathOf(key)))).canManage, false);
  });

  test('refuses a package that is not installed, of another tenant, or without settings', async () => {
    const foreign = (await installSettings(baton, baton.otherAdmin)).key;
    const bare = await install(null);
    for (const path of ['', '/versions']) {
      for (const key of ['absent', foreign])
        assert.deepEqual(await refused(baton.admin.get(pathOf(key) + path), 404, 'package_not_installed'), {
          package: key,
        });
      await refused(baton.admin.get(pathOf(bare) + path), 404, 'settings_not_declared');
    }
    await refused(put('absent', {}), 404, 'package_not_installed');
    await refused(put(bare, {}), 404, 'settings_not_declared');
    await refused(baton.admin.get(pathOf('No')), 400, 'invalid_request');
  });
});

describe('PUT /packages/{key}/settings', () => {
  test('replaces all settings, keeps each version, and writes package.settings_changed', async () => {
    const key = await install(limits);
    const first = await put(key, { days: 1, mail: { from: 'b@example.com' } });
    assert.deepEqual([first.status, first.headers.get('etag')], [200, '"package-settings-1"']);
    assert.equal(first.body.updatedBy, baton.admin.principalId);
    assert.ok(first.body.updatedAt);
    const second = await done(put(key, { days: 1, level: 'high' }, 1));
    assert.deepEqual([second.version, second.values], [2, { days: 1, level: 'high' }]);
    const { items, nextCursor } = await done(baton.admin.get(`${pathOf(key)}/versions`));
    assert.equal(nextCursor, null);
    const facts = { schemaRevision: 1, schemaHash: 'sha256:x', createdBy: baton.admin.principalId };
    assert.deepEqual(
      items.map(({ createdAt, ...rest }: any) => (assert.ok(createdAt), rest)),
      [
        { version: 2, values: { days: 1, level: 'high' }, changedPaths: ['/level', '/mail'], ...facts },
        {
          ...{ version: 1, values: { days: 1, mail: { from: 'b@example.com' } } },
          ...{ changedPaths: ['/days', '/mail'], ...facts },
        },
      ],
    );
    const page = await done(baton.admin.get(`${pathOf(key)}/versions?limit=1`));
    const rest = await done(baton.admin.get(`${pathOf(key)}/versions?limit=1&cursor=${page.nextCursor}`));
    assert.deepEqual([page.items[0].version, rest.items[0].version, rest.nextCursor], [2, 1, null]);
    await refused(baton.admin.get(`${pathOf(key)}/versions?limit=201`), 422, 'invalid_limit');
    await refused(baton.admin.get(`${pathOf(key)}/versions?cursor=x`), 422, 'invalid_cursor');
    const [row] = await baton.pool.rows<{ id: string }>({
      text: 'select id from packages where key = $1',
      values: [key],
    });
    const events = await eventsOf(baton, row?.id as string);
    assert.deepEqual(
      events.map(({ type, payload }) => [type, payload]),
      [
        ['package.settings_changed', changed(key, 1, ['/days', '/mail'])],
        ['package.settings_changed', changed(key, 2, ['/level', '/mail'])],
      ],
    );
  });
  const changed = (key: string, version: number, changedPaths: string[]) => ({
    ...{ package: key, version, previousVersion: version - 1, schemaRevision: 1, changedPaths },
    actorId: baton.admin.principalId,
  });

  test('the same values again create no version and no event', async () => {
    const key = await install();
    assert.equal((await done(put(key, {}))).version, 0);
    await done(put(key, { a: 1, b: [1] }));
    assert.equal((await done(put(key, { b: [1], a: 1 }, 1))).version, 1);
    assert.equal((await done(baton.admin.get(`${pathOf(key)}/versions`))).items.length, 1);
  });

  test('requires the current version, which is checked before the values', async () => {
    const key = await install(limits);
    const { currentVersion, expectedVersion, entity } = await refused(
      put(key, { days: 'no', token: 'x' }, 3),
      409,
      'version_conflict',
    );
    assert.deepEqual([entity, expectedVersion, currentVersion], ['package_settings', 3, 0]);
    const body = { values: {} };
    const headers = { authorization: `Bearer ${baton.admin.token}` };
    const send = (more: object) =>
      baton.request('PUT', `/api/v1${pathOf(key)}`, { body, headers: { ...headers, ...more } });
    await refused(send({}), 428, 'if_match_required');
    await refused(send({ 'if-match': 'task-1' }), 400, 'invalid_if_match');
  });

  test('refuses secrets, values that do not match the schema, and documents beyond the limits', async () => {
    const key = await install(limits);
    const secret = await refused(put(key, { days: 'no', api_key: 'x' }), 422, 'secret_material_rejected');
    assert.deepEqual(secret, { field: 'values', path: '/api_key' });
    const text = { mail: { from: `ghp_${'a'.repeat(36)}` } };
    await refused(put(key, text), 422, 'secret_material_rejected');
    const { errors } = await refused(put(key, { days: 'no', x: 1 }), 422, 'settings_invalid');
    assert.deepEqual(errors.map(({ path }: { path: string }) => path).sort(), ['/days', '/x']);
    await refused(put(key, 'text'), 422, 'invalid_document');
    await refused(put(key, { mail: { from: 'x'.repeat(66_000) } }), 422, 'payload_too_large');
    let deep: object = {};
    for (let n = 0; n < 20; n += 1) deep = { deep };
    await refused(put(key, deep), 422, 'payload_too_deep');
    assert.equal((await done(baton.admin.get(pathOf(key)))).version, 0);
  });

  test('refuses references to objects missing in the tenant', async () => {
    const kinds = [
      'principal',
      'workspace',
      'project',
      'role',
      'capability',
      'skill',
      'taskType',
      'artifactType',
    ];
    const properties = Object.fromEntries(
      [...kinds, 'calendar', 'odd'].map((kind) => [kind, { 'x-ref': kind }]),
    );
    const key = await install({ properties, additionalProperties: { items: { 'x-ref': 'taskType' } } });
    for (const kind of Object.keys(properties))
      for (const value of ['absent', newId()])
        assert.deepEqual(await refused(put(key, { [kind]: value }), 422, 'unknown_ref'), {
          ...{ kind, value, path: `/${kind}` },
        });
    const inList = await refused(put(key, { types: ['task', 'absent'] }), 422, 'unknown_ref');
    assert.deepEqual(inList, { kind: 'taskType', value: 'absent', path: '/types/1' });
    const role = await done(baton.admin.post('/roles', { slug: `r${newId()}`, name: 'R' }), 201);
    const { principalId: principal } = baton.admin;
    await done(put(key, { principal, role: role.slug, taskType: 'task', types: ['task'] }));
    const foreign = { principal: baton.otherAdmin.principalId };
    await refused(put(key, foreign, 1), 422, 'unknown_ref');
    const many = { types: Array(501).fill('task') };
    await refused(put(key, many, 1), 422, 'settings_invalid');
  });

  test('of two concurrent changes to the same version, one is refused', async () => {
    const key = await install();
    for (let version = 0; version < 10; version += 1) {
      const answers = await Promise.all([1, 2, 3, 4].map((n) => put(key, { version, n }, version)));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409]);
    }
    assert.equal((await done(baton.admin.get(`${pathOf(key)}/versions`))).items.length, 10);
  });

  test('needs its permission', async () => {
    const key = await install();
    const reader = await baton.actor({ permissions: ['packages.settings.read'] });
    await refused(put(key, {}, 0, reader), 403, 'permission_denied');
    const nobody = await baton.actor({ permissions: ['packages.plan'] });
    for (const path of [pathOf(key), `${pathOf(key)}/versions`, '/package-settings'])
      await refused(nobody.get(path), 403, 'permission_denied');
  });
});

test('GET /package-settings lists the packages that have settings, by key', async () => {
  const [one, two] = [await install(), await install()];
  await install(null);
  await done(put(two, { a: 1 }));
  const { items, nextCursor } = await done(baton.admin.get('/package-settings?locale=de'));
  assert.equal(nextCursor, null);
  const keys = items.map((item: any) => item.package);
  assert.deepEqual(keys, keys.toSorted());
  const listed = items.filter((item: any) => [one, two].includes(item.package));
  const facts = { title: 'Settings', packageVersion: '1.0' };
  assert.deepEqual(
    listed.map(({ updatedAt, ...rest }: any) => {
      assert.equal(updatedAt === null, rest.version === 0);
      return rest;
    }),
    [
      { package: one, ...facts, version: 0, updatedBy: null },
      { package: two, ...facts, version: 1, updatedBy: baton.admin.principalId },
    ],
  );
  await refused(baton.admin.get('/package-settings?other=1'), 400, 'invalid_request');
});
