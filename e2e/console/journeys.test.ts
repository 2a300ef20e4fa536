import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { noBrowser, openPage, until } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';

// Whole journeys. That of a task that is made, found, opened and commented on its own page: console.test.ts.

/** The shortest lease that Baton gives. */
const leaseSeconds = 10;
const agentPermissions = ['tasks.read', 'tasks.claim', 'sessions.open'];

describe('journeys through the console', { skip: noBrowser }, () => {
  let world: RunningConsole;

  before(async () => {
    world = await startConsole();
  });
  after(() => world?.close());

  test('by keyboard alone, from the sign-in to a task that is done', async () => {
    const { page, complaints } = await openPage(world.browser);
    const { keyboard } = page;
    await page.goto(world.url);
    await page.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
    await tabTo(page, '[name="token"]');
    await keyboard.insertText(world.adminToken);
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Work' }).waitFor();
    await keyboard.press('c');
    await page.getByRole('dialog').waitFor();
    await keyboard.type('From first to last by keys');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'From first to last by keys' }).waitFor();
    const publicId = new URL(page.url()).pathname.split('/').at(-1) as string;
    await keyboard.press('g');
    await keyboard.press('w');
    await page.getByRole('heading', { name: 'Work' }).waitFor();
    await keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await keyboard.type('first to last');
    await page.getByRole('option', { name: /From first to last by keys/ }).waitFor();
    await until(
      page,
      "document.querySelector('[role=option][aria-selected=true]')?.textContent.includes('From first to last')",
    );
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'From first to last by keys' }).waitFor();
    await keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await keyboard.type('comment');
    await keyboard.press('Enter');
    await page.getByLabel(`Your comment on ${publicId}`).waitFor();
    await keyboard.type('All by keys');
    await keyboard.press('Enter');
    await page.getByRole('listitem').getByText('All by keys').waitFor();
    for (const status of ['in progress', 'done']) {
      await keyboard.press('m');
      await page.getByRole('option', { name: new RegExp(`Move to ${status}`, 'i') }).waitFor();
      await keyboard.type(status);
      await until(
        page,
        `document.querySelector('[role=option][aria-selected=true]')?.textContent.toLowerCase() === 'move to ${status}'`,
      );
      await keyboard.press('Enter');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.locator('article header').getByText(status, { exact: true }).first().waitFor();
    }
    for (let n = 0; n < 50 && (await world.baton.tasks.get(publicId)).status !== 'done'; n += 1)
      await page.waitForTimeout(100);
    assert.equal((await world.baton.tasks.get(publicId)).status, 'done');
    assert.deepEqual(complaints, []);
  });

  test('whoever watches a task sees that its agent lost the lease, and who holds it then', async () => {
    const first = await world.participant('Slow agent', agentPermissions);
    const second = await world.participant('Next agent', agentPermissions);
    const task = await world.baton.tasks.create({ title: 'Handed on by time' });
    const session = await first.baton.sessions.open({ clientName: 'slow' });
    const claim = await first.baton.tasks.claim(task.id, {
      sessionId: session.id,
      ttlSeconds: leaseSeconds,
      intent: 'I will not be heard of again',
    });
    const { page, complaints } = await world.signedIn(`/tasks/${task.publicId}`);
    const lease = page.locator('section', { has: page.getByRole('heading', { name: 'Held by' }) });
    await lease.getByText('Slow agent').waitFor();
    await lease.getByText('I will not be heard of again').waitFor();
    // Nobody beats: the lease ends by itself, and the page says so without a reload.
    await lease.getByText('Nobody holds it').waitFor({ timeout: 60_000 });
    const journal = await world.signedIn('/journal?types=claim.');
    await journal.page.getByText('claim.expired').first().waitFor();
    const other = await second.baton.sessions.open({ clientName: 'next' });
    await second.baton.tasks.claim(task.id, { sessionId: other.id, intent: 'I go on with it' });
    await lease.getByText('Next agent').waitFor();
    await lease.getByText('I go on with it').waitFor();
    assert.equal(await lease.getByText('Slow agent').count(), 0);
    // What the slow agent sends now changes nothing, and the page still names the next one.
    await assert.rejects(first.baton.claims.heartbeat(claim.id, {}));
    await page.reload();
    await lease.getByText('Next agent').waitFor();
    assert.deepEqual(complaints, []);
  });
});

async function tabTo(page: Page, selector: string): Promise<void> {
  for (let n = 0; n < 20; n += 1) {
    await page.keyboard.press('Tab');
    if (await page.evaluate(`document.activeElement.matches('${selector}')`)) return;
  }
  assert.fail(`no key led to ${selector}`);
}
