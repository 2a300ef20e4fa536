import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { agentPermissions } from '@baton/testing/participant';
import { assertAccessible, noBrowser, openPage, until, untilTrue } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';

// Notifications in a real browser, with two of its tabs.

/**
 * Runs in each page. Chromium's headless shell shows no notifications, even with permission, and its tabs are always
 * visible, so the test replaces both. Tabs, locks and storage are the browser's.
 */
const withDesktop = `
  let isHidden = false;
  for (const [name, get] of [['hidden', () => isHidden], ['visibilityState', () => (isHidden ? 'hidden' : 'visible')]])
    Object.defineProperty(document, name, { configurable: true, get });
  window.setHidden = (value) => {
    isHidden = value;
    document.dispatchEvent(new Event('visibilitychange'));
  };
  window.shown = [];
  window.prompts = 0;
  window.Notification = class extends EventTarget {
    static get permission() {
      return localStorage.getItem('test.permission') ?? 'default';
    }
    static async requestPermission() {
      window.prompts += 1;
      localStorage.setItem('test.permission', 'granted');
      return 'granted';
    }
    constructor(title, { body } = {}) {
      super();
      Object.assign(this, { title, body });
      if (Notification.permission === 'granted') window.shown.push(this);
    }
    close() {}
  };
`;

describe('notifications in the browser', { skip: noBrowser }, () => {
  let world: RunningConsole;
  before(async () => {
    world = await startConsole();
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  const shown = (page: Page) =>
    page.evaluate('shown.map(({ title, body }) => `${title}: ${body}`)') as Promise<string[]>;
  const hide = (pages: readonly Page[], isHidden = true) =>
    Promise.all(pages.map((page) => page.evaluate(`setHidden(${isHidden})`)));
  const open = (page: Page, path: string) => page.goto(`${world.url}${path}`);

  async function openTabs() {
    const { page: first, complaints } = await openPage(world.browser);
    const context = first.context();
    await context.addInitScript(withDesktop);
    await open(first, `/sign-in#code=${await world.newCode()}`);
    await first.getByRole('navigation', { name: 'Pages' }).waitFor();
    await open(first, '/account');
    const button = first.getByRole('button', { name: 'Notify me in this browser' });
    await button.waitFor();
    assert.equal(await first.evaluate('prompts'), 0);
    await button.click();
    await first.getByText('This browser notifies you.').waitFor();
    const second = await context.newPage();
    second.on('pageerror', (error) => complaints.push(String(error)));
    await open(second, '/inbox');
    for (const page of [first, second]) await page.getByText(/· live$/).waitFor();
    return { first, second, complaints };
  }

  test('one of two hidden tabs shows a new decision; a click opens it there', async () => {
    const { first, second, complaints } = await openTabs();
    for (const colorScheme of ['light', 'dark'] as const) {
      await first.emulateMedia({ colorScheme });
      await assertAccessible(first, `the account, ${colorScheme}`, 'usual');
    }
    await first.setViewportSize({ width: 360, height: 800 });
    assert.equal(await first.evaluate('document.documentElement.scrollWidth > innerWidth'), false);
    const { baton, me } = world;
    const task = await baton.tasks.create({ title: 'Release <b>2.4</b>' });
    const agent = await world.participant('Release agent', agentPermissions);
    const asked = { task: task.id, assignedPrincipalId: me };

    // While one tab is visible, the hidden tab shows nothing either.
    await hide([first]);
    const seen = await agent.baton.approvals.request({ ...asked, comment: 'seen at once' });
    await second.getByRole('article', { name: 'seen at once' }).waitFor();
    await first.getByText('1 pending').first().waitFor({ state: 'attached' });
    assert.deepEqual([await shown(first), await shown(second)], [[], []]);
    await baton.approvals.reject(seen.id, {});
    await second.getByRole('article').waitFor({ state: 'detached' });

    await hide([first, second]);
    const { id } = await agent.baton.approvals.request({ ...asked, comment: 'my secret question' });
    const all = async () => [...(await shown(first)), ...(await shown(second))];
    await untilTrue(async () => (await all()).length > 0, 'no tab shows a notification');
    for (const page of [first, second])
      await until(page, 'document.body.textContent.includes("1 pending")', 'a tab misses the decision');
    assert.deepEqual(await all(), [`Decision requested: Release <b>2.4</b> (${task.publicId})`]);

    const shower = (await shown(first)).length > 0 ? first : second;
    await hide([shower], false);
    await shower.evaluate('shown[0].onclick()');
    await shower.waitForURL(`${world.url}/approvals/${id}`);
    await shower.getByText('my secret question').first().waitFor();
    assert.deepEqual(complaints, []);
  });

  test('a task that an agent creates for the person is shown by a hidden tab', async () => {
    const { first, second } = await openTabs();
    await hide([first, second]);
    const agent = await world.participant('Planner', [...agentPermissions, 'tasks.write']);
    const task = await agent.baton.tasks.create({ title: 'Read the plan', assigneeId: world.me });
    const all = async () => [...(await shown(first)), ...(await shown(second))];
    await untilTrue(async () => (await all()).length > 0, 'no tab shows a notification');
    assert.deepEqual(await all(), [`Task assigned: Read the plan (${task.publicId})`]);
  });
});
