import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Lease } from '@baton/sdk';
import { assertTookLess, byDepth, longTest } from '@baton/testing/depth';
import { agentPermissions } from '@baton/testing/participant';
import { assertAccessible, noBrowser, until } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';

// The page of a task and the page of its attempt, in a browser that enforces the console's security policy.

const evil = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>';
const esc = '\u001b';
/** A red square of 2 by 2 pixels. */
const png = Uint8Array.from(
  atob(
    'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==',
  ),
  (character) => character.charCodeAt(0),
);

const looks = byDepth<readonly (readonly ['light' | 'dark', number])[]>(
  [['dark', 390]],
  [
    ['light', 1280],
    ['dark', 390],
  ],
);
const eventsMany = 2_000;
const openMsMax = 1_000;

describe('the story of a task', { skip: noBrowser }, () => {
  let world: RunningConsole;

  before(async () => {
    world = await startConsole();
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  /** Lets an agent claim a new task. @returns the lease, and a function that ends the agent's work */
  async function working(title: string): Promise<{ lease: Lease; end: () => Promise<void> }> {
    const task = await world.baton.tasks.create({ title, description: `Before winter. ${evil}` });
    const agent = await world.participant('Ada', agentPermissions);
    const harness = await agent.baton.harness.open({ name: 'roofer', leaseSeconds: 60 });
    const work = harness.work({ accepts: ({ id }) => id === task.id, once: true });
    const { value: lease } = await work.next();
    assert.ok(lease);
    return {
      lease,
      end: async () => {
        await work.return();
        await harness.close();
      },
    };
  }

  async function publish(
    lease: Lease,
    name: string,
    mediaType: string,
    bytes: string | Uint8Array<ArrayBuffer>,
  ) {
    const { contentRef } = await world.baton.artifactContents.upload(new Blob([bytes], { type: mediaType }));
    await world.baton.artifacts.create({
      type: 'report',
      name,
      task: lease.task.id,
      runId: lease.run.id,
      contentRef,
    });
  }

  test('a task and its attempt show what was delivered; artifacts never run', async () => {
    const { baton } = world;
    const { lease, end } = await working('Mend the roof');
    await lease.checkpoint('step', { note: `Counted the tiles ${evil}`, broken: 4 });
    await lease.comment({ body: `Four are broken. ${evil}` });
    await publish(lease, 'build.log', 'text/plain', `ok\n${esc}[31mfailed ${evil}${esc}[0m\n`);
    await publish(lease, 'page.html', 'text/html', evil);
    await publish(
      lease,
      'drawing.svg',
      'image/svg+xml',
      `<svg xmlns="http://www.w3.org/2000/svg" onload="window.ran=1"/>`,
    );
    await publish(lease, 'shot.png', 'image/png', png);
    await publish(lease, 'tiles.csv', 'text/csv', 'row,tiles\nnorth,12\n');
    await lease.succeed({
      summary: `Replaced four tiles ${evil}`,
      commit: '3f2a91c0de',
      pullRequest: 'https://github.com/acme/roof/pull/3',
      preview: 'javascript:window.ran=1',
    });
    await end();
    for (const [colorScheme, width] of looks) {
      const options = { colorScheme, viewport: { width, height: 800 } };
      const { page, complaints } = await world.signedIn(`/tasks/${lease.task.publicId}`, options);
      const result = page.getByRole('region', { name: 'Result' });
      await result.getByText(`Replaced four tiles ${evil}`).waitFor();
      await result.getByRole('link', { name: /^Pull request github\.com\/acme\/roof\/pull\/3/ }).waitFor();
      for (const name of ['build.log', 'page.html', 'drawing.svg', 'tiles.csv', 'shot.png'])
        await result.getByText(name).click();
      await result.getByText(`failed ${evil}`).waitFor();
      await result.getByRole('cell', { name: 'north' }).waitFor();
      await result.getByText('window.ran=1"/>').waitFor();
      const image = result.getByRole('img', { name: 'shot.png' });
      await image.waitFor();
      await until(page, 'document.querySelector(\'main img[src^="blob:"]\')?.naturalWidth === 2');
      const download = page.waitForEvent('download');
      await result.getByRole('button', { name: 'Download' }).first().click();
      assert.equal((await download).suggestedFilename(), 'tiles.csv');
      const activity = page.getByRole('region', { name: 'Activity' });
      await activity.getByText(/^Ada finished it: Replaced four tiles .*, commit 3f2a91c, /).waitFor();
      await activity.getByText(`Four are broken. ${evil}`).waitFor();
      await activity.getByText(/Ada saved checkpoint 1: Counted the tiles/).click();
      await activity.getByText('run.checkpointed', { exact: true }).waitFor();
      await assertAccessible(page, `a task's story ${colorScheme} ${width}`);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);

      await result.getByRole('link', { name: 'Attempt 1' }).click();
      await page.getByRole('heading', { name: 'Attempt 1 at Mend the roof' }).waitFor();
      const timeline = page.getByRole('region', { name: 'Timeline' });
      await timeline.getByText(`Counted the tiles ${evil}`).waitFor();
      await timeline.getByText(/Ada finished it/).waitFor();
      await page.getByText('Instructions').click();
      await page.getByText(/Baton provided no instructions|Task type/).waitFor();
      await assertAccessible(page, `an attempt ${colorScheme} ${width}`);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
      assert.equal(await page.evaluate('window.ran'), undefined);
      assert.deepEqual(complaints, []);
    }
    assert.equal((await baton.tasks.get(lease.task.id)).status, 'done');
  });

  test('a person steers a running agent and stops it, and sees it happen without a reload', async () => {
    const { lease, end } = await working('Paint the fence');
    const { page, complaints } = await world.signedIn(`/runs/${lease.run.id}`);
    const timeline = page.getByRole('region', { name: 'Timeline' });
    await page.getByRole('button', { name: 'Steer …' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('Use the green one.');
    await assertAccessible(page, 'steering an agent');
    await page.getByRole('button', { name: 'Steer', exact: true }).click();
    await timeline.getByText('Use the green one.').waitFor();
    await timeline.getByText('The agent has not acknowledged it yet.').waitFor();
    const { items } = await world.baton.runs.listControlMessages(lease.run.id);
    assert.deepEqual(
      items.map(({ operation, directive }) => [operation, directive]),
      [['steer', 'Use the green one.']],
    );
    await lease.checkpoint('step', { note: 'The first plank is green' });
    await timeline.getByText('The first plank is green').waitFor();
    await page.getByRole('button', { name: 'Stop now …' }).click();
    await page.getByLabel('Reason').fill('It rains.');
    await page.getByRole('button', { name: 'Stop now', exact: true }).click();
    await page.getByRole('region', { name: 'Stopped' }).getByText('It rains.').waitFor();
    assert.equal((await world.baton.runs.get(lease.run.id)).status, 'cancelled');
    await assert.rejects(lease.checkpoint('late'), { name: 'LeaseLostError' });
    await end();
    assert.deepEqual(complaints, []);
  });

  longTest(`a task with ${eventsMany} events opens within a second`, async () => {
    const { baton } = world;
    const { id } = await baton.tasks.create({ title: 'Much talked about' });
    for (let n = 0; n < eventsMany; n += 40)
      await Promise.all(
        Array.from({ length: 40 }, (_, more) => baton.tasks.createComment(id, { body: `Word ${n + more}` })),
      );
    const { page } = await world.signedIn('/');
    const link = page.getByRole('link', { name: 'Much talked about' });
    await link.waitFor();
    const sinceMs = performance.now();
    await link.click();
    await page
      .getByRole('region', { name: 'Activity' })
      .getByText(/^Word \d+$/)
      .nth(20)
      .waitFor();
    assertTookLess(sinceMs, openMsMax, 'the task');
    const lines = page.getByRole('list', { name: 'Activity, the newest first' }).locator('> li');
    const shown = await lines.count();
    await page.getByRole('button', { name: 'Show older activity' }).click();
    await lines.nth(shown).waitFor();
  });
});
