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
import { makeNarrowPerson, makeWorkspace, makeWorkspaceType } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
let template: any;
before(async () => {
  baton = await startCoordination();
  template = await makeTemplate(baton, {
    fieldSchema: { properties: { market: { type: 'string' } }, additionalProperties: false },
  });
});
after(() => baton.close());

const create = (body: object) => baton.admin.post('/projects', body);
const change = (project: any, body: object) => changeProject(baton, project, body);
const transition = (project: any, body: object) =>
  baton.admin.post(`/projects/${project.id}:transition`, body, { 'if-match': `project-${project.version}` });
const act = (project: any, action: string) => baton.admin.post(`/projects/${project.id}:${action}`);
/** A document that exceeds the maximum nesting depth. */
function nested(levels = 30): object {
  let inner: object = {};
  for (let level = 0; level < levels; level += 1) inner = { inner };
  return inner;
}
const lastEvent = async (id: string) => {
  const event = (await eventsOf(baton, id)).at(-1);
  return [event?.type, event?.payload];
};

describe('POST /projects', () => {
  test('creates the project of a workspace from a template, with its initial status', async () => {
    const { id: workspaceId } = await makeWorkspace(baton);
    const body = {
      workspaceId,
      templateId: template.id,
      startDate: '2027-01-01',
      customFields: { market: 'DE' },
    };
    const answer = await create(body);
    assert.equal(answer.headers.get('etag'), '"project-1"');
    const { id, createdAt, updatedAt, ...rest } = await done(Promise.resolve(answer), 201);
    assert.equal(createdAt, updatedAt);
    assert.deepEqual(rest, {
      tenantId: baton.tenantId,
      workspaceId,
      templateId: template.id,
      templateKey: template.key,
      templateVersion: 1,
      statusKey: 'planned',
      systemStatusCategory: 'planned',
      ownerPrincipalId: null,
      startDate: '2027-01-01T00:00:00.000Z',
      targetDate: null,
      customFields: { market: 'DE' },
      settings: {},
      activeConfigRevisionId: null,
      activeConfigRevision: null,
      parentProjectId: null,
      status: 'active',
      version: 1,
      createdBy: baton.admin.principalId,
      archivedAt: null,
    });
    assert.deepEqual(await done(baton.admin.get(`/projects/${id}`)), answer.body);
    assert.deepEqual(await lastEvent(id), [
      'project.created',
      {
        workspaceId,
        parentProjectId: null,
        templateKey: template.key,
        templateVersion: 1,
        statusKey: 'planned',
        systemStatusCategory: 'planned',
      },
    ]);
    const [filed] = await baton.pool.rows<{ workspace_id: string }>(
      sql`select workspace_id from events where entity_id = ${id}`,
    );
    assert.equal(filed?.workspace_id, workspaceId);
    assert.deepEqual(await refused(create(body), 409, 'project_exists'), { workspaceId });
  });

  test('creates the workspace too, in the same transaction', async () => {
    const above = await makeProject(baton);
    const workspaceSlug = `p${newId()}`;
    const body = {
      workspaceSlug,
      parentWorkspaceId: above.workspaceId,
      templateKey: template.key,
      statusKey: 'active',
    };
    const project = await done(create(body), 201);
    assert.deepEqual([project.parentProjectId, project.systemStatusCategory], [above.id, 'active']);
    const workspace = await done(baton.admin.get(`/workspaces/${project.workspaceId}`));
    assert.deepEqual(
      [workspace.slug, workspace.name, workspace.parentId],
      [workspaceSlug, workspaceSlug, above.workspaceId],
    );
    const slug = `p${newId()}`;
    await refused(
      create({ ...body, workspaceSlug: slug, statusKey: 'none' }),
      422,
      'status_not_in_lifecycle',
    );
    const [left] = await baton.pool.rows<{ n: number }>(
      sql`select count(*) as n from workspaces where slug = ${slug}`,
    );
    assert.equal(Number(left?.n), 0, 'a refused request leaves no workspace');
    const named = await done(
      create({ ...body, workspaceSlug: slug, workspaceName: 'Named', workspaceTypeKey: 'generic' }),
      201,
    );
    assert.equal((await done(baton.admin.get(`/workspaces/${named.workspaceId}`))).name, 'Named');
  });

  test('requires workspaces.manage to create the workspace', async () => {
    const planner = await baton.actor({ permissions: ['projects.manage'] });
    const { id: workspaceId } = await makeWorkspace(baton);
    const templateId = template.id;
    assert.deepEqual(
      await refused(planner.post('/projects', { workspaceSlug: 'x1', templateId }), 403, 'permission_denied'),
      { required: ['workspaces.manage'] },
    );
    await done(planner.post('/projects', { workspaceId, templateId }), 201);
  });

  test('refuses in the documented order', async () => {
    const { id: archivedId } = await makeWorkspace(baton);
    await done(baton.admin.post(`/workspaces/${archivedId}:archive`));
    const old = await makeTemplate(baton);
    await done(baton.admin.post(`/project-templates/${old.id}:deprecate`));
    const { id: workspaceId } = await makeWorkspace(baton);
    const wrong = {
      workspaceId,
      templateId: template.id,
      statusKey: 'none',
      customFields: { colour: 1 },
      settings: { governance: {} },
      ownerPrincipalId: newId(),
    };
    const fields = { fields: ['workspaceId', 'workspaceSlug'] };
    assert.deepEqual(
      await refused(create({ ...wrong, workspaceId: null }), 422, 'invalid_project_request'),
      fields,
    );
    assert.deepEqual(
      await refused(create({ ...wrong, workspaceSlug: 'ab' }), 422, 'invalid_project_request'),
      fields,
    );
    const absent = newId();
    assert.deepEqual(await refused(create({ ...wrong, workspaceId: absent }), 404, 'not_found'), {
      workspaceId: absent,
    });
    assert.deepEqual(
      await refused(create({ ...wrong, workspaceId: archivedId }), 422, 'workspace_archived'),
      {
        workspaceId: archivedId,
      },
    );
    for (const named of [
      { templateId: null },
      { templateKey: template.key },
      { templateVersion: 1 },
      { templateId: null, templateVersion: 1 },
    ])
      await refused(create({ ...wrong, ...named }), 422, 'invalid_template_reference');
    assert.deepEqual(await refused(create({ ...wrong, templateId: absent }), 404, 'not_found'), {
      projectTemplateId: absent,
    });
    const byKey = { ...wrong, templateId: null };
    await refused(create({ ...byKey, templateKey: template.key, templateVersion: 9 }), 404, 'not_found');
    for (const named of [
      { templateId: old.id },
      { templateId: null, templateKey: old.key },
      { templateId: null, templateKey: old.key, templateVersion: 1 },
    ])
      assert.deepEqual(await refused(create({ ...wrong, ...named }), 422, 'template_deprecated'), {
        templateKey: old.key,
        templateVersion: 1,
      });
    assert.deepEqual(await refused(create(wrong), 422, 'status_not_in_lifecycle'), {
      field: 'statusKey',
      statusKey: 'none',
      known: ['planned', 'active', 'paused', 'completed', 'cancelled'],
    });
    const second = { ...wrong, statusKey: 'paused' };
    const { errors } = await refused(create(second), 422, 'custom_fields_invalid');
    assert.equal(errors.length, 1);
    for (const [customFields, code] of [
      [[], 'invalid_document'],
      [{ market: 'x'.repeat(65_536) }, 'payload_too_large'],
      [nested(), 'payload_too_deep'],
    ] as const)
      await refused(create({ ...second, customFields }), 422, code);
    const third = { ...second, customFields: {} };
    await refused(create(third), 422, 'governance_not_in_settings');
    for (const [settings, code] of [
      [[], 'invalid_document'],
      [{ a: { apiKey: 'x' } }, 'secret_material_rejected'],
      [{ agentInstructions: 1 }, 'invalid_config'],
      [{ agentInstructions: 'x'.repeat(16_385) }, 'instructions_too_large'],
    ] as const)
      await refused(create({ ...third, settings }), 422, code);
    const fourth = { ...third, settings: {} };
    assert.deepEqual(await refused(create(fourth), 404, 'not_found'), {
      principalId: wrong.ownerPrincipalId,
    });
    const project = await done(create({ ...fourth, ownerPrincipalId: baton.admin.principalId }), 201);
    assert.deepEqual([project.statusKey, project.ownerPrincipalId], ['paused', baton.admin.principalId]);
    await refused(create({ workspaceSlug: 'A', templateId: template.id }), 400, 'invalid_request');
  });

  test('refuses a new workspace as POST /workspaces does', async () => {
    const templateId = template.id;
    const below = (parentWorkspaceId: string, more: object = {}) =>
      create({ workspaceSlug: `p${newId()}`, parentWorkspaceId, templateId, ...more });
    const { id, slug } = await makeWorkspace(baton);
    await refused(create({ workspaceSlug: slug, templateId }), 409, 'workspace_slug_conflict');
    const type = await makeWorkspaceType(baton, { allowedChildTypes: [] });
    const strict = await makeWorkspace(baton, { typeId: type.id });
    await refused(below(strict.id), 422, 'child_type_not_allowed');
    const old = await makeWorkspaceType(baton);
    await done(baton.admin.post(`/workspace-types/${old.id}:archive`));
    await refused(below(id, { workspaceTypeKey: old.key }), 422, 'workspace_type_archived');
    let deepest = id;
    for (let level = 2; level <= 64; level += 1)
      deepest = (await makeWorkspace(baton, { parentId: deepest })).id;
    await refused(below(deepest), 422, 'workspace_too_deep');
  });

  test('selects the newest active version of a key, or the requested version', async () => {
    const key = `t${newId()}`;
    const [, second, third] = [
      await makeTemplate(baton, { key }),
      await makeTemplate(baton, { key }),
      await makeTemplate(baton, { key }),
    ];
    await done(baton.admin.post(`/project-templates/${third.id}:deprecate`));
    assert.equal((await makeProject(baton, { templateKey: key })).templateId, second.id);
    assert.equal((await makeProject(baton, { templateKey: key, templateVersion: 1 })).templateVersion, 1);
  });

  test('refuses a setting that an ancestor has locked: 422 setting_locked', async () => {
    const above = await makeProject(baton);
    await configure(baton, above.id, { inheritance: { lockedSettings: ['b', 'a'] } });
    const below = { parentWorkspaceId: above.workspaceId, templateId: template.id };
    assert.deepEqual(
      await refused(
        create({ ...below, workspaceSlug: `p${newId()}`, settings: { a: 1, b: 2, c: 3 } }),
        422,
        'setting_locked',
      ),
      { lockedSettings: ['a', 'b'] },
    );
    await makeProject(baton, { ...below, settings: { c: 3 } });
  });
});

describe('GET /projects', () => {
  test('lists newest first, by each filter', async () => {
    const own = await makeTemplate(baton);
    const templateId = own.id;
    const [first, second] = [
      await makeProject(baton, { templateId }),
      await makeProject(baton, { templateId, statusKey: 'active' }),
    ];
    const third = await makeProject(baton, { templateId });
    await done(act(third, 'archive'));
    const list = async (query: string) =>
      (await done(baton.admin.get(`/projects?templateKey=${own.key}&${query}`))).items.map(
        ({ id }: any) => id,
      );
    assert.deepEqual(await list(''), [third.id, second.id, first.id]);
    assert.deepEqual(await list('status=archived'), [third.id]);
    assert.deepEqual(await list('status=active'), [second.id, first.id]);
    assert.deepEqual(await list('statusKey=active'), [second.id]);
    assert.deepEqual(await list('systemStatusCategory=planned'), [third.id, first.id]);
    assert.deepEqual(await list(`workspaceId=${first.workspaceId}`), [first.id]);
    const page = await done(baton.admin.get(`/projects?templateKey=${own.key}&limit=2`));
    assert.deepEqual(await list(`limit=2&cursor=${page.nextCursor}`), [first.id]);
    assert.deepEqual((await done(baton.otherAdmin.get('/projects'))).items, []);
  });

  test('refuses unknown statuses, categories, workspaces and cursors', async () => {
    const list = (query: string) => baton.admin.get(`/projects?${query}`);
    assert.deepEqual(await refused(list('status=gone'), 422, 'invalid_status'), {
      allowed: ['active', 'archived'],
    });
    const { known } = await refused(list('systemStatusCategory=backlog'), 422, 'invalid_status_category');
    assert.equal(known.length, 5);
    for (const query of ['externalSystem=x', 'externalId=x', 'externalType=x', 'externalType=x&externalId=y'])
      await refused(list(query), 422, 'invalid_external_lookup');
    await refused(list(`workspaceId=${newId()}`), 404, 'not_found');
    await refused(list('cursor=x'), 422, 'invalid_cursor');
    await refused(list('package=x'), 400, 'invalid_request');
  });

  test('a person who sees a part of the tree sees its projects, but not their ancestors', async () => {
    const { person, mine, other } = await makeNarrowPerson(baton);
    const templateId = template.id;
    const [seen, hidden] = [
      await makeProject(baton, { workspaceId: mine.id, templateId }),
      await makeProject(baton, { workspaceId: other.id, templateId }),
    ];
    const below = await makeSubproject(baton, seen, { templateId });
    const { items } = await done(person.get('/projects'));
    assert.deepEqual(
      items.map(({ id, parentProjectId }: any) => [id, parentProjectId]),
      [
        [below.id, seen.id],
        [seen.id, null],
      ],
    );
    await refused(person.get(`/projects?workspaceId=${other.id}`), 404, 'not_found');
    await done(baton.admin.post(`/workspaces/${mine.id}:move`, { newParentId: other.id }));
    assert.equal((await done(baton.admin.get(`/projects/${seen.id}`))).parentProjectId, hidden.id);
    assert.equal((await done(person.get(`/projects/${seen.id}`))).parentProjectId, null);
    assert.equal((await done(person.get('/projects'))).items.at(-1).parentProjectId, null);
  });
});

describe('PATCH /projects/{id}', () => {
  test('changes the given fields once; the event lists the changed fields', async () => {
    const project = await makeProject(baton, { templateId: template.id, targetDate: '2027-05-01' });
    const { principalId } = baton.admin;
    const body = {
      ownerPrincipalId: principalId,
      startDate: '2027-01-01T00:00:00+01:00',
      settings: { b: 1, a: [1] },
      customFields: { market: 'FR' },
    };
    const changed = await done(change(project, body));
    assert.deepEqual(
      [changed.version, changed.ownerPrincipalId, changed.startDate, changed.settings, changed.customFields],
      [2, principalId, '2026-12-31T23:00:00.000Z', { b: 1, a: [1] }, { market: 'FR' }],
    );
    assert.deepEqual(await lastEvent(project.id), [
      'project.updated',
      { changes: ['customFields', 'ownerPrincipalId', 'settings', 'startDate'], version: 2 },
    ]);
    const equal = { ...body, settings: { a: [1], b: 1 }, clearOwner: false, templateId: template.id };
    assert.deepEqual(await done(change(changed, equal)), changed, 'equal values change nothing');
    const cleared = await done(change(changed, { clearOwner: true, startDate: null, targetDate: null }));
    assert.deepEqual([cleared.ownerPrincipalId, cleared.startDate, cleared.targetDate], [null, null, null]);
    assert.equal((await eventsOf(baton, project.id)).length, 3);
  });

  test('moves to another template whose statuses and fields fit', async () => {
    const project = await makeProject(baton, { templateId: template.id, customFields: { market: 'DE' } });
    const statuses = [{ key: 'planned', category: 'active' }];
    const lifecycleSchema = { initialStatus: 'planned', statuses };
    const next = await makeTemplate(baton, { lifecycleSchema });
    const strict = await makeTemplate(baton, { fieldSchema: { required: ['size'] } });
    await refused(change(project, { templateId: strict.id }), 422, 'custom_fields_invalid');
    const started = await makeTemplate(baton, {
      lifecycleSchema: { initialStatus: 'go', statuses: [{ key: 'go', category: 'active' }] },
    });
    await refused(change(project, { templateId: started.id }), 422, 'status_not_in_lifecycle');
    const moved = await done(change(project, { templateKey: next.key }));
    assert.deepEqual(
      [moved.templateId, moved.systemStatusCategory, moved.statusKey],
      [next.id, 'active', 'planned'],
    );
    assert.deepEqual(await lastEvent(project.id), [
      'project.updated',
      { changes: ['templateId'], version: 2 },
    ]);
  });

  test('refuses in the documented order', async () => {
    const above = await makeProject(baton);
    await configure(baton, above.id, { inheritance: { lockedSettings: ['a'] } });
    const project = await makeSubproject(baton, above, { templateId: template.id });
    const old = await makeTemplate(baton);
    await done(baton.admin.post(`/project-templates/${old.id}:deprecate`));
    for (const field of ['ownerPrincipalId', 'customFields', 'settings', 'clearOwner', 'templateId'])
      assert.deepEqual(await refused(change(project, { [field]: null }), 422, 'invalid_field'), { field });
    const wrong = {
      templateVersion: 1,
      customFields: { colour: 1 },
      settings: { governance: 1 },
      ownerPrincipalId: newId(),
    };
    assert.deepEqual(await refused(change({ ...project, version: 9 }, wrong), 409, 'version_conflict'), {
      projectId: project.id,
      entity: 'project',
      id: project.id,
      expectedVersion: 9,
      currentVersion: 1,
    });
    await refused(change(project, wrong), 422, 'invalid_template_reference');
    await refused(
      change(project, { ...wrong, templateVersion: undefined, templateId: newId() }),
      404,
      'not_found',
    );
    const { templateVersion: _, ...second } = wrong;
    await refused(change(project, { ...second, templateId: old.id }), 422, 'template_deprecated');
    await refused(change(project, second), 422, 'custom_fields_invalid');
    const { customFields: __, ...third } = second;
    await refused(change(project, third), 422, 'governance_not_in_settings');
    for (const [settings, code] of [
      [[], 'invalid_document'],
      [{ x: 'x'.repeat(65_536) }, 'payload_too_large'],
      [nested(), 'payload_too_deep'],
      [{ agentInstructions: 1 }, 'invalid_config'],
      [{ agentInstructions: 'x'.repeat(16_385) }, 'instructions_too_large'],
      [{ x: { token: 1 } }, 'secret_material_rejected'],
    ] as const)
      await refused(change(project, { ...third, settings }), 422, code);
    assert.deepEqual(
      await refused(change(project, { ...third, settings: { a: 1 } }), 422, 'setting_locked'),
      {
        lockedSettings: ['a'],
      },
    );
    const { settings: ___, ...last } = third;
    await refused(change(project, { ...last, clearOwner: true }), 422, 'invalid_project_request');
    await refused(change(project, last), 404, 'not_found');
    await refused(change(project, {}), 422, 'empty_update');
    await refused(change(project, { statusKey: 'active' }), 400, 'invalid_request');
    await done(act(project, 'archive'));
    await refused(change({ ...project, version: 2 }, wrong), 422, 'project_archived');
  });
});

describe('POST /projects/{id}:transition', () => {
  test('follows the edges of the lifecycle', async () => {
    const project = await makeProject(baton, { templateId: template.id });
    const moved = await done(
      transition(project, { statusKey: 'active', comment: 'password: abcdefghijklmnopq' }),
    );
    assert.deepEqual([moved.statusKey, moved.systemStatusCategory, moved.version], ['active', 'active', 2]);
    assert.deepEqual(await lastEvent(project.id), [
      'project.status_changed',
      {
        fromStatusKey: 'planned',
        fromSystemStatusCategory: 'planned',
        statusKey: 'active',
        systemStatusCategory: 'active',
        comment: '[redacted]',
        version: 2,
      },
    ]);
    assert.equal(
      (await done(transition(moved, { statusKey: 'completed' }))).systemStatusCategory,
      'terminal_success',
    );
  });

  test('refuses in the documented order', async () => {
    const project = await makeProject(baton, { templateId: template.id });
    await refused(transition({ ...project, version: 7 }, { statusKey: 'none' }), 409, 'version_conflict');
    const { known } = await refused(
      transition(project, { statusKey: 'none' }),
      422,
      'status_not_in_lifecycle',
    );
    assert.equal(known.length, 5);
    for (const statusKey of ['planned', 'completed'])
      assert.deepEqual(await refused(transition(project, { statusKey }), 422, 'invalid_transition'), {
        from: 'planned',
        to: statusKey,
        allowed: ['active', 'cancelled'],
      });
    await refused(transition(project, { statusKey: '' }), 400, 'invalid_request');
    await refused(
      transition(project, { statusKey: 'active', comment: 'x'.repeat(1001) }),
      400,
      'invalid_request',
    );
    const cancelled = await done(transition(project, { statusKey: 'cancelled' }));
    const end = { from: 'cancelled', to: 'active', allowed: [] };
    assert.deepEqual(
      await refused(transition(cancelled, { statusKey: 'active' }), 422, 'invalid_transition'),
      end,
    );
    await done(act(cancelled, 'archive'));
    await refused(transition({ ...project, version: 3 }, { statusKey: 'none' }), 422, 'project_archived');
  });
});

describe(':archive and :restore', () => {
  test('return 200 again without an event', async () => {
    const project = await makeProject(baton, { templateId: template.id });
    const { workspaceId } = project;
    for (const [action, status, version] of [
      ['archive', 'archived', 2],
      ['restore', 'active', 3],
    ])
      for (const _ of [1, 2]) {
        const moved = await done(act(project, action as string));
        assert.deepEqual(
          [moved.status, moved.version, moved.archivedAt === null],
          [status, version, status === 'active'],
        );
      }
    const events = (await eventsOf(baton, project.id)).slice(1);
    assert.deepEqual(
      events.map(({ type, payload }) => [type, payload]),
      [
        ['project.archived', { workspaceId, version: 2 }],
        ['project.restored', { workspaceId, version: 3 }],
      ],
    );
  });

  test('a workspace is archived after its project, and restored before it', async () => {
    const project = await makeProject(baton, { templateId: template.id });
    const { workspaceId } = project;
    const archive = () => baton.admin.post(`/workspaces/${workspaceId}:archive`);
    assert.deepEqual(await refused(archive(), 422, 'workspace_has_active_project'), {
      projectId: project.id,
    });
    await done(act(project, 'archive'));
    await done(archive());
    assert.deepEqual(await refused(act(project, 'restore'), 422, 'workspace_archived'), { workspaceId });
    await done(baton.admin.post(`/workspaces/${workspaceId}:restore`));
    await done(act(project, 'restore'));
  });

  test('a project below an archived one is not restored before that: 422 project_archived', async () => {
    const above = await makeProject(baton, { templateId: template.id });
    const below = await makeSubproject(baton, above, { templateId: template.id });
    await done(act(below, 'archive'));
    await done(act(above, 'archive'));
    assert.deepEqual(await refused(act(below, 'restore'), 422, 'project_archived'), { projectId: above.id });
    await done(act(above, 'restore'));
    await done(act(below, 'restore'));
  });
});

test('the tree includes the project of each workspace, unless the request excludes it', async () => {
  const project = await makeProject(baton, { templateId: template.id });
  const { workspaceId, id, statusKey, systemStatusCategory, status, templateKey, templateVersion } = project;
  await makeWorkspace(baton, { parentId: workspaceId });
  const tree = async (query: string) =>
    (await done(baton.admin.get(`/workspaces/tree?rootId=${workspaceId}${query}`))).roots[0];
  const root = await tree('');
  assert.deepEqual(root.project, {
    id,
    statusKey,
    systemStatusCategory,
    status,
    templateKey,
    templateVersion,
  });
  assert.equal(root.children[0].project, null);
  assert.ok(!('project' in (await tree('&includeProjects=false'))));
});
