import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { byDepth } from '@baton/testing/depth';
import { agentPermissions } from '@baton/testing/participant';
import { assertAccessible, isGone, noBrowser } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';

// The page of a task, compared with the service.

const looks = byDepth<readonly (readonly ['light' | 'dark', number])[]>(
  [['dark', 375]],
  [
    ['light', 1280],
    ['dark', 375],
  ],
);

describe("a task's page", { skip: noBrowser }, () => {
  let world: RunningConsole;

  before(async () => {
    world = await startConsole();
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  test('a claim is released next to its reason, and its holder is notified of the loss', async () => {
    const { baton } = world;
    const task = await baton.tasks.create({ title: 'Held for too long' });
    const holder = await world.person(agentPermissions);
    const harness = await holder.baton.harness.open({ name: 'slow', leaseSeconds: 60 });
    const work = harness.work({ accepts: ({ id }) => id === task.id, once: true });
    const { value: lease } = await work.next();
    assert.ok(lease);
    const { page, complaints } = await world.signedIn(`/tasks/${task.publicId}`);
    await page.getByText('The task is already claimed.').waitFor();
    // The page shows the agent's work while the run is in progress.
    await page.getByText(/ started attempt 1/).waitFor();
    await lease.checkpoint('halfway', { note: 'Half of it is done' });
    await page.getByText(/ saved checkpoint 1: Half of it is done/).waitFor();
    await holder.baton.runs.launchChild(lease.run.id, {
      title: 'A part of it',
      correlationId: 'part',
    });
    await page.getByText(/ delegated TASK-\d+ A part of it/).waitFor();
    assert.equal((await baton.runs.get(lease.run.id)).status, 'running');
    await page.getByText(/ started attempt 1/).waitFor();
    await page.getByRole('button', { name: 'Release claim' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText(/loses the task immediately/).waitFor();
    await assertAccessible(page, 'the confirmation before a claim is released');
    await page.keyboard.press('Enter');
    await page.getByText('Unclaimed.').waitFor();
    await page.getByRole('heading', { name: 'Ready to claim' }).waitFor();
    assert.equal((await baton.claims.get(lease.claim.id)).status, 'released');
    await assert.rejects(lease.checkpoint('late'), { name: 'LeaseLostError' });
    await work.return();
    await harness.close();
    assert.deepEqual(complaints, []);
  });

  test('a reason links to its approval, and shows the required permission to people without it', async () => {
    const { baton, me } = world;
    const { id, publicId } = await baton.tasks.create({ title: 'Waits for a yes' });
    const { id: approvalId } = await baton.approvals.request({
      task: id,
      gate: true,
      assignedPrincipalId: me,
    });
    const reader = await world.person(['tasks.read', 'task_types.read']);
    const other = await world.signedIn(`/tasks/${publicId}`, {}, reader.token);
    await other.page.getByText('Approve (requires approvals.decide)').waitFor();
    const { page } = await world.signedIn(`/tasks/${publicId}`);
    await page.getByText('An approval is pending.').waitFor();
    await page.getByRole('link', { name: 'Review and decide' }).click();
    await page
      .getByRole('region', { name: 'What this approval covers' })
      .getByText('Waits for a yes')
      .waitFor();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText(/^Approved by/).waitFor();
    await page.getByRole('link', { name: publicId }).click();
    await page.getByRole('heading', { name: 'Ready to claim' }).waitFor();
    assert.equal((await baton.approvals.get(approvalId)).status, 'approved');
  });

  test('a dependency is completed or removed; relations are drawn and listed', async () => {
    const { baton } = world;
    const make = (title: string) => baton.tasks.create({ title });
    const [task, first, second] = [await make('Last'), await make('First'), await make('Second')];
    for (const { id } of [first, second])
      await baton.tasks.createRelation(task.id, { toTask: id, type: 'depends_on' });
    const { page, complaints } = await world.signedIn(`/tasks/${task.publicId}`);
    await page.getByRole('button', { name: `Complete the dependency: ${first.publicId}` }).click();
    await page.getByRole('button', { name: 'Complete the dependency', exact: true }).click();
    await page.locator('svg text', { hasText: `${first.publicId} · done` }).waitFor();
    assert.equal((await baton.tasks.get(first.id)).systemStatusCategory, 'terminal_success');
    await page.getByRole('button', { name: 'Remove the dependency' }).click();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByRole('button', { name: 'Remove the dependency' }).click();
    await page.getByRole('button', { name: 'Remove the dependency' }).click();
    await page.getByRole('heading', { name: 'Ready to claim' }).waitFor();
    const { items } = await baton.tasks.listRelations(task.id);
    assert.deepEqual(
      items.map(({ toTaskId }) => toTaskId),
      [first.id],
    );
    // Checked only in the relations, because the activity still contains the title.
    const listed = page.getByRole('region', { name: 'Relations' });
    await isGone(listed.getByRole('link', { name: 'Second' }));
    assert.deepEqual(complaints, []);
  });

  test('a task is edited by keyboard alone; a version conflict shows the concurrent change and its author', async () => {
    const { baton, me } = world;
    const task = await baton.tasks.create({ title: 'To be changed' });
    const { page, complaints } = await world.signedIn(`/tasks/${task.publicId}`);
    await page.getByRole('heading', { name: 'To be changed' }).waitFor();
    await page.keyboard.press('e');
    await page.getByRole('dialog').waitFor();
    await assertAccessible(page, 'change a task');
    await page.keyboard.press('Control+a');
    await page.keyboard.type('Is changed');
    await page.getByRole('option', { name: 'Administrator (human)' }).waitFor({ state: 'attached' });
    await page.getByLabel('Assignee').selectOption({ label: 'Administrator (human)' });
    await page.getByRole('button', { name: 'Save' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Is changed' }).waitFor();
    const changed = await baton.tasks.get(task.id);
    assert.deepEqual([changed.title, changed.assigneeId, changed.priority], ['Is changed', me, 'medium']);

    await page.keyboard.press('e');
    await page.getByRole('dialog').waitFor();
    await page.route('**/api/v1/tasks/*', async (route) => {
      if (route.request().method() === 'PATCH')
        await baton.tasks
          .update(task.id, { priority: 'high' }, { ifMatch: `"task-${changed.version}"` })
          .catch(() => undefined);
      await route.continue();
    });
    await page.getByLabel('Title').fill('Mine');
    await page.keyboard.press('Enter');
    await page.getByText(/Administrator changed this task \(priority: high\)/).waitFor();
    await page.unroute('**/api/v1/tasks/*');
    assert.equal((await baton.tasks.get(task.id)).title, 'Is changed');
    // The input is kept, and applies to the new version.
    assert.equal(await page.getByLabel('Title').inputValue(), 'Mine');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Mine' }).waitFor();
    assert.equal((await baton.tasks.get(task.id)).priority, 'high');
    assert.deepEqual(complaints, []);
  });

  test('acceptance, evidence, attempts and artifacts are shown, and only HTTP addresses are linked', async () => {
    const { baton } = world;
    const evil = '<img src=x onerror="window.ran=1">';
    const task = await baton.tasks.create({
      title: 'Proven',
      acceptance: [{ key: 'seen', kind: 'human', description: `A person has looked ${evil}` }],
    });
    const external = (id: string, url: string) =>
      ({ kind: 'external', externalRef: { system: 'ci', id, url }, check: 'seen', note: evil }) as const;
    const evidence = [external('safe', 'https://ci.example/1'), external('evil', 'javascript:window.ran=1')];
    await baton.tasks.update(task.id, { evidence }, { ifMatch: `"task-${task.version}"` });
    const harness = await baton.harness.open({ name: 'prover' });
    for await (const lease of harness.work({ accepts: ({ id }) => id === task.id, once: true })) {
      await lease.putArtifact({ type: 'report', name: `report ${evil}`, content: { text: 'all well' } });
      await lease.fail(`could not ${evil}`);
      break;
    }
    await harness.close();
    for (const [colorScheme, width] of looks) {
      const options = { colorScheme, viewport: { width, height: 800 } };
      const { page, complaints } = await world.signedIn(`/tasks/${task.publicId}`, options);
      await page.getByText(`A person has looked ${evil}`).waitFor();
      assert.equal(
        await page.getByRole('link', { name: 'ci safe' }).getAttribute('href'),
        'https://ci.example/1',
      );
      await page.getByText('ci evil').waitFor();
      assert.equal(await page.getByRole('link', { name: 'ci evil' }).count(), 0);
      await page.getByText(`could not ${evil}`).first().waitFor();
      await page.getByText(`report ${evil}`).first().waitFor();
      await assertAccessible(page, `${colorScheme} ${width}`);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
      assert.equal(await page.evaluate('window.ran'), undefined);
      assert.deepEqual(complaints, []);
    }
  });
});
