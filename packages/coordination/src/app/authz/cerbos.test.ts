import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Cerbos, cerbosMissing, startCerbos } from '../../testing/access/cerbos.ts';
import { type PolicyMode, startPolicyMode } from '../../testing/access/policy-mode.ts';
import type { Actor, TestCoordination } from '../../testing/coordination.ts';
import { done, makeRun, makeTask, openSession, refused } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';

/** CP_AUTHZ_MODE policy with a real decision point: Cerbos with AuthZEN 1.0. */

/** Agents may do everything with their own objects, and people with all objects of their tenant. */
const policyOf = (resource: string, isTheirs: string) => `
apiVersion: api.cerbos.dev/v1
resourcePolicy:
  resource: ${resource}
  version: default
  rules:
    - actions: ['*']
      effect: EFFECT_ALLOW
      roles: ['*']
      condition:
        match:
          expr: request.principal.attr.tenantId == request.resource.attr.tenantId && (${isTheirs})`;
/** AuthZEN's subject type becomes the role in Cerbos. */
const isPerson = `'human' in request.principal.roles`;
const own = 'request.resource.attr.owner == request.principal.id';

describe('Cerbos decides', { skip: cerbosMissing() ?? false }, () => {
  let cerbos: Cerbos;
  let mode: PolicyMode;
  let baton: TestCoordination;
  let agent: Actor;
  before(async () => {
    cerbos = await startCerbos({
      task: policyOf('task', `${isPerson} || ${own}`),
      run: policyOf('run', `${isPerson} || request.resource.attr.holder == request.principal.id`),
      workspace: policyOf('workspace', isPerson),
      approval: policyOf('approval', isPerson),
      tenant: `${policyOf('tenant', isPerson)}
    - actions: ['sessions.open']
      effect: EFFECT_ALLOW
      roles: ['agent']`,
    });
    mode = await startPolicyMode({ CP_POLICY_WIRE: 'authzen', CP_POLICY_BASE_URL: cerbos.url });
    ({ baton } = mode);
    agent = await baton.actor({ permissions: [] });
  });
  after(async () => {
    await mode?.close();
    await cerbos?.close();
  });

  test('decides on one object by its attributes', async () => {
    const workspace = await makeWorkspace(baton);
    const mine = await makeTask(baton, { workspaceId: workspace.id, ownerId: agent.principalId });
    const other = await makeTask(baton, { workspaceId: workspace.id });
    await done(agent.get(`/tasks/${mine.id}`));
    const details = await refused(agent.get(`/tasks/${other.id}`), 403, 'permission_denied');
    assert.deepEqual([details.resource, details.reasonCode], [`task:${other.id}`, 'denied']);
    await refused(agent.post('/tasks', { title: 'no' }), 403, 'permission_denied');
    await refused(agent.get(`/workspaces/${workspace.id}`), 403, 'permission_denied');
  });

  test('decides on work from the claim to the end of its run', async () => {
    const worker = { actor: agent, sessionId: await openSession(agent) };
    const { run } = await makeRun(baton, worker, { task: { ownerId: agent.principalId } });
    await done(agent.post(`/runs/${run.id}:succeed`, {}));
    const stranger = await baton.actor();
    await refused(stranger.get(`/runs/${run.id}`), 403, 'permission_denied');
    const free = await makeTask(baton);
    const claim = { sessionId: worker.sessionId };
    await refused(agent.post(`/tasks/${free.id}:claim`, claim), 403, 'permission_denied');
  });

  test('decides on each row in a list, since it has no search', async () => {
    const reader = await baton.actor({ permissions: [] });
    const mine = [];
    for (let n = 0; n < 24; n += 1)
      if (n % 6 === 0) mine.push((await makeTask(baton, { ownerId: reader.principalId })).id);
      else await makeTask(baton);
    for (const limit of [1, 3, 200]) {
      const ids: string[] = [];
      let cursor: string | null = null;
      do {
        const from: string = cursor === null ? '' : `&cursor=${cursor}`;
        const page = await done(reader.get(`/tasks?limit=${limit}${from}`));
        ids.push(...page.items.map(({ id }: { id: string }) => id));
        cursor = page.nextCursor;
      } while (cursor !== null);
      assert.deepEqual(ids, [...mine].reverse());
    }
  });

  test('decides on many checks together, including several on one object', async () => {
    const worker = { actor: agent, sessionId: await openSession(agent) };
    const runs = [];
    for (let n = 0; n < 3; n += 1)
      runs.push((await makeRun(baton, worker, { task: { ownerId: agent.principalId } })).run.id);
    const checks = runs.map((resourceId) => ({ action: 'cancel', resourceType: 'run', resourceId }));
    const disable = { action: 'disable', resourceType: 'principal', resourceId: agent.principalId };
    const { results } = await done(agent.post('/authz:check', { checks: [...checks, disable] }));
    assert.deepEqual(
      results.map(({ allowed }: { allowed: boolean }) => allowed),
      [true, true, true, false],
    );
  });

  test('denies everything while it is down, until it is up again', async () => {
    const task = await makeTask(baton, { ownerId: agent.principalId });
    await cerbos.kill();
    await refused(agent.get(`/tasks/${task.id}`), 503, 'policy_unavailable');
    await refused(agent.get('/tasks'), 503, 'policy_unavailable');
    await cerbos.start();
    await done(agent.get(`/tasks/${task.id}`));
  });
});
