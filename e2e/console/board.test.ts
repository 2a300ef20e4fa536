import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import type { Task } from '@baton/sdk';
import { longTest } from '@baton/testing/depth';
import { isGone, noBrowser, untilTrue } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';

// Card moves, saved views and the palette, verified against the tasks in Baton.

describe('the board, saved views and the palette', { skip: noBrowser }, () => {
  let world: RunningConsole;

  before(async () => {
    world = await startConsole();
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  const column = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
  const card = (page: Page, { publicId }: Task) => page.locator('[data-task]', { hasText: publicId });
  const statusOf = async ({ id }: Task) => (await world.baton.tasks.get(id)).status;
  async function untilStatus(task: Task, status: string) {
    await untilTrue(async () => (await statusOf(task)) === status, `${task.publicId} does not get ${status}`);
  }
  /**
   * Drags in steps, because the browser starts a drag only after some pixels. It retries until the page shows `seen`: a
   * drag can miss its card, or a column can move during the drag.
   */
  async function drag(page: Page, task: Task, name: string, seen: Locator) {
    // The contents of columns determine their widths, so wait until they are loaded.
    await page.locator('main [role="status"][aria-label="Loading"]').first().waitFor({ state: 'detached' });
    for (let tries = 0; tries < 10; tries += 1) {
      await page.evaluate("window.drags = 0; addEventListener('dragend', () => (window.drags += 1), true)");
      await card(page, task).hover({ position: { x: 60, y: 20 } });
      const from = await card(page, task).boundingBox();
      const to = await column(page, name).boundingBox();
      assert.ok(from !== null && to !== null);
      await page.mouse.down();
      await page.mouse.move(from.x + 80, from.y + 30, { steps: 3 });
      await page.mouse.move(to.x + 80, to.y + 200, { steps: 8 });
      await page.mouse.up();
      for (let n = 0; n < 100 && (await page.evaluate('window.drags === 0')); n += 1)
        await page.waitForTimeout(20);
      const isSeen = await seen.waitFor({ timeout: 1_000 * (tries + 1) }).then(
        () => true,
        () => false,
      );
      if (isSeen) return;
    }
    assert.fail(`${name} got nothing dropped`);
  }

  longTest('dragging a card to another column moves its task', async () => {
    const task = await world.baton.tasks.create({ title: 'Dragged' });
    const { page, complaints } = await world.signedIn('/?view=board');
    await card(page, task).waitFor();
    await drag(page, task, 'In progress', column(page, 'In progress').getByText('Dragged'));
    await untilStatus(task, 'in_progress');
    await drag(page, task, 'Done', column(page, 'Done').getByText('Dragged'));
    await untilStatus(task, 'done');
    await isGone(column(page, 'In progress').getByText('Dragged'));
    assert.equal(page.url(), `${world.url}/?view=board`);
    assert.deepEqual(complaints, []);
  });

  longTest(
    'a card that its type does not allow to move returns, and the page shows the allowed statuses',
    async () => {
      const task = await world.baton.tasks.create({ title: 'Over and done' });
      await world.baton.tasks.complete(task.id, {}, { ifMatch: `"task-${task.version}"` });
      const { page } = await world.signedIn('/?view=board');
      await card(page, task).waitFor();
      const refusal = /was not moved: its type allows Done → .+, not In progress/;
      await drag(page, task, 'In progress', page.getByText(refusal));
      await column(page, 'Done').getByText('Over and done').waitFor();
      await isGone(column(page, 'In progress').getByText('Over and done'));
      assert.equal(await statusOf(task), 'done');
    },
  );

  longTest(
    'a card whose task was changed meanwhile returns, with the author and the current state',
    async () => {
      const task = await world.baton.tasks.create({ title: 'Wanted by two' });
      const rival = await world.participant('Rosa the rival', ['tasks.read', 'tasks.write']);
      const { page } = await world.signedIn('/?view=board');
      await card(page, task).waitFor();
      const isSeen = Promise.withResolvers<void>();
      await page.route('**/api/v1/tasks/*', async (route) => {
        if (route.request().method() === 'PATCH') {
          await isSeen.promise;
          const ifMatch = `"task-${task.version}"`;
          await rival.baton.tasks.update(task.id, { priority: 'critical' }, { ifMatch });
          // The journal returns the event with a delay, so wait for it.
          await untilTrue(async () => {
            const { items } = await world.baton.events.list({ entityId: task.id, tail: 1 });
            return items.at(-1)?.actorId === rival.id;
          }, 'the journal does not show what the rival has done');
        }
        await route.continue();
      });
      // The card is in its new column while the request is pending.
      await drag(page, task, 'In progress', column(page, 'In progress').getByText('Wanted by two'));
      isSeen.resolve();
      await page
        .getByText(/was not moved to In progress: Rosa the rival changed it in the meantime/)
        .waitFor();
      await page.getByText(/priority critical/).waitFor();
      const own = column(page, await nameOf(page, task));
      await own.getByText('Wanted by two').waitFor();
      await isGone(column(page, 'In progress').getByText('Wanted by two'));
      assert.equal(await statusOf(task), task.status);
    },
  );
  const nameOf = async (page: Page, task: Task) =>
    (await card(page, task).locator('xpath=ancestor::section').getAttribute('aria-label')) ?? '';

  test('by keyboard alone: a card is found on the board, moved by its menu, and keeps the focus', async () => {
    const task = await world.baton.tasks.create({ title: 'Moved by keys' });
    const { page, complaints } = await world.signedIn();
    await page.getByRole('link', { name: 'Moved by keys' }).waitFor();
    await page.keyboard.press('v');
    await page.keyboard.press('b');
    await card(page, task).waitFor();
    await page.keyboard.press('j');
    await page.locator('[data-task]:focus-within', { hasText: 'Moved by keys' }).waitFor();
    await page.keyboard.press('m');
    const choice = page.getByRole('menuitem', { name: 'In progress' });
    await choice.waitFor();
    for (let n = 0; n < 10; n += 1) {
      if ((await page.evaluate('document.activeElement.textContent')) === 'In progress') break;
      await page.keyboard.press('ArrowDown');
    }
    await page.keyboard.press('Enter');
    await column(page, 'In progress').getByText('Moved by keys').waitFor();
    await untilStatus(task, 'in_progress');
    await page.locator('[data-task]:focus-within', { hasText: 'Moved by keys' }).waitFor();
    await card(page, task).getByRole('button', { disabled: false }).waitFor();
    // Escape closes the menu without a move, and returns the focus to the card.
    await page.keyboard.press('m');
    await page.getByRole('menu').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('menu').waitFor({ state: 'detached' });
    await page.locator('[data-task]:focus-within', { hasText: 'Moved by keys' }).waitFor();
    await page.keyboard.press('Enter');
    assert.equal(await statusOf(task), 'in_progress');
    assert.deepEqual(complaints, []);
  });

  longTest(
    'a view is saved, opened from the palette, renamed and deleted, and belongs to one person',
    async () => {
      await world.baton.tasks.create({ title: 'Most urgent', priority: 'critical' });
      const { page, complaints } = await world.signedIn();
      const views = page.getByRole('navigation', { name: 'Saved views' });
      await page.getByLabel('Priority').selectOption('critical');
      await page.waitForURL(/priority=critical/);
      await page.getByRole('button', { name: 'Save view' }).click();
      await page.getByLabel('View name').fill('  Fires ');
      await page.keyboard.press('Enter');
      await views.getByRole('link', { name: 'Fires' }).waitFor();
      await views.getByRole('link', { name: 'All' }).click();
      await page.waitForURL(`${world.url}/`);
      await page.reload();
      await views.getByRole('link', { name: 'Fires' }).waitFor();
      await page.keyboard.press('g');
      await page.keyboard.press('j');
      await page.getByRole('heading', { name: 'Journal' }).waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').waitFor();
      await page.keyboard.type('view: fires');
      await page.keyboard.press('Enter');
      await page.waitForURL(`${world.url}/?priority=critical`);
      await views.locator('[aria-current="page"]', { hasText: 'Fires' }).waitFor();
      await page.getByRole('button', { name: 'Edit views' }).click();
      await page.getByLabel('New name for Fires').fill('Burning');
      await page.getByRole('button', { name: 'Rename Fires' }).click();
      await page.getByRole('button', { name: 'Rename Burning' }).waitFor();
      const kept = await page.evaluate('JSON.stringify(Object.entries({ ...localStorage }).sort())');
      const [[key], ...views_] = JSON.parse(String(kept)) as [string, string][] as [[string], ...unknown[]];
      assert.equal(key, 'baton.console-key');
      assert.deepEqual(views_, [
        [`baton.views.${world.me}`, '[{"name":"Burning","search":{"priority":"critical"}}]'],
      ]);
      await page.getByRole('button', { name: 'Delete Burning' }).click();
      await page.getByRole('button', { name: 'Close' }).click();
      await views.waitFor({ state: 'detached' });
      assert.deepEqual(complaints, []);
    },
  );

  longTest('at most fifty views are stored, and invalid stored views are dropped', async () => {
    const { page, complaints } = await world.signedIn();
    const many = Array.from({ length: 50 }, (_, n) => ({ name: `View ${n}`, search: { q: `word${n}` } }));
    const odd = [
      { name: 'x'.repeat(200), search: { q: 'long', priority: 'no such', view: 7 } },
      { name: 5, search: {} },
      null,
      ...many.slice(0, 2),
    ];
    const keep = (text: string) =>
      page.evaluate(`localStorage.setItem('baton.views.${world.me}', ${JSON.stringify(text)})`);
    const tabs = page.getByRole('navigation', { name: 'Saved views' }).getByRole('link');
    await keep('no JSON');
    await page.reload();
    await page.getByRole('heading', { name: 'Work' }).waitFor();
    await keep(JSON.stringify(odd));
    await page.reload();
    await tabs.getByText('View 1').waitFor();
    assert.deepEqual(await tabs.allInnerTexts(), ['All', 'x'.repeat(60), 'View 0', 'View 1']);
    await keep(JSON.stringify(many));
    await page.goto(`${world.url}/?priority=low`);
    await page.getByRole('button', { name: 'Save view' }).click();
    await page.getByLabel('View name').fill('One too many');
    await page.keyboard.press('Enter');
    await page.getByText('You can save at most 50 views. Delete one first.').waitFor();
    await page.keyboard.press('Escape');
    assert.equal(await tabs.count(), 51);
    assert.deepEqual(complaints, []);
  });

  longTest('the palette acts on the open task: assigns it, comments, copies, moves it', async () => {
    const task = await world.baton.tasks.create({ title: 'Done from the palette' });
    const { page, complaints } = await world.signedIn(`/tasks/${task.publicId}`, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await page.getByRole('heading', { name: 'Done from the palette' }).waitFor();
    async function choose(words: string, name: string | RegExp) {
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').waitFor();
      await page.keyboard.type(words);
      await page.getByRole('option', { name, disabled: false }).first().waitFor();
      await page.keyboard.press('Enter');
    }
    await choose('assign to me', 'Assign to me');
    await page.getByText(`Assigned ${task.publicId} to you.`).waitFor();
    assert.equal((await world.baton.tasks.get(task.id)).assigneeId, world.me);
    await choose('copy id', /Copy ID/);
    await page.getByText(`Copied: ${task.publicId}`).waitFor();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), task.publicId);
    await choose('copy link', 'Copy link');
    await page.getByText(`Copied: ${world.url}/tasks/${task.publicId}`).waitFor();
    await choose('comment', /^Comment/);
    await page.getByLabel(`Comment on ${task.publicId}`).fill('Written in the palette');
    await page.keyboard.press('Enter');
    await page.getByRole('listitem').getByText('Written in the palette').waitFor();
    await page.keyboard.press('m');
    await page.getByRole('option', { name: 'Move to In progress' }).waitFor();
    await page.keyboard.type('in progress');
    await page.keyboard.press('Enter');
    await untilStatus(task, 'in_progress');
    await page.getByText('in progress', { exact: true }).first().waitFor();
    assert.deepEqual(complaints, []);
  });

  longTest(
    'the palette and the help list every page and every key, and the palette opens the help',
    async () => {
      const { page, complaints } = await world.signedIn();
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').getByRole('option').first().waitFor();
      const options = await page.getByRole('dialog').getByRole('option').allInnerTexts();
      for (const name of [
        'Create task',
        'Switch to board view',
        'Work',
        'Inbox',
        'Journal',
        'System',
        'Sign out',
      ])
        assert.ok(
          options.some((option) => option.startsWith(name)),
          `${name} in ${options.join(', ')}`,
        );
      await page.keyboard.type('keys');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor();
      const help = await page.getByRole('dialog').innerText();
      for (const [, keys = ''] of options.map((option) => /\n(.+)$/.exec(option) ?? []))
        assert.ok(help.includes(keys), `${keys} in the help`);
      await page.getByRole('button', { name: 'Close' }).click();
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').waitFor();
      await page.keyboard.type('sign out');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
      assert.deepEqual(complaints, []);
    },
  );
});
