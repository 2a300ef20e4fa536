import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { etagOf } from '@baton/sdk';
import { byDepth, longTest } from '@baton/testing/depth';
import { agentPermissions } from '@baton/testing/participant';
import { assertAccessible, isGone, noBrowser, until, untilTrue } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';
import { runStatement } from '../testing/run-statement.ts';

// The operator's view of active agents, and its actions, verified against the service.

const looks = byDepth<readonly (readonly ['light' | 'dark', number])[]>(
  [['dark', 375]],
  [
    ['light', 1280],
    ['dark', 375],
  ],
);

describe('agents and sessions', { skip: noBrowser }, () => {
  let world: RunningConsole;

  before(async () => {
    world = await startConsole();
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  /** Starts an agent that holds a task with this title. */
  async function atWork(title: string, name = 'worker') {
    const task = await world.baton.tasks.create({ title });
    const agent = await world.person(agentPermissions);
    const harness = await agent.baton.harness.open({ name, leaseSeconds: 60 });
    const work = harness.work({ accepts: ({ id }) => id === task.id, once: true });
    const { value: lease } = await work.next();
    assert.ok(lease);
    return { task, agent, harness, lease };
  }

  test('by keyboard alone an operator disables an agent, whose leases then end on the page', async () => {
    const { task, agent, harness, lease } = await atWork('Held by who is disabled');
    const { page, complaints } = await world.signedIn('/agents');
    const card = page.getByRole('listitem').filter({ hasText: 'Held by who is disabled' }).first();
    await card.getByText(/Lease expires in/).waitFor();
    await card.getByRole('button', { name: 'Disable' }).focus();
    await page.keyboard.press('Enter');
    await page
      .getByRole('alertdialog')
      .getByText(/This closes 1 session and releases 1 claim/)
      .waitFor();
    await assertAccessible(page, 'the confirmation before disabling');
    // Key presses do not reach the page below the dialog.
    await page.keyboard.press('g');
    await page.keyboard.press('j');
    await page.keyboard.press('Escape');
    await page.getByRole('alertdialog').waitFor({ state: 'detached' });
    assert.equal(page.url(), `${world.url}/agents`);
    assert.equal((await world.baton.principals.get(agent.principalId)).status, 'active');
    await card.getByRole('button', { name: 'Disable' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Held by who is disabled').waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'No active sessions' }).waitFor();
    assert.equal((await world.baton.principals.get(agent.principalId)).status, 'disabled');
    assert.equal((await world.baton.claims.get(lease.claim.id)).status, 'released');
    assert.equal((await world.baton.tasks.get(task.id)).activeClaimId, null);
    await assert.rejects(lease.checkpoint('late'));
    await harness.close();
    assert.deepEqual(complaints, []);
  });

  test("a run's cancellation is requested, and a lease is ended", async () => {
    const { harness, lease } = await atWork('To be cancelled');
    const { page } = await world.signedIn('/agents');
    await page.getByRole('button', { name: 'Request cancellation' }).click();
    await page.getByText(/cancellation requested/).waitFor();
    assert.notEqual((await world.baton.runs.get(lease.run.id)).cancelRequestedAt, null);
    await page.getByRole('button', { name: 'Release claim' }).click();
    await page.getByText('No claimed tasks.').waitFor();
    assert.equal((await world.baton.claims.get(lease.claim.id)).status, 'released');
    await harness.close();
  });

  longTest(
    'silent agents are shown as unresponsive, idle ones by name; untrusted text is not interpreted',
    async () => {
      const evil = '<img src=x onerror="window.ran=1">';
      const { harness } = await atWork(`Work ${evil}`, `client ${evil}`);
      const { id } = await world.baton.principals.create({ kind: 'agent', displayName: `Idle ${evil}` });
      const session = await world.baton.sessions.open({ clientName: 'silent', ttlSeconds: 3600 });
      // Open the page first: without any event, it must show that a session is silent.
      const watching = await world.signedIn('/agents');
      const silent = watching.page.getByRole('listitem').filter({ hasText: 'silent' }).first();
      await silent.waitFor();
      // Send heartbeats until the page shows the session alive: on a slow machine, the page may take longer to load
      // than the silence timeout.
      const alive = silent.getByText(/^Last heartbeat/);
      let { heartbeatAt } = session;
      await untilTrue(async () => {
        ({ heartbeatAt } = await world.baton.sessions.heartbeat(session.id, { ttlSeconds: 3600 }));
        return alive.isVisible();
      }, 'the page does not show a session that beats as alive');
      // Instead of waiting for most of an hour, the test sets the heartbeat back in the database, which, like silence,
      // writes no event.
      const back =
        "update sessions set heartbeat_at = heartbeat_at - interval '3400 s', expires_at = expires_at - interval '3400 s' where id = $1";
      await runStatement(world.databaseUrl, back, [session.id]);
      ({ heartbeatAt } = await world.baton.sessions.get(session.id));
      await silent.getByText(/^Unresponsive, last heartbeat/).waitFor();
      assert.ok(Date.now() - Date.parse(heartbeatAt) > 3_240_000);
      await watching.page.getByText('2 active · 1 claimed task · 1 session unresponsive').waitFor();
      await watching.page.getByLabel('Show').selectOption('Unresponsive or stalled');
      await watching.page.getByText(`Work ${evil}`).waitFor({ state: 'detached' });
      await silent.waitFor();
      for (const [colorScheme, width] of looks) {
        const options = { colorScheme, viewport: { width, height: 800 } };
        const { page, complaints } = await world.signedIn('/agents', options);
        await page
          .getByText(/Unresponsive, last heartbeat/)
          .first()
          .waitFor();
        await page.getByText(`Work ${evil}`).waitFor();
        await page.getByText(`client ${evil}`).waitFor();
        await page.getByText(/idle agents?/).click();
        await page.getByText(`Idle ${evil}`).waitFor();
        await assertAccessible(page, `${colorScheme} ${width}`);
        assert.equal(await page.evaluate('window.ran'), undefined);
        assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
        assert.deepEqual(complaints, []);
      }
      await world.baton.sessions.close(session.id);
      // An idle agent can be disabled, too.
      const { page } = watching;
      await page.getByText(/idle agents?/).click();
      await page.getByRole('button', { name: `Disable Idle ${evil}` }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click();
      await page.getByRole('alertdialog').waitFor({ state: 'detached' });
      await watching.page
        .getByRole('button', { name: `Disable Idle ${evil}` })
        .waitFor({ state: 'detached' });
      await watching.page.getByText('1 disabled agent').click();
      await watching.page.getByRole('button', { name: `Enable Idle ${evil}` }).waitFor();
      assert.equal((await world.baton.principals.get(id)).status, 'disabled');
      await harness.close();
    },
  );

  longTest(
    'by keyboard alone the journal is filtered by type, object and actor, and an event opens its task in its state at that time',
    async () => {
      const { baton } = world;
      const { task, harness } = await atWork('First title');
      await harness.close();
      const released = await baton.tasks.get(task.id);
      await baton.tasks.update(task.id, { title: 'Second title' }, { ifMatch: etagOf(released) });
      const { page, complaints } = await world.signedIn('/journal');
      const { keyboard } = page;
      const lines = page.getByRole('list', { name: 'Events, the newest first' }).locator('summary');
      const types = async (count: number) => {
        await until(page, `document.querySelectorAll('main ol summary').length === ${count}`);
        return (await lines.allInnerTexts()).map((text) => /[a-z_]+\.[a-z_.]+/.exec(text)?.[0]);
      };
      await lines.first().waitFor();
      await keyboard.press('/');
      await keyboard.type('task.');
      await keyboard.press('Tab');
      await keyboard.type(task.publicId);
      await keyboard.press('Enter');
      assert.deepEqual(await types(3), ['task.updated', 'task.claimed', 'task.created']);
      // After a submit the focus remains in the same field.
      assert.equal(await page.evaluate('document.activeElement.name'), 'object');
      await page.getByLabel('Actor').selectOption({ label: 'a test' });
      assert.deepEqual(await types(1), ['task.claimed']);
      await page.getByRole('main').press('j');
      await keyboard.press('Enter');
      await page.getByRole('link', { name: 'View task at this event' }).waitFor();
      await keyboard.press('Tab');
      await keyboard.press('Enter');
      await page.getByRole('heading', { name: `${task.publicId} First title as of` }).waitFor();
      const fact = (name: string) => page.locator('dl > div', { hasText: name }).locator('dd').first();
      assert.match(await fact('status').innerText(), /^in_progress\s+changed by this event$/);
      await fact('holder').getByText('a test').waitFor();
      await assertAccessible(page, 'a task as it was then');
      await page.getByRole('main').press('k');
      await page.getByRole('heading', { name: `${task.publicId} Second title as of` }).waitFor();
      await fact('title').getByText('changed by this event').waitFor();
      await fact('holder').getByText('None').waitFor();
      const later = (disabled: boolean) =>
        page.getByRole('button', { name: 'Next event', disabled }).waitFor();
      await page.getByText('(latest)').waitFor();
      await later(true);
      await baton.tasks.createComment(task.id, { body: 'It goes on' });
      await page.getByText('(latest)').waitFor({ state: 'detached' });
      await later(false);
      await page.getByRole('main').press('j');
      await page.getByRole('main').press('j');
      await page.getByRole('heading', { name: `${task.publicId} First title as of` }).waitFor();
      await fact('holder').getByText('None').waitFor();
      await page.getByRole('link', { name: 'Open task' }).click();
      await page.getByRole('heading', { name: 'Second title' }).waitFor();

      // The cursor of another object's event isn't found among this object's events.
      const { items } = await baton.events.list({ types: 'session.opened', tail: 1 });
      await page.goto(`${world.url}/journal?object=${task.id}&at=${items[0]?.cursor}`);
      await page.getByText('Event not found').waitFor();

      // An actor that is selected while the page resolves the id takes effect, and so does a later reset.
      await page.goto(`${world.url}/journal`);
      await lines.first().waitFor();
      const asks = Promise.withResolvers<void>();
      const answer = Promise.withResolvers<void>();
      await page.route('**/api/v1/tasks/TASK-*', async (route) => {
        asks.resolve();
        await answer.promise;
        await route.continue();
      });
      const field = page.getByLabel(/^Object/);
      await field.fill(task.publicId);
      await field.press('Enter');
      await asks.promise;
      await page.getByLabel('Actor').selectOption({ label: 'a test' });
      answer.resolve();
      assert.deepEqual(await types(1), ['task.claimed']);
      await page.getByRole('button', { name: 'Clear' }).click();
      await until(page, "document.querySelector('[name=object]').value === ''");

      // The page shows an error if it can't read the holder.
      const claimed = (await baton.events.list({ entityId: task.id, types: 'task.claimed' })).items[0];
      await page.route(`**/api/v1/events?*${claimed?.payload['claimId']}*`, (route) =>
        route.fulfill({ status: 403, json: { error: { code: 'permission_denied', message: 'Not now.' } } }),
      );
      await page.goto(`${world.url}/journal?object=${task.id}&at=${claimed?.cursor}`);
      await page.getByRole('alert').getByText('Not now.').waitFor();
      assert.deepEqual(complaints, []);
    },
  );

  longTest(
    'the journal shows older events page by page, and the events that occurred during a pause',
    async () => {
      const { baton } = world;
      const { id } = await baton.tasks.create({ title: 'Much talked about' });
      for (let n = 0; n < 210; n += 30)
        await Promise.all(
          Array.from({ length: 30 }, (_, more) => baton.tasks.createComment(id, { body: `${n + more}` })),
        );
      const { page } = await world.signedIn(`/journal?object=${id}`);
      const older = page.getByRole('button', { name: 'Load older events' });
      await older.waitFor();
      assert.equal(await page.getByText('task.created').count(), 0);
      // The page also shows events that arrive while it loads older ones, and keeps them.
      await page.route('**/api/v1/events?*before=*', async (route) => {
        await baton.tasks.createComment(id, { body: 'Meanwhile' });
        await page.waitForTimeout(1_000);
        await route.continue();
      });
      await older.click();
      await page.getByText('task.created').waitFor();
      await until(page, "document.querySelectorAll('main ol > li').length === 212");
      await isGone(older);
      await page.getByRole('main').press('p');
      await page.getByRole('button', { name: 'Resume' }).waitFor();
      const going = await world.signedIn(`/journal?object=${id}`);
      await going.page.getByRole('button', { name: 'Load older events' }).waitFor();
      const now = await baton.tasks.get(id);
      await baton.tasks.update(id, { title: 'Decided' }, { ifMatch: etagOf(now) });
      const list = page.locator('main ol');
      // Once a page that is not paused shows the event, the paused page has received it, too.
      await going.page.locator('main ol').getByText('task.updated').waitFor();
      await page.waitForTimeout(500);
      assert.equal(await list.getByText('task.updated').count(), 0);
      await page.getByRole('main').press('p');
      await list.getByText('task.updated').waitFor();
    },
  );
});
