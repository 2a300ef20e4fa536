import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { etagOf } from '@baton/sdk';
import { assertAccessible, noBrowser } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';
import { pagesOfConsole, settled } from '../testing/console-pages.ts';

// Every page of the navigation, and the overlays: contrast depends on the colour scheme, layout on the width.

describe('the accessibility of every page', { skip: noBrowser }, () => {
  let world: RunningConsole;
  let publicId: string;
  let approvalId: string;
  let runId: string;

  before(async () => {
    world = await startConsole();
    const task = await world.baton.tasks.create({
      title: 'Checked by axe',
      description: 'A task with everything that a page shows.',
      priority: 'critical',
      assigneeId: world.me,
      customFields: { budget: 5_000 },
    });
    ({ publicId } = task);
    await world.baton.tasks.createComment(task.id, { body: 'Half is done.' });
    ({ id: approvalId } = await world.baton.approvals.request({
      task: task.id,
      comment: 'May I?',
      assignedPrincipalId: world.me,
    }));
    await world.baton.tasks.update(
      task.id,
      { customFields: { budget: 9_000 } },
      { ifMatch: etagOf(await world.baton.tasks.get(task.id)) },
    );
    const session = await world.baton.sessions.open({ clientName: 'a test' });
    const claim = await world.baton.tasks.claim(task.id, { sessionId: session.id, intent: 'To be reviewed' });
    const run = await world.baton.tasks.startRun(task.id, {
      claimId: claim.id,
      fencingToken: claim.fencingToken,
    });
    runId = run.id;
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 375],
  ] as const)
    test(`axe finds nothing in ${colorScheme}, ${width} pixels wide`, async () => {
      const { page, complaints } = await world.signedIn('/', {
        colorScheme,
        viewport: { width, height: 800 },
      });
      const look = (name: string) => assertAccessible(page, `${name} ${colorScheme} ${width}`);
      const paths = [
        ...pagesOfConsole.map(({ path }) => path),
        '/?view=board',
        `/tasks/${publicId}`,
        `/approvals/${approvalId}`,
        `/runs/${runId}`,
        '/?q=nothing+is+called+so',
        '/inbox/nowhere',
        '/account',
        '/invite',
        '/sign-in',
      ];
      for (const path of paths) {
        await page.goto(world.url + path);
        await settled(page);
        await look(path);
        assert.equal(await page.locator('main h1').count(), 1, `one heading of the first rank: ${path}`);
      }
      for (const [name, path, open] of overlays(publicId)) {
        await page.goto(world.url + path);
        await settled(page);
        await open(page);
        await look(name);
      }
      assert.deepEqual(complaints, []);
    });
});

function overlays(publicId: string): readonly [string, string, (page: Page) => Promise<void>][] {
  const dialog = async (page: Page) => page.getByRole('dialog').waitFor();
  return [
    ['the palette', '/', async (page) => page.keyboard.press('Control+k').then(() => dialog(page))],
    [
      'the palette on a task',
      `/tasks/${publicId}`,
      async (page) => {
        await page.keyboard.press('m');
        await page
          .getByRole('option', { name: /^Move to/ })
          .first()
          .waitFor();
      },
    ],
    ['the keys', '/', async (page) => page.keyboard.press('?').then(() => dialog(page))],
    ['a new task', '/?create=true', dialog],
    [
      'saving a view',
      '/?priority=critical',
      async (page) => {
        await page.getByRole('button', { name: 'Save view' }).click();
        await dialog(page);
        await page.getByLabel('View name').fill('Urgent');
        await page.keyboard.press('Enter');
        await page.getByRole('link', { name: 'Urgent' }).waitFor();
        await page.getByRole('button', { name: 'Edit views' }).click();
        await page.getByRole('button', { name: 'Delete Urgent' }).waitFor();
      },
    ],
    [
      'the menu of a card',
      '/?view=board',
      async (page) => {
        await page.getByRole('button', { name: `Move ${publicId}` }).click();
        await page.getByRole('menuitem').first().waitFor();
      },
    ],
  ];
}
