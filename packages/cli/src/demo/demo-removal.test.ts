import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { BatonClient, Principal } from '@baton/sdk';
import { program } from '@baton/testing/baton-process';
import { longTest } from '@baton/testing/depth';
import { type RunningBaton, startRunningBaton } from '@baton/testing/running-baton';

// Needs its own process: it compares everything that a Baton holds before and after a demo.

let running: RunningBaton;
let admin: BatonClient;

before(async () => {
  running = await startRunningBaton();
  ({ admin } = running);
});
after(() => running?.stop());

const start = (...words: string[]) =>
  program('packages/cli/src/main.ts', ['demo', ...words], { BATON_HOME: running.home });

async function demo(...words: string[]): Promise<string> {
  const started = start(...words);
  assert.equal(await started.ended, 0, started.output());
  return started.output();
}

async function all<Item>(pages: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of pages) items.push(item);
  return items;
}

const workspaces = async () => all(admin.workspaces.list({ limit: 200 }));
const ofDemo = ({ metadata }: Principal, slug: string) => metadata['demo'] === slug;

/** Checks that nobody can act as a principal of the demo in either service. */
async function assertDisabled(slug: string, count: number): Promise<void> {
  const principals = (await all(admin.principals.list({ limit: 200 }))).filter((one) => ofDemo(one, slug));
  assert.equal(principals.length, count);
  const { tenantId } = running.connection;
  for (const { id, status } of principals) {
    assert.equal(status, 'disabled');
    const { items } = await admin.principals.listIamBindings(id);
    const [binding] = items;
    assert.ok(binding);
    const { status: atIdentity } = await admin.identity.principals.get(tenantId, binding.iamPrincipalId);
    assert.equal(atIdentity, 'disabled');
  }
}

/** The tasks available to an agent outside of every demo, including those assigned to others. */
const offeredTo = async ({ baton }: { readonly baton: BatonClient }) =>
  all(baton.work.listAvailable({ includeAssigned: true, limit: 200 }));

longTest(
  'the demo of a backlog leaves an archived workspace, disabled principals and no type in use',
  async () => {
    const printed = await demo('--tasks', '30', '--agents', '2');
    const found = await workspaces();
    const [workspace] = found.filter(({ slug }) => slug.startsWith('baton-proof-'));
    assert.ok(workspace !== undefined && workspace.status === 'archived', printed);
    assert.match(
      printed,
      new RegExp(`in the archived workspace ${workspace.slug}; its principals are disabled`),
    );
    const tasks = await all(admin.tasks.list({ limit: 200 }));
    assert.equal(tasks.length, 30);
    assert.ok(tasks.every(({ workspaceId }) => workspaceId === workspace.id));
    // Two agents, plus the operator and the reviewer.
    await assertDisabled(workspace.slug, 4);
    const { items: types } = await admin.taskTypes.list({ status: 'active', limit: 200 });
    assert.deepEqual(
      types.filter(({ key }) => key.startsWith('demo-')),
      [],
    );
    assert.deepEqual((await admin.capabilities.list({ limit: 200 })).items, []);
    assert.match(await demo('remove'), /There is no demo to remove/);
    // A second demo reuses the task type of the first.
    await demo('--tasks', '5', '--agents', '1');
    assert.equal((await admin.taskTypes.list({ key: 'demo-feature', limit: 200 })).items.length, 1);
  },
);

test('tasks of the live demo are offered only to its agents, until it is removed', async () => {
  const agent = await running.participant();
  const live = start('live', '--step-ms', '60000');
  await live.prints(/Watch it at /);
  const [workspace] = (await workspaces()).filter(({ slug }) => slug.startsWith('baton-demo-'));
  assert.ok(workspace);
  const { items: tasks } = await admin.tasks.list({ workspaceId: workspace.id, limit: 100 });
  assert.equal(tasks.length, 15);
  assert.deepEqual(await offeredTo(agent), []);
  assert.deepEqual(await offeredTo({ baton: admin }), []);
  assert.deepEqual(await all(admin.work.listAvailable({ workspaceId: workspace.id, limit: 200 })), []);
  const { id: sessionId } = await agent.baton.sessions.open({ clientName: 'a stranger' });
  for (const { id } of tasks)
    await assert.rejects(agent.baton.tasks.claim(id, { sessionId }), (error: { status?: number }) =>
      [403, 409].includes(error.status ?? 0),
    );
  const removed = JSON.parse(await demo('remove', '--json'));
  assert.deepEqual(
    removed.items.map(({ workspace: slug, agents }: Record<string, unknown>) => [slug, agents]),
    [[workspace.slug, 4]],
  );
  assert.equal(await live.ended, 1, live.output());
  await assertDisabled(workspace.slug, 4);
});

test('the small company stays until it is removed, is offered to nobody, and leaves no type in use', async () => {
  const agent = await running.participant();
  const printed = await demo('--organisation');
  const [workspace] = (await workspaces()).filter(({ slug }) => slug.startsWith('baton-company-'));
  assert.ok(workspace?.status === 'active', printed);
  assert.match(printed, new RegExp(`in the workspace ${workspace.slug}; its principals are disabled`));
  await assertDisabled(workspace.slug, 2);
  const { items: tasks } = await admin.tasks.list({
    workspaceId: workspace.id,
    includeDescendants: true,
    limit: 100,
  });
  assert.equal(tasks.length, 2);
  assert.equal(tasks.filter(({ systemStatusCategory }) => systemStatusCategory === 'active').length, 1);
  assert.deepEqual(await offeredTo(agent), []);
  assert.deepEqual(await offeredTo({ baton: admin }), []);
  await demo('remove');
  const active = (await workspaces()).filter(({ status }) => status === 'active');
  assert.deepEqual(active, []);
  const { roots } = await admin.workspaces.getTree({ rootId: workspace.id, includeArchived: true });
  assert.deepEqual(
    roots.map(({ children }) => children.map((child) => [child.slug.split('-')[0], child.children.length])),
    [[['nordwind', 1]]],
  );
  const suffix = workspace.slug.slice('baton-company-'.length);
  const own = <Item extends { readonly key: string; readonly status: string }>(items: readonly Item[]) =>
    items.filter(({ key }) => key.endsWith(suffix)).map(({ status }) => status);
  assert.deepEqual(own((await admin.taskTypes.list({ limit: 200 })).items), ['deprecated']);
  assert.deepEqual(own((await admin.projectTemplates.list({ limit: 200 })).items), ['deprecated']);
  assert.deepEqual(own((await admin.rules.list({ status: 'archived', limit: 200 })).items), ['archived']);
  assert.deepEqual(new Set(own((await admin.calendars.list({ limit: 200 })).items)), new Set(['retired']));
});
