import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { byDepth } from '@baton/testing/depth';
import { agentPermissions } from '@baton/testing/participant';
import { assertAccessible, noBrowser } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';
import { settled } from '../testing/console-pages.ts';

const looks = byDepth<readonly (readonly ['light' | 'dark', number])[]>(
  [
    ['light', 1280],
    ['dark', 375],
  ],
  [
    ['light', 1280],
    ['light', 375],
    ['dark', 1280],
    ['dark', 375],
  ],
);

describe('the overview', { skip: noBrowser }, () => {
  let world: RunningConsole;
  let publicId: string;

  before(async () => {
    world = await startConsole();
    const ada = await world.participant('Ada', agentPermissions);
    const task = await world.baton.tasks.create({ title: 'Fix the race' });
    ({ publicId } = task);
    const session = await ada.baton.sessions.open({ clientName: 'a test' });
    const claim = await ada.baton.tasks.claim(task.id, { sessionId: session.id });
    const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
    const run = await ada.baton.tasks.startRun(task.id, keys);
    await ada.baton.runs.createAction(run.id, {
      action: 'think',
      usage: { inputTokens: 12_000, outputTokens: 400, costMicros: 420_000 },
    });
    await ada.baton.runs.succeed(run.id, {});
    await world.baton.approvals.request({
      task: (await world.baton.tasks.create({ title: 'Ask' })).id,
      comment: 'May I?',
      assignedPrincipalId: world.me,
    });
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  test('shows who costs most, what was done and who held what; axe finds nothing, and nothing overflows', async () => {
    for (const [colorScheme, width] of looks) {
      const options = { colorScheme, viewport: { width, height: 800 } };
      const { page, complaints } = await world.signedIn('/overview', options);
      await page.getByRole('region', { name: 'Spending by agent' }).getByText('$0.42').waitFor();
      await page.getByRole('region', { name: 'Spending by agent' }).getByText('Ada').waitFor();
      await page.getByRole('link', { name: new RegExp(`^${publicId} Fix the race`) }).waitFor();
      await settled(page);
      await assertAccessible(page, `overview ${colorScheme} ${width}`);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
      for (const button of await page.getByRole('button', { name: 'Show as table' }).all())
        await button.click();
      await assertAccessible(page, `tables of the overview ${colorScheme} ${width}`);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
      assert.deepEqual(complaints, []);
      await page.context().close();
    }
  });

  test('by keyboard alone: from the start page to the list behind a figure', async () => {
    const { page, complaints } = await world.signedIn('/');
    await page.getByRole('heading', { name: 'Work', level: 1 }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('v');
    await page.getByRole('button', { name: '7 days' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(`${world.url}/overview?days=7`);
    await page.getByRole('link', { name: 'Finished tasks' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Fix the race').first().waitFor();
    assert.equal(new URL(page.url()).searchParams.get('category'), 'terminal_success');
    assert.deepEqual(complaints, []);
  });
});
