import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { newId } from '@baton/values/ids';
import type { Actor } from '../../testing/coordination.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, eventsOf, makeTask, makeWorker, refused } from '../../testing/leases.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const word = () => crypto.randomUUID().slice(0, 8);
const makeRole = (more: object = {}) =>
  done(baton.admin.post('/roles', { slug: `r-${word()}`, name: 'R', ...more }), 201);
const makeCapability = () => done(baton.admin.post('/capabilities', { name: word() }), 201);
const makeSkill = (more: object = {}) =>
  done(baton.admin.post('/skills', { name: word(), protocol: 'mcp', ...more }), 201);
const makeWorkspace = (more: object = {}) =>
  done(baton.admin.post('/workspaces', { slug: `w-${word()}`, name: 'W', ...more }), 201);
const give = (actor: Actor, path: string, body: object) =>
  done(baton.admin.post(`/principals/${actor.principalId}/${path}`, body), 201);
const requirementsOf = (id: string) => done(baton.admin.get(`/tasks/${id}/requirements`));
const change = (id: string, body: object, version: number) =>
  baton.admin.patch(`/tasks/${id}`, body, { 'if-match': `task-${version}` });

describe('requirements of a task', () => {
  test('are stored with the task, in the given order, without duplicates', async () => {
    const [role, capability, pinned, any] = [
      await makeRole(),
      await makeCapability(),
      await makeSkill({ version: '2' }),
      await makeSkill(),
    ];
    const task = await makeTask(baton, {
      requirements: {
        roles: [role.slug, role.slug],
        capabilities: [capability.name],
        skills: [`${pinned.name}@2`, any.name],
      },
    });
    assert.deepEqual(await requirementsOf(task.publicId), {
      roles: [{ id: role.id, slug: role.slug }],
      capabilities: [{ id: capability.id, name: capability.name }],
      skills: [
        { id: pinned.id, name: pinned.name, version: '2', anyVersion: false },
        { id: any.id, name: any.name, version: '1.0.0', anyVersion: true },
      ],
    });
    await refused(baton.admin.get(`/tasks/${newId()}/requirements`), 404, 'not_found');
    await refused(baton.otherAdmin.get(`/tasks/${task.id}/requirements`), 404, 'not_found');
  });

  test('a malformed name returns 422 invalid_requirement, an unknown one unknown_requirement', async () => {
    const post = (requirements: object) => baton.admin.post('/tasks', { title: 'x', requirements });
    for (const [requirements, field] of [
      [{ roles: ['Not A Slug'] }, 'role'],
      [{ roles: ['r'] }, 'role'],
      [{ capabilities: [''] }, 'capability'],
      [{ capabilities: ['c'.repeat(201)] }, 'capability'],
      [{ skills: ['@1'] }, 'skill'],
      [{ skills: ['a@'] }, 'skill'],
      [{ skills: ['a@1@2'] }, 'skill'],
      [{ skills: [`a@${'1'.repeat(51)}`] }, 'skill'],
    ] as const)
      assert.deepEqual(await refused(post(requirements), 422, 'invalid_requirement'), { field });
    const skill = await makeSkill();
    for (const requirements of [
      { roles: ['nothing'] },
      { capabilities: ['nothing'] },
      { skills: ['nothing'] },
      { skills: [`${skill.name}@9`] },
    ]) {
      const details = await refused(post(requirements), 422, 'unknown_requirement');
      const [[kinds, [name]]] = Object.entries(requirements) as [[string, string[]]];
      assert.deepEqual(details, { [kinds === 'capabilities' ? 'capability' : kinds.slice(0, -1)]: name });
    }
    for (const kind of ['roles', 'capabilities', 'skills'])
      await refused(post({ [kind]: Array.from({ length: 51 }, (_, n) => `r-${n}`) }), 400, 'invalid_request');
  });

  test('a disabled skill is unknown; a name selects its newest active version, or the newest enabled one', async () => {
    const first = await makeSkill({ version: '1' });
    const second = await makeSkill({ name: first.name, version: '2' });
    const idOf = async () => {
      const task = await makeTask(baton, { requirements: { skills: [first.name] } });
      return (await requirementsOf(task.id)).skills[0].id;
    };
    const move = (skill: any, status: string, version = 1) =>
      done(baton.admin.patch(`/skills/${skill.id}`, { status }, { 'if-match': `skill-${version}` }));
    assert.equal(await idOf(), second.id);
    await move(second, 'deprecated');
    assert.equal(await idOf(), first.id);
    await move(first, 'disabled');
    assert.equal(await idOf(), second.id);
    const post = (name: string) =>
      baton.admin.post('/tasks', { title: 'x', requirements: { skills: [name] } });
    await refused(post(`${first.name}@1`), 422, 'unknown_requirement');
    await move(second, 'disabled', 2);
    await refused(post(first.name), 422, 'unknown_requirement');
  });

  test('the slug of a role is looked up from the workspace upward, and last in the tenant', async () => {
    const above = await makeWorkspace();
    const below = await makeWorkspace({ parentId: above.id });
    const slug = `r-${word()}`;
    const roles = new Map<string | null, string>();
    const roleIn = async (workspaceId: string | null) => {
      const task = await makeTask(baton, { workspaceId, requirements: { roles: [slug] } });
      return (await requirementsOf(task.id)).roles[0].id;
    };
    for (const workspaceId of [null, above.id, below.id])
      roles.set(workspaceId, (await makeRole({ slug, workspaceId })).id);
    assert.equal(await roleIn(below.id), roles.get(below.id));
    assert.equal(await roleIn(above.id), roles.get(above.id));
    assert.equal(await roleIn(null), roles.get(null));
    const beside = await makeWorkspace();
    assert.equal(await roleIn(beside.id), roles.get(null));
    const onlyBelow = await makeRole({ workspaceId: below.id });
    await refused(
      baton.admin.post('/tasks', {
        title: 'x',
        workspaceId: above.id,
        requirements: { roles: [onlyBelow.slug] },
      }),
      422,
      'unknown_requirement',
    );
  });

  test('PATCH replaces all of them; equal ones are no change; the event lists their names', async () => {
    const [role, capability, skill] = [await makeRole(), await makeCapability(), await makeSkill()];
    const requirements = { roles: [role.slug], capabilities: [capability.name], skills: [skill.name] };
    const task = await makeTask(baton, { requirements });
    assert.equal((await done(change(task.id, { requirements }, 1))).version, 1);
    const { version } = await done(change(task.id, { requirements: { skills: [skill.name] } }, 1));
    assert.equal(version, 2);
    const { roles, capabilities } = await requirementsOf(task.id);
    assert.deepEqual([roles, capabilities], [[], []]);
    await done(change(task.id, { requirements: {} }, 2));
    assert.deepEqual(await requirementsOf(task.id), { roles: [], capabilities: [], skills: [] });
    const changes = (await eventsOf(baton, task.id)).slice(1).map(({ payload }) => payload['changes']);
    assert.deepEqual(changes, [
      { requirements: { roles: [], capabilities: [], skills: [skill.name] } },
      { requirements: { roles: [], capabilities: [], skills: [] } },
    ]);
    await refused(change(task.id, { requirements: { roles: ['?'] } }, 3), 422, 'invalid_requirement');
    await refused(change(task.id, { requirements: { roles: ['nothing'] } }, 3), 422, 'unknown_requirement');
  });

  test('a moved task gets the role with the same slug there, or the move is refused', async () => {
    const [from, to, without] = [await makeWorkspace(), await makeWorkspace(), await makeWorkspace()];
    const slug = `r-${word()}`;
    const [there, here] = [
      await makeRole({ slug, workspaceId: from.id }),
      await makeRole({ slug, workspaceId: to.id }),
    ];
    const capability = await makeCapability();
    const requirements = { roles: [slug], capabilities: [capability.name] };
    const task = await makeTask(baton, { workspaceId: from.id, requirements });
    assert.equal((await requirementsOf(task.id)).roles[0].id, there.id);
    await done(change(task.id, { workspaceId: to.id }, 1));
    const moved = await requirementsOf(task.id);
    assert.deepEqual([moved.roles[0].id, moved.capabilities[0].id], [here.id, capability.id]);
    const details = await refused(
      change(task.id, { workspaceId: without.id }, 2),
      422,
      'unknown_requirement',
    );
    assert.deepEqual(details, { role: slug });
    const { workspaceId, version } = await done(baton.admin.get(`/tasks/${task.id}`));
    assert.deepEqual([workspaceId, version], [to.id, 2]);
    await done(change(task.id, { workspaceId: without.id, requirements: {} }, 2));
  });
});

describe('eligible callers', () => {
  test('are those with every role, capability and skill; missing ones are listed by name', async () => {
    const [role, capability, pinned, any] = [
      await makeRole(),
      await makeCapability(),
      await makeSkill({ version: '2' }),
      await makeSkill(),
    ];
    const otherVersion = await makeSkill({ name: any.name, version: '2' });
    const task = await makeTask(baton, {
      requirements: {
        roles: [role.slug],
        capabilities: [capability.name],
        skills: [`${pinned.name}@2`, any.name],
      },
    });
    const worker = await makeWorker(baton);
    const all = {
      missingRoles: [role.slug],
      missingCapabilities: [capability.name],
      missingSkills: [`${pinned.name}@2`, any.name],
    };
    const steps: [string, object, object][] = [
      ['roles', { roleId: role.id }, { missingRoles: [] }],
      ['capabilities', { capabilityId: capability.id }, { missingCapabilities: [] }],
      ['skills', { skillId: otherVersion.id }, { missingSkills: [`${pinned.name}@2`] }],
    ];
    const refuse = async (missing: object) => {
      const claimed = worker.actor.post(`/tasks/${task.id}:claim`, { sessionId: worker.sessionId });
      const details = await refused(claimed, 403, 'not_eligible');
      assert.deepEqual(details, { taskId: task.id, ...missing });
      const { claimable, reasons } = await done(worker.actor.get(`/tasks/${task.id}/claimability`));
      assert.equal(claimable, false);
      const { code, missingRoles, missingCapabilities, missingSkills } = reasons[0];
      assert.deepEqual({ missingRoles, missingCapabilities, missingSkills }, missing);
      assert.equal(code, 'not_eligible');
      const work = await done(worker.actor.get('/work/available?limit=200'));
      assert.ok(!work.items.some(({ id }: { id: string }) => id === task.id));
    };
    let missing: object = all;
    await refuse(missing);
    for (const [path, body, less] of steps) {
      await give(worker.actor, path, body);
      missing = { ...missing, ...less };
      await refuse(missing);
    }
    await give(worker.actor, 'skills', { skillId: pinned.id });
    const { claimable, reasons } = await done(worker.actor.get(`/tasks/${task.id}/claimability`));
    assert.deepEqual([claimable, reasons], [true, []]);
    const work = await done(worker.actor.get('/work/available?limit=200'));
    assert.ok(work.items.some(({ id }: { id: string }) => id === task.id));
    await claimTask(worker, task.id);
  });

  test('a role counts when it is held in the tenant, in the workspace of the task or above it', async () => {
    const above = await makeWorkspace();
    const workspace = await makeWorkspace({ parentId: above.id });
    const [below, beside] = [
      await makeWorkspace({ parentId: workspace.id }),
      await makeWorkspace({ parentId: above.id }),
    ];
    const role = await makeRole();
    const requirements = { roles: [role.slug] };
    for (const [workspaceId, counts] of [
      [null, true],
      [above.id, true],
      [workspace.id, true],
      [below.id, false],
      [beside.id, false],
    ]) {
      const task = await makeTask(baton, { workspaceId: workspace.id, requirements });
      const worker = await makeWorker(baton);
      await give(worker.actor, 'roles', { roleId: role.id, workspaceId });
      const claimed = worker.actor.post(`/tasks/${task.id}:claim`, { sessionId: worker.sessionId });
      if (counts) await done(claimed);
      else await refused(claimed, 403, 'not_eligible');
    }
    const nowhere = await makeTask(baton, { requirements });
    const worker = await makeWorker(baton);
    await give(worker.actor, 'roles', { roleId: role.id, workspaceId: above.id });
    await refused(
      worker.actor.post(`/tasks/${nowhere.id}:claim`, { sessionId: worker.sessionId }),
      403,
      'not_eligible',
    );
  });

  test('the tasks of a moved workspace are subject to the roles held there', async () => {
    const [from, to] = [await makeWorkspace(), await makeWorkspace()];
    const workspace = await makeWorkspace({ parentId: from.id });
    const role = await makeRole();
    const task = await makeTask(baton, { workspaceId: workspace.id, requirements: { roles: [role.slug] } });
    const worker = await makeWorker(baton);
    await give(worker.actor, 'roles', { roleId: role.id, workspaceId: to.id });
    const claimed = () => worker.actor.post(`/tasks/${task.id}:claim`, { sessionId: worker.sessionId });
    await refused(claimed(), 403, 'not_eligible');
    await done(baton.admin.post(`/workspaces/${workspace.id}:move`, { newParentId: to.id }));
    await done(claimed());
  });

  test('a revoked role and a disabled skill no longer count; a live claim is kept', async () => {
    const [role, skill] = [await makeRole(), await makeSkill()];
    const worker = await makeWorker(baton);
    await give(worker.actor, 'roles', { roleId: role.id });
    await give(worker.actor, 'skills', { skillId: skill.id });
    const requirements = { roles: [role.slug], skills: [skill.name] };
    const [held, next] = [await makeTask(baton, { requirements }), await makeTask(baton, { requirements })];
    const claim = await claimTask(worker, held.id);
    await done(baton.admin.patch(`/skills/${skill.id}`, { status: 'disabled' }, { 'if-match': 'skill-1' }));
    await done(baton.admin.post(`/principals/${worker.actor.principalId}/roles/${role.id}:revoke`, {}), 204);
    const claimed = worker.actor.post(`/tasks/${next.id}:claim`, { sessionId: worker.sessionId });
    const { missingRoles, missingSkills } = await refused(claimed, 403, 'not_eligible');
    assert.deepEqual([missingRoles, missingSkills], [[role.slug], [skill.name]]);
    await done(worker.actor.post(`/claims/${claim.id}:heartbeat`, {}));
  });

  test('not_eligible comes after task_not_claimable and before task_not_ready', async () => {
    const role = await makeRole();
    const [task, first] = [
      await makeTask(baton, { requirements: { roles: [role.slug] } }),
      await makeTask(baton),
    ];
    await done(
      baton.admin.post(`/tasks/${task.id}/relations`, { toTask: first.id, type: 'depends_on' }),
      201,
    );
    const worker = await makeWorker(baton);
    const claimed = () => worker.actor.post(`/tasks/${task.id}:claim`, { sessionId: worker.sessionId });
    await refused(claimed(), 403, 'not_eligible');
    await done(change(task.id, { status: 'cancelled' }, 1));
    await refused(claimed(), 422, 'task_not_claimable');
  });
});
