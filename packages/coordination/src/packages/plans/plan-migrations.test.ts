import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { applyDocuments, newKey, planDocuments } from '../../testing/packages/package-sources.ts';
import {
  humanStep,
  makeProcessAgent,
  makeProcessWorker,
  specOf,
  startProcessInstance,
} from '../../testing/processes/process-instances.ts';

// A package whose new version migrates the instances of a process (docs/reference/packages.md#plan).

let baton: TestCoordination;
let worker: ReturnType<typeof makeProcessWorker>;
let agent: Awaited<ReturnType<typeof makeProcessAgent>>;
before(async () => {
  baton = await startCoordination();
  worker = makeProcessWorker(baton);
  agent = await makeProcessAgent(baton);
});
after(async () => {
  await worker.close();
  await baton.close();
});

const flow = (key: string, version: number, due: string, more: object = {}) => ({
  kind: 'Process',
  key,
  spec: specOf(agent.key, [humanStep('look', { due })], { version, due: 'P9D', ...more }),
});
const migrations = [{ from: 1, to: 2, policy: 'migrate' }];

test('a plan lists the instances that migrate and the deadlines that move, and its apply has the same result', async () => {
  const [named, process] = [{ key: newKey('p') }, newKey('x')];
  await applyDocuments(baton.admin, named, [flow(process, 1, 'P1D')]);
  const { id, openElements } = await startProcessInstance(baton.admin, process);
  const second = [flow(process, 2, 'P3D', { migrations })];
  const [planned] = (await planDocuments(baton.admin, { ...named, version: '2' }, second)).processes;
  const dueAt = new Date(Date.parse(openElements[0].since) + 3 * 86_400_000).toISOString();
  assert.deepEqual(planned.instances, [{ version: 1, open: 1, fate: 'migrate', migrationRequired: false }]);
  assert.deepEqual(planned.deadlines, [{ instanceId: id, dueAt }]);
  assert.equal(planned.deadlinesTotal, 1);
  const planner = await baton.actor({ permissions: ['packages.plan'] });
  const [unread] = (await planDocuments(planner, { ...named, version: '2' }, second)).processes;
  assert.deepEqual([unread.deadlines, unread.deadlinesTotal], [[], 0]);
  await applyDocuments(baton.admin, { ...named, version: '2' }, second);
  await worker.run();
  const now = await done(baton.admin.get(`/process-instances/${id}`));
  assert.deepEqual([now.definitionVersion, now.openElements[0].due.dueAt], [2, dueAt]);
});

test('an impossible migration is a problem of the package', async () => {
  const [named, process] = [{ key: newKey('p') }, newKey('x')];
  await applyDocuments(baton.admin, named, [flow(process, 1, 'P1D')]);
  const wrong = {
    ...flow(process, 2, 'P1D'),
    spec: specOf(agent.key, [{ id: 'other', wait: 'PT1S' }], {
      version: 2,
      migrations: [{ ...migrations[0], map: { look: 'other' } }],
    }),
  };
  const { problems } = await planDocuments(baton.admin, { ...named, version: '2' }, [wrong]);
  assert.deepEqual(
    problems.filter(({ severity }: any) => severity === 'error').map(({ code, path }: any) => [code, path]),
    [['element_kind_changed', '/spec/migrations/0']],
  );
});
