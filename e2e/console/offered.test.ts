import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { agentPermissions } from '@baton/testing/participant';
import { assertAccessible, isGone, noBrowser } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';

// The service and the page agree on the principals to whom a task is offered, and on the reason if it is offered to
// none.

describe('whom a task is offered', { skip: noBrowser }, () => {
  let world: RunningConsole;

  before(async () => {
    world = await startConsole();
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  test('a task that is assigned to an agent in the console is offered only to that agent', async () => {
    const { baton } = world;
    const [ada, grace] = [
      await world.participant('Ada the agent', agentPermissions),
      await world.participant('Grace the agent', agentPermissions),
    ];
    const task = await baton.tasks.create({ title: 'For Ada only' });
    const { page, complaints } = await world.signedIn(`/tasks/${task.publicId}`);
    await page.getByRole('button', { name: 'Assign …' }).click();
    const field = page.getByLabel('Assignee');
    await field.locator('option', { hasText: 'Ada the agent (agent)' }).waitFor({ state: 'attached' });
    await field.selectOption({ label: 'Ada the agent (agent)' });
    await assertAccessible(page, 'give a task to an agent');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Baton offers this task to Ada the agent only.').waitFor();
    const offered = async ({ baton: client }: typeof ada) =>
      (await client.work.listAvailable({ limit: 50 })).items.map(({ id }) => id);
    assert.equal((await offered(ada))[0], task.id);
    assert.ok(!(await offered(grace)).includes(task.id));
    await baton.principals.disable(ada.id, { reason: 'a test' });
    await page.getByText(/^Ada the agent is disabled and can't claim this task/).waitFor();
    assert.deepEqual(complaints, []);
  });

  test('a blocked task is never shown as ready; the page shows the reason, and moving it offers it again', async () => {
    const { baton } = world;
    const agent = await world.participant('Careful agent', agentPermissions);
    const task = await baton.tasks.create({ title: 'Pay the invoice' });
    const harness = await agent.baton.harness.open({ name: 'careful' });
    for await (const lease of harness.work({ accepts: ({ id }) => id === task.id, once: true })) {
      await agent.baton.tasks.createComment(task.id, { body: 'I need to know which account pays.' });
      await lease.fail('blocked: no account is named');
      break;
    }
    await harness.close();
    const { version } = await baton.tasks.get(task.id);
    await baton.tasks.update(task.id, { status: 'blocked' }, { ifMatch: `"task-${version}"` });
    for (const [colorScheme, width] of [
      ['light', 1440],
      ['dark', 390],
    ] as const) {
      const options = { colorScheme, viewport: { width, height: 900 } };
      const { page, complaints } = await world.signedIn(`/tasks/${task.publicId}`, options);
      const card = page.getByRole('region', { name: 'Blocked' });
      await card.getByText('blocked: no account is named').waitFor();
      await card.getByText('I need to know which account pays.').waitFor();
      await card.getByText(/The task cannot be offered or claimed/).waitFor();
      assert.equal(await page.getByRole('heading', { name: 'Ready to claim' }).count(), 0);
      assert.equal(await page.getByRole('button', { name: 'Claim' }).count(), 0);
      await assertAccessible(page, `blocked ${colorScheme} ${width}`);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
      assert.deepEqual(complaints, []);
    }
    const { page } = await world.signedIn(`/tasks/${task.publicId}`);
    await page.getByRole('group', { name: 'Status' }).getByRole('button', { name: 'To do' }).click();
    await page.getByRole('heading', { name: 'Ready to claim' }).waitFor();
    await page.getByRole('button', { name: 'Claim' }).waitFor();
  });

  test('a task with a retry delay shows when it becomes available, and a click makes it available now', async () => {
    const { baton } = world;
    const agent = await world.participant('Failing agent', agentPermissions);
    const task = await baton.tasks.create({ title: 'Tries again later' });
    const harness = await agent.baton.harness.open({ name: 'failing' });
    for await (const lease of harness.work({ accepts: ({ id }) => id === task.id, once: true })) {
      await lease.fail('provider_down: 503');
      break;
    }
    await harness.close();
    const { availableAt } = await baton.tasks.get(task.id);
    assert.ok(availableAt !== null && availableAt > new Date().toISOString());
    const { page, complaints } = await world.signedIn(`/tasks/${task.publicId}`);
    await page.getByText(/Available from/).waitFor();
    await assertAccessible(page, 'a paused task');
    await page.getByRole('button', { name: 'Make available now' }).click();
    await page.getByRole('heading', { name: 'Ready to claim' }).waitFor();
    await isGone(page.getByText(/Available from/));
    assert.equal((await baton.tasks.get(task.id)).availableAt, null);
    assert.deepEqual(complaints, []);
  });
});
