import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { byDepth, longTest } from '@baton/testing/depth';
import { assertAccessible, isLoading, noBrowser, untilTrue } from '../testing/browser.ts';
import { type OwnConsole, startOwnConsole } from '../testing/console.ts';

// The operator's page, with a receiver that rejects deliveries at first.

const looks = byDepth<readonly (readonly ['light' | 'dark', number])[]>(
  [['dark', 390]],
  [
    ['light', 1280],
    ['dark', 390],
  ],
);

describe('the system page', { skip: noBrowser }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-sinks-'));
  let world: OwnConsole;
  let answers = 400;
  const taken: string[] = [];
  const receiver = createServer((req, res) => {
    if (answers < 300) taken.push(String(req.headers['webhook-id']));
    req.resume().on('end', () => res.writeHead(answers).end());
  });

  before(async () => {
    await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const sink = { name: 'ci', type: 'webhook', url, secrets: [{ env: 'HOOK' }], types: ['task.created'] };
    writeFileSync(join(folder, 'sinks.json'), JSON.stringify({ sinks: [sink] }));
    world = await startOwnConsole({
      CP_SINKS_FILE: join(folder, 'sinks.json'),
      CP_OUTBOX_MAX_ATTEMPTS: '1',
      HOOK: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    });
    for (const title of ['One', 'Two', 'Three']) await world.baton.tasks.create({ title });
    await untilDead(3);
  });
  afterEach(() => world?.closePages());
  after(async () => {
    await world?.close();
    receiver.closeAllConnections();
    receiver.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const deadNow = async () =>
    (await world.baton.operations.listUndeliveredEvents({ status: 'dead' })).items.length;
  async function untilDead(count: number) {
    await untilTrue(async () => (await deadNow()) === count, `there are not ${count} dead letters`);
  }

  test('both services are shown as ready, with their metrics; a failing one shows the remedy', async () => {
    const { page, complaints } = await world.signedIn();
    await page.keyboard.press('g');
    await page.keyboard.press('s');
    await page.getByRole('heading', { name: 'System' }).waitFor();
    await page.getByText('Ready', { exact: true }).nth(1).waitFor();
    const dead = page.locator('dl > div', { hasText: 'Dead letters' }).locator('dd');
    await dead.getByText('3', { exact: true }).waitFor();
    await page.route('**/health/ready', (route) =>
      route.fulfill({
        status: 503,
        json: { status: 'unavailable', reason: 'migrations_pending', dbRevision: 3, headRevision: 4 },
      }),
    );
    await page.route('**/iam/readyz', (route) => route.abort());
    await page.route('**/metrics', (route) => route.fulfill({ status: 401 }));
    await page.reload();
    await page.getByText('The database schema is at migration 3 of 4. Run the migrations.').waitFor();
    await page.getByText('The service is not responding.').waitFor();
    await page.getByText(/\/metrics is not available to browsers/).waitFor();
    assert.deepEqual(complaints, []);
  });

  test('axe finds nothing, in light wide and in dark narrow', async () => {
    for (const [colorScheme, width] of looks) {
      const { page, complaints } = await world.signedIn('/system', {
        colorScheme,
        viewport: { width, height: 800 },
      });
      await page.getByRole('button', { name: 'Discard …' }).first().click();
      await page.getByText('Stale writes rejected').waitFor();
      await assertAccessible(page, `${colorScheme} ${width}`);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false);
      assert.deepEqual(complaints, []);
    }
  });

  test('it polls only while it is visible', async () => {
    const { page } = await world.signedIn();
    let isHidden = false;
    const asked = { inSight: 0, outOfSight: 0 };
    await page.clock.install();
    await page.goto(`${world.url}/system`);
    await page.getByText('Stale writes rejected').waitFor();
    await page.getByText('No pending deliveries.').waitFor();
    page.on('request', () => {
      asked[isHidden ? 'outOfSight' : 'inSight'] += 1;
    });
    const show = async (state: 'hidden' | 'visible') => {
      isHidden = state === 'hidden';
      await page.evaluate(`
        Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));`);
    };
    for (const round of ['first', 'second']) {
      // The page skips a poll while a request is pending, so a slow response would leave too few requests.
      await untilTrue(() => !isLoading(page), 'it goes on loading');
      asked.inSight = 0;
      await page.clock.runFor(6_000);
      await untilTrue(
        () => asked.inSight >= 3,
        () => `${asked.inSight} requests in the ${round} round`,
      );
    }
    await show('hidden');
    // A request that was started while the page was visible finishes first.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await untilTrue(() => !isLoading(page), 'it goes on loading');
    asked.outOfSight = 0;
    await page.clock.runFor(60_000);
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal(asked.outOfSight, 0);
    await show('visible');
    asked.inSight = 0;
    await page.clock.runFor(6_000);
    assert.ok(asked.inSight > 0);
  });

  longTest(
    'with read permission only, deliveries are shown without actions; without it, none are shown',
    async () => {
      for (const [right, seen] of [
        ['operations.read', 'task.created'],
        ['tasks.read', 'Deliveries require the permission'],
      ] as const) {
        const { page } = await world.signedIn();
        await page.route('**/harness/context', async (route) => {
          const answer = await route.fetch();
          await route.fulfill({ json: { ...(await answer.json()), permissions: [right] } });
        });
        await page.goto(`${world.url}/system`);
        await page.getByText(seen).first().waitFor();
        assert.equal(await page.getByRole('button', { name: /Redeliver|Discard/ }).count(), 0, right);
      }
    },
  );

  longTest("a browser whose clock is ahead shows the next attempt by Baton's clock", async () => {
    const { page } = await world.signedIn();
    await page.addInitScript('{ const now = Date.now; Date.now = () => now() + 7_200_000; }');
    await page.route('**/operations/outbox?*status=pending*', async (route) => {
      const [item] = (await world.baton.operations.listUndeliveredEvents({ status: 'dead' })).items;
      const nextAttemptAt = new Date(Date.now() + 3_660_000).toISOString();
      await route.fulfill({
        json: { items: [{ ...item, nextAttemptAt }], nextCursor: null, hasMore: false },
      });
    });
    await page.goto(`${world.url}/system`);
    await page.getByText('next attempt in 1 hour').waitFor();
  });

  longTest(
    'by keyboard alone: a delivery is dropped with a reason, another is retried, and then all remaining ones',
    async () => {
      await world.baton.tasks.create({ title: 'Four' });
      await untilDead(4);
      const { page, complaints } = await world.signedIn('/system');
      const { keyboard } = page;
      await page.getByRole('button', { name: 'Discard …' }).first().focus();
      await keyboard.press('Enter');
      await keyboard.type('The receiver was removed');
      await keyboard.press('Enter');
      await page.getByRole('button', { name: 'Redeliver all 3' }).waitFor();
      await untilDead(3);
      const { items } = await world.baton.events.list({ types: 'outbox.dropped' });
      assert.equal(items[0]?.payload.reason, 'The receiver was removed');
      answers = 204;
      await page.getByRole('button', { name: 'Redeliver', exact: true }).first().focus();
      await keyboard.press('Enter');
      await page.getByRole('button', { name: 'Redeliver all 2' }).focus();
      await keyboard.press('Enter');
      await page.getByText('No dead letters.').waitFor();
      await page.getByText('No pending deliveries.').waitFor();
      assert.equal(new Set(taken).size, 3);
      assert.deepEqual(complaints, []);
    },
  );
});
