import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertAccessible, noBrowser } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';
import { agentPermissions } from '../testing/participant.ts';

// What an operator sees of agents at work, and does about them; each act is checked at the service.

describe('agents and sessions', { skip: noBrowser }, () => {
  let world: RunningConsole;

  before(async () => {
    world = await startConsole();
  });
  after(() => world?.close());

  /** An agent that holds a task of this title. */
  async function atWork(title: string, name = 'worker') {
    const task = await world.baton.tasks.create({ title });
    const agent = await world.person(agentPermissions);
    const harness = await agent.baton.harness.open({ name, leaseSeconds: 60 });
    const work = harness.work({ accepts: ({ id }) => id === task.id, once: true });
    const { value: lease } = await work.next();
    assert.ok(lease);
    return { task, agent, harness, lease };
  }

  test('by keyboard alone an operator disables an agent, and sees its leases end', async () => {
    const { task, agent, harness, lease } = await atWork('Held by who is disabled');
    const { page, complaints } = await world.signedIn('/agents');
    const card = page.getByRole('listitem').filter({ hasText: 'Held by who is disabled' }).first();
    await card.getByText(/lease ends in/).waitFor();
    await card.getByRole('button', { name: 'Disable' }).focus();
    await page.keyboard.press('Enter');
    await page
      .getByRole('alertdialog')
      .getByText(/1 session of it is closed and 1 lease ends/)
      .waitFor();
    await assertAccessible(page, 'asked before disabling');
    await page.keyboard.press('Escape');
    await page.getByRole('alertdialog').waitFor({ state: 'detached' });
    assert.equal((await world.baton.principals.get(agent.principalId)).status, 'active');
    await card.getByRole('button', { name: 'Disable' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Held by who is disabled').waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Nobody is at work' }).waitFor();
    assert.equal((await world.baton.principals.get(agent.principalId)).status, 'disabled');
    assert.equal((await world.baton.claims.get(lease.claim.id)).status, 'released');
    assert.equal((await world.baton.tasks.get(task.id)).activeClaimId, null);
    await assert.rejects(lease.checkpoint('late'));
    await harness.close();
    assert.deepEqual(complaints, []);
  });

  test('a run is asked to stop, and a lease is ended', async () => {
    const { harness, lease } = await atWork('Asked to stop');
    const { page } = await world.signedIn('/agents');
    await page.getByRole('button', { name: 'Ask it to stop' }).click();
    await page.getByText(/asked to stop/).waitFor();
    assert.notEqual((await world.baton.runs.get(lease.run.id)).cancelRequestedAt, null);
    await page.getByRole('button', { name: 'End the lease' }).click();
    await page.getByText('Holds nothing.').waitFor();
    assert.equal((await world.baton.claims.get(lease.claim.id)).status, 'released');
    await harness.close();
  });

  test('who is silent is shown as unresponsive, who is idle by name; texts of others stay texts', async () => {
    const evil = '<img src=x onerror="window.ran=1">';
    const { harness } = await atWork(`Work ${evil}`, `client ${evil}`);
    const { id } = await world.baton.principals.create({ kind: 'agent', displayName: `Idle ${evil}` });
    const session = await world.baton.sessions.open({ clientName: 'silent', ttlSeconds: 600 });
    await new Promise((resolve) => setTimeout(resolve, 11_000));
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 375],
    ] as const) {
      const options = { colorScheme, viewport: { width, height: 800 } };
      const { page, complaints } = await world.signedIn('/agents', options);
      await page
        .getByText(/Unresponsive: silent since/)
        .first()
        .waitFor();
      await page.getByText(`Work ${evil}`).waitFor();
      await page.getByText(`client ${evil}`).waitFor();
      await page.getByText(/not at work/).click();
      await page.getByText(`Idle ${evil}`).waitFor();
      await assertAccessible(page, `${colorScheme} ${width}`);
      assert.equal(await page.evaluate('window.ran'), undefined);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
      assert.deepEqual(complaints, []);
    }
    await world.baton.sessions.close(session.id);
    await world.baton.principals.disable(id);
    await harness.close();
  });

  test('who may not see sessions is told the right', async () => {
    const reader = await world.person(['tasks.read']);
    const { page } = await world.signedIn('/agents', {}, reader.token);
    await page.getByText(/sessions\.manage/).waitFor();
  });
});
