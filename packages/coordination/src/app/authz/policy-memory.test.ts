import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Permission } from '../../service/permissions.ts';
import { type PolicyMode, startPolicyMode } from '../../testing/access/policy-mode.ts';
import type { TestPolicy } from '../../testing/access/policy-service.ts';
import type { Actor, TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, makeTask, openSession, refused } from '../../testing/leases.ts';
import { makeTypeWithContext, requestContext } from '../../testing/memory/contexts.ts';
import { startMemoryService, type TestMemory } from '../../testing/memory/memory-service.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import {
  makeProcessAgent,
  makeProcessWorker,
  publishProcess,
  specOf,
} from '../../testing/processes/process-instances.ts';

/** CP_AUTHZ_MODE policy: memory is read only from the namespaces that the decision point grants. */

let memory: TestMemory;
before(async () => {
  memory = await startMemoryService();
});
after(() => memory.close());

const billing = { kind: 'service', key: 'service:billing' };
const recalls = { anchor: 'service:billing' };

for (const wire of ['baton', 'authzen'] as const)
  describe(wire === 'baton' ? 'a decision point with a search' : 'a decision point without a search', () => {
    let mode: PolicyMode;
    let baton: TestCoordination;
    let policy: TestPolicy;
    let names: { tenant: string; tree: string };
    let workspaceId: string;
    let reader: Actor;
    /** The namespaces that the decision point grants to the reader. */
    let shown: string[] = [];
    before(async () => {
      mode = await startPolicyMode({
        CP_POLICY_WIRE: wire,
        CP_CONTEXT_PROVIDER: 'http',
        CP_CONTEXT_BASE_URL: memory.url,
        CP_CONTEXT_CIRCUIT_FAILURES: '1000',
      });
      ({ baton, policy } = mode);
      workspaceId = (await makeWorkspace(baton)).id;
      const tenant = `tenant:${baton.tenantId}`;
      names = { tenant, tree: `${tenant}:ws:${workspaceId}` };
      for (const name of Object.values(names)) memory.knowledge.know(name, { entities: [billing] });
      reader = await baton.actor();
    });
    after(() => mode.close());
    beforeEach(() => {
      mode.reset();
      shown = [];
      mode.grant(({ resource }) => {
        const [type, id = ''] = resource.split(':');
        return type !== 'memory_namespace' || shown.includes(id);
      });
      policy.list((_who, action, type) =>
        `${action} ${type}` === 'memory.read memory_namespace' ? shown : [],
      );
      if (wire === 'authzen')
        policy.behave((path, _body, res) => {
          if (!path.includes('search')) return undefined;
          res.writeHead(404).end();
          return 'answered';
        });
      memory.calls.length = 0;
    });
    const show = (...which: ('tenant' | 'tree')[]) => {
      const ids = { tenant: `tenant-${baton.tenantId}`, tree: `ws-${workspaceId}` };
      shown = which.map((one) => ids[one]);
    };
    const namespacesAsked = () => {
      const { namespace, namespaces = [namespace] } = memory.calls.at(-1)?.body.scope ?? {};
      return namespaces;
    };

    test('a context has the memory of these namespaces; without any it is forbidden, and memory is not called', async () => {
      const nothing = await requestContext(reader, { workspaceId });
      assert.deepEqual(
        [nothing.memoryStatus, nothing.memory, nothing.memoryTraceId],
        ['forbidden', null, null],
      );
      assert.equal(nothing.operational.focus, null);
      assert.equal(memory.calls.length, 0);
      for (const which of [['tenant'], ['tree'], ['tenant', 'tree']] as ('tenant' | 'tree')[][]) {
        show(...which);
        assert.equal((await requestContext(reader, { workspaceId })).memoryStatus, 'ok');
        assert.deepEqual(
          namespacesAsked(),
          which.map((one) => names[one]),
        );
      }
      const calls = memory.calls.length;
      shown = ['tenant', baton.tenantId, names.tenant, `tenant-${workspaceId}`, `ws-${baton.tenantId}`];
      assert.equal((await requestContext(reader, { workspaceId })).memoryStatus, 'forbidden');
      assert.equal(memory.calls.length, calls);
    });

    test('a recall reads these namespaces, and is refused without any', async () => {
      const asked = { ...recalls, workspaceId };
      const { required } = await refused(reader.post('/context/recall', asked), 403, 'permission_denied');
      assert.deepEqual(required, ['memory.read']);
      assert.equal(memory.calls.length, 0);
      show('tree');
      assert.deepEqual((await done(reader.post('/context/recall', asked))).namespaces, [names.tree]);
      show('tree', 'tenant');
      const both = await done(reader.post('/context/recall', asked));
      assert.deepEqual(both.namespaces, [names.tenant, names.tree]);
      assert.deepEqual(namespacesAsked(), [names.tenant, names.tree]);
    });

    test('objects are looked up if the namespace of their tree is granted', async () => {
      const query = { workspaceId, kinds: ['service'] };
      show('tenant');
      await refused(reader.post('/knowledge/entities:query', query), 403, 'permission_denied');
      assert.equal(memory.calls.length, 0);
      show('tree');
      await done(reader.post('/knowledge/entities:query', query));
      assert.equal(memory.calls.length, 1);
    });

    test('the context given to an executor is shown to callers that may read all its sources', async () => {
      const typeKey = await makeTypeWithContext(baton, { anchors: ['service:billing'] });
      const task = await makeTask(baton, { typeKey, workspaceId });
      const actor = await baton.actor();
      await claimTask({ actor, sessionId: await openSession(actor) }, task.id);
      show('tenant', 'tree');
      const { taskContext: told } = await requestContext(actor, { task: task.id });
      assert.deepEqual([told.status, told.recorded], ['ok', true]);
      const { contextPackId } = told;
      const paths = [`/context-packs/${contextPackId}`, `/context-packs/${contextPackId}:replay`] as const;
      const part = async (more: object = {}) =>
        (await requestContext(reader, { task: task.id, ...more })).taskContext;
      for (const which of [[], ['tree'], ['tenant']] as ('tenant' | 'tree')[][]) {
        show(...which);
        memory.calls.length = 0;
        await refused(reader.get(paths[0]), 403, 'permission_denied');
        await refused(reader.post(paths[1]), 403, 'permission_denied');
        assert.equal(memory.calls.length, 0);
        const status = ['forbidden', 'disabled'];
        for (const [n, more] of [{}, { includeMemory: false }].entries()) {
          const { status: said, pack } = await part(more);
          assert.deepEqual([said, pack], [status[n], null]);
        }
      }
      show('tenant', 'tree');
      await done(reader.get(paths[0]));
      await done(reader.post(paths[1]));
      assert.equal((await part()).replayed, true);
      assert.equal((await part({ includeMemory: false })).replayed, true);
      mode.grant(({ action }) => action !== 'events.read');
      const withoutRight = await part({ includeMemory: false });
      assert.deepEqual([withoutRight.status, withoutRight.pack], ['disabled', null]);
    });

    test("a process queries memory on behalf of its agent, within the agent's rights", async () => {
      const { key } = await makeProcessAgent(baton);
      const recall = { id: 'r', recall: { anchors: ['service:billing'] }, export: { as: 'known' } };
      const worker = makeProcessWorker(baton);
      after(() => worker.close());
      for (const which of [[], ['tree']] as ('tenant' | 'tree')[][]) {
        show(...which);
        memory.calls.length = 0;
        const process = await publishProcess(baton.admin, specOf(key, [recall], { workspaceId }));
        const body = { process, key: 'one', data: {} };
        const { id } = await done(baton.admin.post('/process-instances', body), 201);
        await worker.run();
        const { status, state } = await done(baton.admin.get(`/process-instances/${id}`));
        const isShown = which.length > 0;
        assert.equal(status, isShown ? 'completed' : 'suspended', JSON.stringify(state));
        assert.equal(memory.calls.length, isShown ? 1 : 0);
        if (isShown) assert.deepEqual(namespacesAsked(), [names.tree]);
      }
    });

    test('the point is queried once before memory, and its failure results in 503', async () => {
      show('tenant', 'tree');
      await requestContext(reader, { workspaceId });
      assert.equal(memory.calls.length, 1, 'the call is repeated for each decision; memory is queried last');
      memory.calls.length = 0;
      policy.behave((path, body: { action?: unknown }, res) => {
        if (!path.includes('list-objects') && !JSON.stringify(body).includes('memory.read')) return undefined;
        res.writeHead(500).end();
        return 'answered';
      });
      for (const path of ['/context', '/context/recall'])
        await refused(
          reader.post(path, path === '/context' ? { query: 'x', workspaceId } : { ...recalls, workspaceId }),
          503,
          'policy_unavailable',
        );
      assert.equal(memory.calls.length, 0);
    });
  });

test('a namespace is authorized with its workspace', async () => {
  const mode = await startPolicyMode({
    CP_POLICY_WIRE: 'authzen',
    CP_CONTEXT_PROVIDER: 'http',
    CP_CONTEXT_BASE_URL: memory.url,
  });
  const { baton, policy } = mode;
  try {
    mode.reset();
    mode.grant(() => true);
    policy.behave((path, _body, res) => {
      if (!path.includes('search')) return undefined;
      res.writeHead(404).end();
      return 'answered';
    });
    const root = await makeWorkspace(baton);
    const below = await makeWorkspace(baton, { parentId: root.id });
    const reader = await baton.actor({ permissions: ['events.read'] satisfies Permission[] });
    policy.asked.length = 0;
    await requestContext(reader, { workspaceId: below.id });
    const asked = policy.asked.filter(({ action }) => action === 'memory.read');
    const tenant = `tenant:${baton.tenantId}`;
    assert.deepEqual(
      asked.map(({ resource, tuples }) => [resource, tuples]),
      [
        [
          `memory_namespace:tenant-${baton.tenantId}`,
          [{ object: `memory_namespace:tenant-${baton.tenantId}`, relation: 'workspace', subject: tenant }],
        ],
        [
          `memory_namespace:ws-${root.id}`,
          [
            {
              object: `memory_namespace:ws-${root.id}`,
              relation: 'workspace',
              subject: `workspace:${root.id}`,
            },
            { object: `workspace:${root.id}`, relation: 'parent', subject: tenant },
          ],
        ],
      ],
    );
  } finally {
    await mode.close();
  }
});
