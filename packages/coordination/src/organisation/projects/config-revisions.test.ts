import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import {
  changeProject,
  configure,
  makeProject,
  makeSubproject,
  makeTemplate,
} from '../../testing/organisation/projects.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
let templateId: string;
before(async () => {
  baton = await startCoordination();
  templateId = (await makeTemplate(baton)).id;
});
after(() => baton.close());

const make = (more: object = {}) => makeProject(baton, { templateId, ...more });
const makeBelow = (above: any, more: object = {}) => makeSubproject(baton, above, { templateId, ...more });
const record = (id: string, config: unknown, comment?: string) =>
  baton.admin.post(`/projects/${id}/config-revisions`, { config, comment });
const activate = (id: string, revision: number, version: number) =>
  baton.admin.post(`/projects/${id}/config-revisions/${revision}:activate`, undefined, {
    'if-match': `project-${version}`,
  });
const effectiveOf = (id: string) => done(baton.admin.get(`/projects/${id}/effective-config`));

describe('revisions', () => {
  test('are numbered, immutable, and record the context of their validation', async () => {
    const above = await make();
    await configure(baton, above.id, { governance: { maxRunActions: 10 } });
    const project = await makeBelow(above);
    const config = { settings: { a: 1 }, governance: { allowedTaskPriorities: ['low', 'high'] } };
    const first = await done(record(project.id, config, 'token: abcdefghijklmnopqrst'), 201);
    const { id, createdAt, validation, ...rest } = first;
    assert.deepEqual(rest, {
      tenantId: baton.tenantId,
      projectId: project.id,
      revision: 1,
      config: { settings: { a: 1 }, governance: { allowedTaskPriorities: ['high', 'low'] } },
      comment: 'token: abcdefghijklmnopqrst',
      createdBy: baton.admin.principalId,
      activatedAt: null,
    });
    const { templateKey, templateVersion } = project;
    const governanceCeiling = { maxRunActions: 10 };
    assert.deepEqual(validation, {
      templateId,
      templateKey,
      templateVersion,
      checkedAt: createdAt,
      governanceCeiling,
    });
    const event = (await eventsOf(baton, project.id)).at(-1);
    assert.deepEqual(
      [event?.type, event?.payload],
      ['project.config_revision_created', { revision: 1, revisionId: id, comment: '[redacted]' }],
    );
    assert.equal((await done(record(project.id, {}), 201)).revision, 2);
    assert.equal((await done(baton.admin.get(`/projects/${project.id}`))).version, 1, 'not activated');
    for (const change of [
      sql`update project_config_revisions set config = '{}' where id = ${id}`,
      sql`delete from project_config_revisions where id = ${id}`,
    ])
      await assert.rejects(baton.pool.run(change), /immutable/);
    const list = (query: string) =>
      done(baton.admin.get(`/projects/${project.id}/config-revisions?${query}`));
    const page = await list('limit=1');
    assert.deepEqual(
      page.items.map(({ revision }: any) => revision),
      [2],
    );
    assert.deepEqual((await list(`limit=1&cursor=${page.nextCursor}`)).items, [first]);
    await refused(
      baton.admin.get(`/projects/${project.id}/config-revisions?cursor=x`),
      422,
      'invalid_cursor',
    );
  });

  test('recorded concurrently have different numbers', async () => {
    const { id } = await make();
    const made = await Promise.all([1, 2, 3, 4, 5].map(() => done(record(id, {}), 201)));
    assert.deepEqual(made.map(({ revision }) => revision).sort(), [1, 2, 3, 4, 5]);
  });

  test('refuse in the documented order', async () => {
    const above = await make();
    const governance = {
      maxAutonomyLevel: 'assisted',
      allowedSkillProtocols: ['http', 'mcp'],
      maxRunActions: 5,
    };
    await configure(baton, above.id, { governance, inheritance: { lockedSettings: ['a'] } });
    const { id } = await makeBelow(above);
    for (const [config, code] of [
      [[], 'invalid_document'],
      [{ memory: { x: 'x'.repeat(65_536) } }, 'payload_too_large'],
      [{ colour: 1, views: 1 }, 'unknown_config_section'],
      [{ views: 1, settings: { governance: 1 } }, 'invalid_config'],
      [{ settings: { governance: 1 }, governance: { x: 1 } }, 'governance_not_in_settings'],
      [{ settings: { agentInstructions: 'x'.repeat(16_385) } }, 'instructions_too_large'],
      [{ settings: { password: 1 }, governance: { x: 1 } }, 'secret_material_rejected'],
      [{ governance: { x: 1 } }, 'unknown_governance_field'],
      [{ governance: { maxRunActions: -1 } }, 'invalid_governance'],
    ] as const)
      await refused(record(id, config), 422, code);
    let deep: object = {};
    for (let level = 0; level < 30; level += 1) deep = { deep };
    await refused(record(id, { memory: deep }), 422, 'payload_too_deep');
    const weaker = {
      settings: { a: 1 },
      governance: {
        maxAutonomyLevel: 'autonomous',
        allowedSkillProtocols: ['mcp', 'local'],
        maxRunActions: null,
        requireApprovalForRun: false,
      },
    };
    assert.deepEqual(await refused(record(id, weaker), 422, 'governance_weakened'), {
      violations: [
        { path: '/governance/maxAutonomyLevel', ancestor: 'assisted', project: 'autonomous' },
        { path: '/governance/allowedSkillProtocols', ancestor: ['http', 'mcp'], project: ['local', 'mcp'] },
        { path: '/governance/maxRunActions', ancestor: 5, project: null },
      ],
    });
    const narrower = { maxAutonomyLevel: 'supervised', allowedSkillProtocols: [], maxRunActions: 5 };
    assert.deepEqual(await refused(record(id, { ...weaker, governance: narrower }), 422, 'setting_locked'), {
      lockedSettings: ['a'],
    });
    await done(record(id, { governance: narrower }), 201);
    await refused(
      baton.admin.post(`/projects/${id}/config-revisions`, { comment: 'x'.repeat(1001) }),
      400,
      'invalid_request',
    );
    await baton.pool.run(sql`update projects set status_key = 'lost' where id = ${id}`);
    await refused(record(id, { governance: { maxRunActions: 9 } }), 422, 'status_not_in_lifecycle');
    await refused(activate(id, 1, 1), 422, 'status_not_in_lifecycle');
    await done(baton.admin.post(`/projects/${id}:archive`));
    await refused(record(id, { x: 1 }), 422, 'project_archived');
    await refused(activate(id, 9, 2), 422, 'project_archived');
  });

  test(':activate activates one, also an earlier one again', async () => {
    const { id } = await make();
    const [first, second] = [await done(record(id, {}), 201), await done(record(id, {}), 201)];
    await refused(activate(id, 1, 9), 409, 'version_conflict');
    assert.deepEqual(await refused(activate(id, 3, 1), 404, 'not_found'), { projectId: id, revision: 3 });
    for (const wrong of ['0', 'x', '1.5'])
      await refused(activate(id, wrong as unknown as number, 1), 400, 'invalid_request');
    const activated = await done(activate(id, 2, 1));
    assert.deepEqual(
      [activated.activeConfigRevisionId, activated.activeConfigRevision, activated.version],
      [second.id, 2, 2],
    );
    assert.deepEqual(await done(activate(id, 2, 2)), activated, 'activating the active one changes nothing');
    assert.equal((await done(activate(id, 1, 2))).activeConfigRevisionId, first.id);
    const { items } = await done(baton.admin.get(`/projects/${id}/config-revisions`));
    assert.ok(items.every(({ activatedAt }: any) => activatedAt !== null));
    const payloads = (await eventsOf(baton, id)).filter(({ type }) => type.endsWith('activated'));
    assert.deepEqual(
      payloads.map(({ payload }) => payload),
      [
        { revision: 2, revisionId: second.id, version: 2 },
        { revision: 1, revisionId: first.id, version: 3 },
      ],
    );
  });

  test(':activate validates the ancestors again', async () => {
    const above = await make();
    const { id } = await makeBelow(above);
    await done(record(id, { governance: { maxRunActions: 9 } }), 201);
    await done(record(id, { settings: { a: 1 } }), 201);
    await configure(baton, above.id, {
      governance: { maxRunActions: 5 },
      inheritance: { lockedSettings: ['a'] },
    });
    await refused(activate(id, 1, 1), 422, 'governance_weakened');
    await refused(activate(id, 2, 1), 422, 'setting_locked');
  });
});

describe('a move of a workspace', () => {
  test('is refused if a project in it would be less strict, or sets a locked setting; dryRun reports both', async () => {
    const strict = await make();
    await configure(baton, strict.id, {
      governance: { maxConcurrentRuns: 2 },
      inheritance: { lockedSettings: ['a', 'b'] },
    });
    const root = await makeWorkspace(baton);
    const [lax, setting] = [
      await make({ parentWorkspaceId: root.id }),
      await make({ parentWorkspaceId: root.id, settings: { a: 1 } }),
    ];
    const below = await makeBelow(lax);
    await configure(baton, below.id, { governance: { maxConcurrentRuns: 3 } });
    const move = (query = '') =>
      baton.admin.post(`/workspaces/${root.id}:move${query}`, { newParentId: strict.workspaceId });
    const violations = [{ path: '/governance/maxConcurrentRuns', ancestor: 2, project: 3 }];
    const weakened = { projectId: below.id, violations };
    const locked = { projectId: setting.id, lockedSettings: ['a'] };
    assert.deepEqual(await done(move('?dryRun=true')), {
      violations: [
        { code: 'governance_weakened', details: weakened },
        { code: 'setting_locked', details: locked },
      ],
    });
    assert.deepEqual(await refused(move(), 422, 'governance_weakened'), weakened);
    await configure(baton, below.id, { governance: { maxConcurrentRuns: 1 }, settings: { b: 1 } });
    const { projectId } = await refused(move(), 422, 'setting_locked');
    assert.ok([below.id, setting.id].includes(projectId));
    await configure(baton, below.id, { governance: { maxConcurrentRuns: 1 } });
    await done(changeProject(baton, setting, { settings: {} }));
    assert.equal(
      (await done(baton.admin.get(`/workspaces/${root.id}`))).parentId,
      null,
      'nothing was written',
    );
    await done(move());
    assert.equal((await done(baton.admin.get(`/projects/${lax.id}`))).parentProjectId, strict.id);
    assert.equal((await effectiveOf(lax.id)).config.governance.maxConcurrentRuns, 2);
  });
});

describe('the effective configuration', () => {
  test('merges template, ancestors, revision and profile, and returns the origin of each value', async () => {
    const template = await makeTemplate(baton, {
      defaultConfig: { settings: { a: { x: 1, y: 1 }, b: 1, kept: true }, governance: { maxRunActions: 7 } },
      memoryDefaults: { m: 1, n: { o: 1 } },
      defaultViews: [{ of: 'template' }],
    });
    const top = await make({ settings: { b: 2, own: 1 } });
    await configure(baton, top.id, {
      settings: { a: { y: 2, z: 2 } },
      memory: { n: { p: 2 } },
      governance: { maxRunActions: 9, maxAutonomyLevel: 'assisted' },
      inheritance: { inheritableSettings: ['a', 'b'] },
    });
    const middle = await makeSubproject(baton, top, { templateId: template.id, settings: { b: 3 } });
    await configure(baton, middle.id, {
      settings: { a: { z: 3 } },
      governance: { maxAutonomyLevel: 'supervised' },
    });
    const { projectId, version, config, provenance } = await effectiveOf(middle.id);
    assert.deepEqual([projectId, version], [middle.id, 2]);
    assert.deepEqual(config, {
      settings: { a: { x: 1, y: 2, z: 3 }, b: 3, kept: true },
      views: [{ of: 'template' }],
      governance: { maxRunActions: 7, maxAutonomyLevel: 'supervised' },
      memory: { m: 1, n: { o: 1, p: 2 } },
      inheritance: { inheritableSettings: ['*'], lockedSettings: [] },
    });
    const of = (source: string, id: string, more: object = {}) => ({
      source,
      projectId: id,
      layer: source,
      templateKey: null,
      templateVersion: null,
      revision: null,
      ...more,
    });
    const fromTemplate = of('template', middle.id, { templateKey: template.key, templateVersion: 1 });
    assert.deepEqual(provenance, {
      settings: {
        a: of('revision', middle.id, { revision: 1 }),
        b: of('profile', middle.id),
        kept: fromTemplate,
      },
      memory: { m: fromTemplate, n: of('ancestor', top.id, { layer: 'revision', revision: 1 }) },
      governance: {
        maxRunActions: fromTemplate,
        maxAutonomyLevel: of('revision', middle.id, { revision: 1 }),
      },
      views: fromTemplate,
      layers: [
        {
          projectId: top.id,
          templateId,
          templateKey: top.templateKey,
          templateVersion: 1,
          revision: 1,
          depth: 0,
        },
        {
          projectId: middle.id,
          templateId: template.id,
          templateKey: template.key,
          templateVersion: 1,
          revision: 1,
          depth: 1,
        },
      ],
      lockedSettings: [],
    });
  });

  test("an ancestor's views override the template's, and the project's own override both", async () => {
    const template = await makeTemplate(baton, { defaultConfig: { views: [1] }, defaultViews: [0] });
    const top = await make();
    const below = await makeSubproject(baton, top, { templateId: template.id });
    const views = async () => (await effectiveOf(below.id)).config.views;
    assert.deepEqual(await views(), [1]);
    await configure(baton, top.id, { views: [2] });
    assert.deepEqual(await views(), [2]);
    await configure(baton, below.id, { views: [] });
    assert.deepEqual(await views(), []);
  });

  test('locks add up downwards; a later lock has no effect below; an own lock is removed by its owner', async () => {
    const top = await make({ settings: { a: 'top' } });
    const middle = await makeBelow(top);
    const below = await makeBelow(middle, { settings: { a: 'below', b: 'below' } });
    const seen = async (id: string) => {
      const { config, provenance } = await effectiveOf(id);
      assert.deepEqual(provenance.lockedSettings, config.inheritance.lockedSettings);
      return [config.settings, provenance.lockedSettings];
    };
    assert.deepEqual(await seen(below.id), [{ a: 'below', b: 'below' }, []]);
    await configure(baton, top.id, { inheritance: { lockedSettings: ['a'] } });
    await configure(baton, middle.id, { inheritance: { lockedSettings: ['b'] } });
    assert.deepEqual(await seen(below.id), [{ a: 'top' }, ['a', 'b']]);
    assert.deepEqual(await seen(top.id), [{ a: 'top' }, ['a']]);
    await configure(baton, top.id, { inheritance: { lockedSettings: [] } });
    assert.deepEqual(await seen(below.id), [{ a: 'below' }, ['b']]);
    await done(
      changeProject(baton, await done(baton.admin.get(`/projects/${top.id}`)), { settings: { a: 'new' } }),
    );
  });

  test('its ETag returns 304 until one of its inputs changes', async () => {
    const top = await make();
    const below = await makeBelow(top);
    const path = `/projects/${below.id}/effective-config`;
    const first = await baton.admin.get(path);
    const tag = first.headers.get('etag') as string;
    assert.match(tag, /^"effective-config-[0-9a-f]{64}"$/);
    for (const value of [tag, `W/${tag}`, `"x", ${tag}`]) {
      const again = await baton.admin.get(path, { 'if-none-match': value });
      assert.deepEqual([again.status, again.body, again.headers.get('etag')], [304, '', tag]);
    }
    await configure(baton, top.id, { settings: { a: 1 } });
    const changed = await baton.admin.get(path, { 'if-none-match': tag });
    assert.equal(changed.status, 200);
    assert.notEqual(changed.headers.get('etag'), tag);
    await refused(baton.admin.get(`/projects/${newId()}/effective-config`), 404, 'not_found');
  });

  test('ancestors that the caller may not see take effect without being listed', async () => {
    const { person, mine } = await makeNarrowPerson(baton);
    const top = await make({ settings: { a: 1 } });
    await done(baton.admin.post(`/workspaces/${mine.id}:move`, { newParentId: top.workspaceId }));
    const project = await make({ workspaceId: mine.id });
    const seen = await done(person.get(`/projects/${project.id}/effective-config`));
    assert.deepEqual(seen.config.settings, { a: 1 });
    assert.deepEqual(
      [seen.provenance.settings.a.source, seen.provenance.settings.a.projectId],
      ['ancestor', null],
    );
    assert.deepEqual(
      seen.provenance.layers.map((layer: any) => layer.projectId),
      [null, project.id],
    );
    assert.ok(!JSON.stringify(seen).includes(top.id));
    assert.equal((await effectiveOf(project.id)).provenance.settings.a.projectId, top.id);
  });

  test('names like __proto__ are settings like others', async () => {
    const { id } = await make();
    const config = '{"config":{"settings":{"__proto__":{"polluted":1},"constructor":2}}}';
    await done(baton.admin.post(`/projects/${id}/config-revisions`, config), 201);
    await done(activate(id, 1, 1));
    const answer = await fetch(`${baton.url}/api/v1/projects/${id}/effective-config`, {
      headers: { authorization: `Bearer ${baton.admin.token}` },
    });
    assert.match(await answer.text(), /"settings":\{"__proto__":\{"polluted":1\},"constructor":2\}/);
    assert.equal(({} as any).polluted, undefined);
  });
});
