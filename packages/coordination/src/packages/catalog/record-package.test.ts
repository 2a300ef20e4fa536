import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { publishAgent } from '../../testing/registry/agents.ts';
import { makeType, tokenSpec } from '../../testing/registry/connections.ts';
import { contractOf } from '../../testing/results/invocations.ts';
import { makeRule } from '../../testing/rules/rules.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

let number = 0;
const record = (body: object, by = baton.admin) => by.post('/packages:record', body);
const newPackage = (version = '1.0') => ({ key: `p${(number += 1)}`, version });

/** Per kind: the function that creates an object, its recorded key, and the paths to read and list it. */
const kinds: Record<string, { make(): Promise<any>; keyOf(made: any): string; list: string }> = {
  TaskType: {
    make: () => done(baton.admin.post('/task-types', { key: `t${newId()}`, displayName: 'T' }), 201),
    keyOf: ({ key }) => key,
    list: '/task-types',
  },
  ArtifactType: {
    make: () =>
      done(
        baton.admin.post('/artifact-types', { key: `a${newId()}`, displayName: 'A', mediaTypes: ['*/*'] }),
        201,
      ),
    keyOf: ({ key }) => key,
    list: '/artifact-types',
  },
  ProjectTemplate: {
    make: () => done(baton.admin.post('/project-templates', { key: `p${newId()}`, displayName: 'P' }), 201),
    keyOf: ({ key }) => key,
    list: '/project-templates',
  },
  WorkspaceType: {
    make: () => done(baton.admin.post('/workspace-types', { key: `w${newId()}`, displayName: 'W' }), 201),
    keyOf: ({ key }) => key,
    list: '/workspace-types',
  },
  Role: {
    make: () => done(baton.admin.post('/roles', { slug: `r${newId()}`, name: 'R' }), 201),
    keyOf: ({ slug }) => slug,
    list: '/roles',
  },
  Capability: {
    make: () => done(baton.admin.post('/capabilities', { name: `c ${newId()}` }), 201),
    keyOf: ({ name }) => name,
    list: '/capabilities',
  },
  Skill: {
    make: () => done(baton.admin.post('/skills', { name: `s ${newId()}`, protocol: 'mcp' }), 201),
    keyOf: ({ name }) => name,
    list: '/skills',
  },
  Agent: {
    make: () => publishAgent(baton.admin),
    keyOf: ({ key }) => key,
    list: '/agents',
  },
  ConnectionType: {
    make: async () => done(baton.admin.get(`/connection-types/${await makeType(baton.admin)}`)),
    keyOf: ({ key }) => key,
    list: '/connection-types',
  },
  WorkRule: {
    make: () => makeRule(baton.admin, { status: 'disabled' }),
    keyOf: ({ key }) => key,
    list: '/rules',
  },
};

/** Kinds that are read by their keys. */
const read = new Set(['Agent', 'ConnectionType']);

describe('POST /packages:record links objects to a package', () => {
  for (const [kind, { make, keyOf, list }] of Object.entries(kinds))
    test(`${kind}: the object and its list contain the link`, async () => {
      const at = (one: any) => `${list}/${read.has(kind) ? one.key : one.id}`;
      const [made, other] = [await make(), await make()];
      assert.equal(made.package, null);
      const named = newPackage('2.1');
      const objects = [{ kind, key: keyOf(made) }];
      const recorded = await done(record({ package: named, installHash: 'sha256:1', objects }));
      assert.deepEqual(recorded, { package: named, installHash: 'sha256:1', objects });
      const { package: link } = await done(baton.admin.get(at(made)));
      const { installedAt, ...rest } = link;
      assert.deepEqual(rest, { ...named, installHash: 'sha256:1' });
      assert.ok(Math.abs(Date.parse(installedAt) - Date.now()) < 60_000);
      assert.equal((await done(baton.admin.get(at(other)))).package, null);
      const { items } = await done(baton.admin.get(`${list}?package=${named.key}`));
      assert.deepEqual(
        items.map(({ id, package: of }: any) => [id, of]),
        [[made.id, link]],
      );
      assert.deepEqual((await done(baton.admin.get(`${list}?package=none`))).items, []);
      await refused(baton.admin.get(`${list}?package=none&cursor=x`), 422, 'invalid_cursor');
    });

  test('a new version of an object has its link', async () => {
    const key = `t${newId()}`;
    const named = newPackage();
    const makeType = () => done(baton.admin.post('/task-types', { key, displayName: 'T' }), 201);
    const ofType = (version: number) =>
      done(baton.admin.post('/connection-types', { key, version, spec: tokenSpec }), 201);
    await ofType(1);
    const makeSkill = (version: string) =>
      done(baton.admin.post('/skills', { name: key, version, protocol: 'mcp' }), 201);
    await makeType();
    await makeSkill('1');
    const objects = [
      { kind: 'TaskType', key },
      { kind: 'Skill', key: `${key}@1` },
      { kind: 'Skill', key },
      { kind: 'ConnectionType', key },
    ];
    const recorded = await done(record({ package: named, objects }));
    assert.deepEqual(recorded.objects, [
      { kind: 'TaskType', key },
      { kind: 'Skill', key },
      { kind: 'ConnectionType', key },
    ]);
    assert.equal((await ofType(2)).package.key, named.key);
    assert.deepEqual(recorded.installHash, null);
    assert.equal((await makeType()).package.key, named.key);
    assert.equal((await makeSkill('2')).package.key, named.key);
    assert.equal((await done(baton.admin.get(`/skills?package=${named.key}`))).items.length, 2);
  });

  test('the next version of the package, or another package, becomes the owner; repeating it changes nothing', async () => {
    const role = await kinds['Role']?.make();
    const objects = [{ kind: 'Role', key: role.slug }];
    const linkOf = async () => (await done(baton.admin.get(`/roles/${role.id}`))).package;
    const first = newPackage();
    await done(record({ package: first, objects }));
    const link = await linkOf();
    await done(record({ package: first, objects }));
    assert.deepEqual(await linkOf(), link);
    await done(record({ package: { ...first, version: '2.0' }, objects }));
    assert.deepEqual((await linkOf()).version, '2.0');
    const second = newPackage();
    await done(record({ package: second, objects }));
    assert.equal((await linkOf()).key, second.key);
    assert.deepEqual((await done(baton.admin.get(`/roles?package=${first.key}`))).items, []);
  });

  test('a role or a capability under another name keeps the link, and a role of a workspace has none', async () => {
    const [role, capability] = [await kinds['Role']?.make(), await kinds['Capability']?.make()];
    const named = newPackage();
    const objects = [
      { kind: 'Role', key: role.slug },
      { kind: 'Capability', key: capability.name },
    ];
    await done(record({ package: named, objects }));
    const slug = `r${newId()}`;
    const renamed = await done(baton.admin.patch(`/roles/${role.id}`, { slug }, { 'if-match': 'role-1' }));
    assert.equal(renamed.package.key, named.key);
    const name = `c ${newId()}`;
    const other = await done(
      baton.admin.patch(`/capabilities/${capability.id}`, { name }, { 'if-match': 'capability-1' }),
    );
    assert.equal(other.package.key, named.key);
    const again = [
      { kind: 'Role', key: slug },
      { kind: 'Capability', key: name },
    ];
    await done(record({ package: { ...named, version: '3' }, objects: again }));
    assert.equal((await done(baton.admin.get(`/roles/${role.id}`))).package.version, '3');
    const workspace = await done(baton.admin.post('/workspaces', { slug: `w${newId()}`, name: 'W' }), 201);
    const same = { slug, name: 'R', workspaceId: workspace.id };
    assert.equal((await done(baton.admin.post('/roles', same), 201)).package, null);
  });

  test('versions of a rule show the link of the rule', async () => {
    const rule = await makeRule(baton.admin, { status: 'disabled' });
    const named = newPackage();
    await done(record({ package: named, objects: [{ kind: 'WorkRule', key: rule.key }] }));
    const { items } = await done(baton.admin.get(`/rules/${rule.id}/versions`));
    assert.deepEqual(items[0].package.key, named.key);
  });

  test('a calendar has the field and the filter, though no installer records one', async () => {
    const spec = { displayName: 'D', timezone: 'Europe/Berlin', years: [{ year: 2026 }] };
    const key = `c${newId()}`;
    assert.equal((await done(baton.admin.post('/calendars', { key, spec }), 201)).package, null);
    assert.deepEqual((await done(baton.admin.get('/calendars?package=x'))).items, []);
  });
});

describe('POST /packages:record refuses', () => {
  const type = { kind: 'TaskType', key: 'task' };

  test('a missing object, one of another tenant or an archived one, and writes nothing', async () => {
    const named = newPackage();
    const foreign = await done(baton.otherAdmin.post('/roles', { slug: `r${newId()}`, name: 'R' }), 201);
    const rule = await makeRule(baton.admin, { status: 'disabled' });
    await done(baton.admin.delete(`/rules/${rule.id}`), 204);
    const unknown = [
      { kind: 'Agent', key: 'nobody' },
      { kind: 'ConnectionType', key: 'nowhere' },
      { kind: 'Role', key: foreign.slug },
      { kind: 'Skill', key: 'absent@1' },
      { kind: 'WorkRule', key: rule.key },
    ];
    const details = await refused(
      record({ package: named, objects: [type, ...unknown] }),
      422,
      'unknown_object',
    );
    assert.deepEqual(details, { ...unknown[0], unknown });
    assert.equal((await done(baton.admin.get(`/task-types?package=${named.key}`))).items.length, 0);
    const named1 = { name: `s ${newId()}`, sideEffects: 'none', riskLevel: 'low', contract: contractOf() };
    const skill = await done(baton.admin.post('/skills', named1), 201);
    await refused(
      record({ package: named, objects: [{ kind: 'Skill', key: `${skill.name}@9` }] }),
      422,
      'unknown_object',
    );
  });

  test('kinds that no installer records, and lists and keys outside of the limits', async () => {
    const named = newPackage();
    const wrong: object[] = [
      { package: named, objects: [{ kind: 'Process', key: 'a' }] },
      { package: named, objects: [{ kind: 'Calendar', key: 'a' }] },
      { package: named, objects: [] },
      { package: named, objects: Array(1001).fill(type) },
      { package: { key: 'A', version: '1' }, objects: [type] },
      { package: { key: 'a', version: 1 }, objects: [type] },
      { package: { key: 'a'.repeat(64), version: '1' }, objects: [type] },
    ];
    for (const body of wrong) await refused(record(body), 400, 'invalid_request');
    await done(record({ package: named, objects: Array(1000).fill(type) }));
  });

  test('callers without packages.plan, or without the permission for a kind', async () => {
    const objects = [type, { kind: 'Role', key: 'absent' }];
    const body = { package: newPackage(), objects };
    const none = await baton.actor({ permissions: ['task_types.manage', 'org.manage'] });
    assert.deepEqual((await refused(record(body, none), 403, 'permission_denied')).required, [
      'packages.plan',
    ]);
    const some = await baton.actor({ permissions: ['packages.plan', 'task_types.manage'] });
    assert.deepEqual((await refused(record(body, some), 403, 'permission_denied')).required, ['org.manage']);
    const all = await baton.actor({ permissions: ['packages.plan', 'task_types.manage', 'org.manage'] });
    await refused(record(body, all), 422, 'unknown_object');
  });
});

test('versions that are created while objects are recorded all get the link', async () => {
  for (let round = 0; round < 10; round += 1) {
    const name = `s ${newId()}`;
    const make = (version: number) =>
      baton.admin.post('/skills', { name, version: String(version), protocol: 'mcp' });
    await done(make(0), 201);
    const named = newPackage();
    const versions = [1, 2, 3, 4, 5, 6].map((version) => done(make(version), 201));
    await Promise.all([
      ...versions,
      done(record({ package: named, objects: [{ kind: 'Skill', key: name }] })),
    ]);
    assert.equal((await done(baton.admin.get(`/skills?package=${named.key}`))).items.length, 7);
  }
});
