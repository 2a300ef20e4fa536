import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { BatonClient } from '@baton/sdk';
import { longTest } from '@baton/testing/depth';
import { isGone, noBrowser, openPage, until, untilTrue } from '../testing/browser.ts';
import { type OwnConsole, startOwnConsole } from '../testing/console.ts';
import { settled } from '../testing/console-pages.ts';
import { seedTasks } from '../testing/run-statement.ts';

// The console in a real browser, against a Baton that runs the program of `npm start`. axe: accessibility.long.test.ts.

describe('the console', { skip: noBrowser }, () => {
  let world: OwnConsole;
  let baton: BatonClient;
  let browser: Browser;
  let url: string;
  let adminToken: string;
  let me: string;
  let printedAddress: string;

  before(async () => {
    world = await startOwnConsole();
    ({ baton, browser, url, adminToken, me, printedAddress } = world);
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  const newCode = () => world.newCode();
  const signedIn = (path = '/', options = {}) => world.signedIn(path, options);

  test('the address that the start prints signs in once, and leaves no secret in the browser', async () => {
    const { page, complaints } = await openPage(browser);
    await page.goto(printedAddress);
    await page.getByRole('heading', { name: 'Work' }).waitFor();
    const local = url.replace('127.0.0.1', 'localhost');
    assert.equal(page.url(), `${local}/`);
    const stored = await page.evaluate(
      'JSON.stringify([Object.keys({ ...localStorage, ...sessionStorage }), document.cookie])',
    );
    // Only the page's key, which is useless without the cookie, and scroll positions are stored.
    assert.match(String(stored), /^\[\["baton\.console-key"(,"tsr-scroll-restoration-[\w-]*")?\],""\]$/);
    const [cookie] = await page.context().cookies();
    assert.deepEqual([cookie?.httpOnly, cookie?.sameSite, cookie?.path], [true, 'Strict', '/console']);
    await page.reload();
    await page.getByRole('heading', { name: 'Work' }).waitFor();
    const other = await openPage(browser);
    await other.page.goto(printedAddress);
    await other.page.getByText('code_invalid').waitFor();
    assert.equal(other.page.url(), `${local}/sign-in`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
    await page.goto(`${local}/inbox`);
    await page.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
    assert.deepEqual([...complaints, ...other.complaints], []);
  });

  test('a personal access token signs in and opens the requested page; an invalid one is rejected with its code', async () => {
    const { page, complaints } = await openPage(browser);
    await page.goto(`${url}/journal?types=task.`);
    await page.getByText('Other ways to sign in').click();
    const field = page.getByLabel('Personal access token');
    await field.fill('no-token');
    await field.press('Enter');
    await page.getByRole('alert').waitFor();
    assert.match(await page.getByRole('alert').innerText(), /invalid/);
    await field.fill(adminToken);
    await field.press('Enter');
    await page.getByRole('heading', { name: 'Journal' }).waitFor();
    assert.equal(page.url(), `${url}/journal?types=task.`);
    assert.deepEqual(complaints, []);
  });

  test('a URL with a code signs in even if the sign-in page is already open', async () => {
    const { page } = await openPage(browser);
    await page.goto(`${url}/sign-in`);
    await page.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
    await page.goto(`${url}/sign-in#code=${await newCode()}`);
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  });

  test('unknown values in a URL are ignored', async () => {
    const { page, complaints } = await signedIn();
    for (const [path, heading] of [
      ['/?view=x&category=x&priority=x&workspace=x&create=x', 'Work'],
      ['/journal?object=x&actor=x&at=x', 'Journal'],
      ['/processes?status=x', 'Processes'],
      ['/administration?section=x', 'Administration'],
    ] as const) {
      await page.goto(url + path);
      await page.getByRole('heading', { name: heading, exact: true }).waitFor();
      await settled(page);
      assert.deepEqual(await page.getByRole('alert').allInnerTexts(), [], path);
    }
    await page.goto(`${url}/inbox/nowhere`);
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    await until(page, "document.title === 'Page not found · Baton'");
    assert.deepEqual(complaints, []);
  });

  test('the sign-in never redirects to another site', async () => {
    for (const next of [
      '//evil.example/x',
      '/.//evil.example/x',
      '/\\evil.example',
      'https://evil.example',
    ]) {
      const { page } = await openPage(browser);
      await page.goto(`${url}/sign-in?next=${encodeURIComponent(next)}#code=${await newCode()}`);
      await page.getByRole('navigation').waitFor();
      assert.equal(new URL(page.url()).origin, url, next);
    }
  });

  test('by keyboard alone: a task is created, found, opened, moved and commented', async () => {
    const { page, complaints } = await signedIn();
    const { keyboard } = page;
    await keyboard.press('c');
    await page.getByRole('dialog').waitFor();
    await keyboard.type('Written by keyboard');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Written by keyboard' }).waitFor();
    await keyboard.press('g');
    await keyboard.press('w');
    await page.getByRole('heading', { name: 'Work' }).waitFor();
    await keyboard.press('/');
    // The field keeps the focus after the first search.
    await keyboard.type('key');
    await page.waitForURL(/q=key$/);
    await keyboard.type('board');
    await page.waitForURL(/q=keyboard/);
    await page.getByRole('listitem').getByText('Written by keyboard').waitFor();
    await keyboard.press('Escape');
    await keyboard.press('j');
    await page.locator('a:focus').waitFor();
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Written by keyboard' }).waitFor();
    await tabTo(page, 'In progress');
    await keyboard.press('Enter');
    await page.getByText('in progress', { exact: true }).waitFor();
    await page.getByPlaceholder('Add a comment …').focus();
    await keyboard.type('Commented by keyboard');
    await keyboard.press('Tab');
    await keyboard.press('Enter');
    await page.getByRole('listitem').getByText('Commented by keyboard').waitFor();
    await keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await keyboard.type('keyboard');
    await page.getByRole('option', { name: /Written by keyboard/ }).waitFor();
    await keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.deepEqual(complaints, []);
  });

  test('changes by others appear without a reload: in the list, on the board, on the task, in the journal', async () => {
    const task = await baton.tasks.create({ title: 'Seen as it happens', assigneeId: me });
    const { page } = await signedIn();
    const board = await signedIn('/?view=board');
    const journal = await signedIn('/journal?types=task.comment');
    await page.getByRole('link', { name: 'Seen as it happens' }).click();
    await page.getByRole('heading', { name: 'Seen as it happens' }).waitFor();
    await journal.page.getByRole('heading', { name: 'Journal' }).waitFor();
    const session = await baton.sessions.open({ clientName: 'another' });
    await baton.tasks.claim(task.id, { sessionId: session.id, intent: 'I begin now' });
    await page.getByText('I begin now').waitFor();
    await baton.tasks.createComment(task.id, { body: 'Half is done' });
    await page.getByText('Half is done').waitFor();
    await journal.page.getByText('task.comment_added').first().waitFor();
    await baton.tasks.create({ title: 'New on the board' });
    await board.page.getByRole('link', { name: 'New on the board' }).waitFor();
    await baton.sessions.close(session.id);
  });

  test('a version conflict is reported with the concurrent change', async () => {
    const task = await baton.tasks.create({ title: 'Raced for' });
    const { page } = await signedIn(`/tasks/${task.publicId}`);
    await page.getByRole('button', { name: 'Blocked' }).waitFor();
    await page.route('**/api/v1/tasks/*', async (route) => {
      if (route.request().method() === 'PATCH')
        await baton.tasks.update(task.id, { priority: 'critical' }, { ifMatch: `"task-${task.version}"` });
      await route.continue();
    });
    await page.getByRole('button', { name: 'Blocked' }).click();
    await page.getByText(/changed this task \(priority: critical\)/).waitFor();
    await page.getByText('critical', { exact: true }).waitFor();
    assert.equal((await baton.tasks.get(task.id)).status, task.status);
  });

  test('a pending approval is decided in the inbox', async () => {
    const { id } = await baton.tasks.create({ title: 'Release 2.4' });
    const approval = await baton.approvals.request({
      task: id,
      gate: true,
      comment: 'May I release?',
      assignedPrincipalId: me,
    });
    const { page, complaints } = await signedIn('/inbox');
    await page.getByText('May I release?').waitFor();
    await page.getByPlaceholder('Comment (optional)').fill('Go on.');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('heading', { name: 'No pending approvals' }).waitFor();
    const { status, decisionComment } = await baton.approvals.get(approval.id);
    assert.deepEqual([status, decisionComment], ['approved', 'Go on.']);
    assert.deepEqual(complaints, []);
  });

  test('a sign-out elsewhere is reported, keeps the input, and the next sign-in returns to the same page', async () => {
    const task = await baton.tasks.create({ title: 'Written to the end' });
    const { page, complaints } = await signedIn(`/tasks/${task.publicId}`);
    await page.getByPlaceholder('Add a comment …').fill('Not sent yet');
    const other = await page.context().newPage();
    await other.goto(`${url}/inbox`);
    await other.getByRole('heading', { name: 'Inbox' }).waitFor();
    // Simulates a session that has ended and an access token that has expired.
    await page.context().clearCookies();
    await page.route('**/api/v1/harness/context', (route) =>
      route.fulfill({ status: 401, json: { error: { code: 'invalid_token', message: 'It has expired.' } } }),
    );
    await baton.tasks.createComment(task.id, { body: 'Makes the page look again' });
    await page.getByText('You are signed out.').waitFor();
    assert.equal(await page.getByPlaceholder('Add a comment …').inputValue(), 'Not sent yet');
    await page.unroute('**/api/v1/harness/context');
    await page.getByRole('link', { name: 'Sign in again' }).click();
    await page.getByText('Other ways to sign in').click();
    await page.getByLabel('Personal access token').fill(adminToken);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Written to the end' }).waitFor();
    assert.equal(page.url(), `${url}/tasks/${task.publicId}`);
    // A sign-out in one tab signs out every tab of the browser.
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
    await other.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
    assert.deepEqual(complaints, []);
  });

  longTest('a page keeps its data while Baton is unavailable, and reconnects automatically', async () => {
    const task = await baton.tasks.create({ title: 'Seen over a break' });
    const { page } = await signedIn(`/tasks/${task.publicId}`);
    await page.getByPlaceholder('Add a comment …').fill('Not sent yet');
    await page.route('**/api/v1/**', (route) =>
      route.fulfill({ status: 503, json: { error: { code: 'unavailable', message: 'Not now.' } } }),
    );
    await baton.tasks.createComment(task.id, { body: 'Written during the outage' });
    await page.getByText('Baton is not responding.').waitFor();
    assert.equal(await page.getByPlaceholder('Add a comment …').inputValue(), 'Not sent yet');
    await page.unroute('**/api/v1/**');
    await page.getByText('Baton is not responding.').waitFor({ state: 'detached' });
    await page.getByText('Written during the outage').waitFor();
    await isGone(page.getByRole('alert'));
    assert.equal(await page.getByPlaceholder('Add a comment …').inputValue(), 'Not sent yet');
  });

  test("a browser whose clock is an hour ahead shows times and leases by Baton's clock", async () => {
    const task = await baton.tasks.create({ title: 'Held by another clock' });
    const session = await baton.sessions.open({ clientName: 'another' });
    await baton.tasks.claim(task.id, { sessionId: session.id, ttlSeconds: 600 });
    const { page } = await signedIn();
    await page.addInitScript(`{
      const now = Date.now;
      Date.now = () => now() + 3_600_000;
    }`);
    await page.goto(`${url}/tasks/${task.publicId}`);
    await page.getByText(/The lease expires in (9:[0-5]\d|10:00)/).waitFor();
    await page.getByText(/Administrator claimed (now|\d+ seconds? ago)/).waitFor();
    await baton.sessions.close(session.id);
  });

  test('untrusted text is shown verbatim and never run', async () => {
    const evil = '"><img src=x onerror="window.ran=1"><script>window.ran=1</script>{{7*7}}';
    const task = await baton.tasks.create({ title: evil, description: evil });
    await baton.tasks.createComment(task.id, { body: `${evil} [x](javascript:window.ran=1)` });
    await baton.approvals.request({ task: task.id, comment: evil, assignedPrincipalId: me });
    const session = await baton.sessions.open({ clientName: evil.slice(0, 200) });
    const { page, complaints } = await signedIn();
    for (const path of [`/tasks/${task.publicId}`, '/', '/?view=board', '/inbox', '/agents', '/journal']) {
      await page.goto(url + path);
      await page.getByText(evil.slice(0, 40)).first().waitFor();
      assert.equal(await page.evaluate('window.ran'), undefined, path);
      assert.equal(await page.locator('img, a[href^="javascript:"]').count(), 0, path);
      assert.deepEqual(complaints, [], path);
    }
    await baton.sessions.close(session.id);
  });

  test('the first page loads at most 200 kB of scripts and styles, compressed', async () => {
    const { page } = await openPage(browser);
    let bytes = 0;
    page.on('response', (response) => {
      bytes += Number(response.headers()['content-length'] ?? 0);
    });
    await page.goto(`${url}/sign-in`);
    await page.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
    assert.ok(bytes > 10_000 && bytes <= 200_000, `${bytes} bytes`);
  });

  test("a cached page doesn't reload any file of the console", async () => {
    const { page } = await signedIn();
    await page.reload();
    await page.getByRole('heading', { name: 'Work' }).waitFor();
    const transferred = await page.evaluate(`performance.getEntriesByType('resource')
      .filter(({ name }) => name.includes('/assets/')).map(({ transferSize }) => transferSize)`);
    assert.ok(Array.isArray(transferred) && transferred.length >= 2);
    assert.deepEqual(new Set(transferred), new Set([0]));
  });

  test('scrolling loads a list to its end, with few rows in the document', async () => {
    await baton.tasks.create({ title: 'The first of many' });
    await seedTasks(world.databaseUrl, world.tenantId, 300);
    const { page } = await signedIn();
    await page.getByRole('link', { name: 'Task 300' }).waitFor();
    await page.mouse.move(640, 500);
    await untilTrue(async () => {
      assert.ok((await page.locator('main li').count()) <= 60);
      await page.mouse.wheel(0, 4_000);
      return (await page.getByRole('link', { name: 'The first of many' }).count()) > 0;
    }, 'the wheel did not lead to the first of them');
  });
});

async function tabTo(page: Page, name: string): Promise<void> {
  for (let n = 0; n < 40; n += 1) {
    await page.keyboard.press('Tab');
    if ((await page.evaluate('document.activeElement.textContent')) === name) return;
  }
  assert.fail(`no key led to ${name}`);
}
