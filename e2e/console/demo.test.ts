import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { keepLog } from '@baton/kernel/testing/leaks/leaks';
import { program } from '@baton/testing/baton-process';
import { isLongProof, longTest } from '@baton/testing/depth';
import { agentPermissions } from '@baton/testing/participant';
import { assertAccessible, isGone, noBrowser } from '../testing/browser.ts';
import { type OwnConsole, startOwnConsole } from '../testing/console.ts';

// The first two minutes of a visitor: an empty board, a demo to watch, and its removal.

describe('the live demo', { skip: noBrowser }, () => {
  let world: OwnConsole;

  before(async () => {
    world = await startOwnConsole();
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  async function cli(...words: string[]) {
    const running = program('packages/cli/src/main.ts', words, { BATON_HOME: world.home });
    const code = await running.ended;
    keepLog(running.output());
    return { code, text: running.output() };
  }
  const workspaces = async (status: string) =>
    (await world.baton.workspaces.list({ status, limit: 50 })).items.filter(({ slug }) =>
      slug.startsWith('baton-demo-'),
    );

  /** Approves the agents' requests and checks that all tasks complete. */
  async function watchToTheEnd(page: Page, workspaceId: string) {
    page.setDefaultTimeout(120_000);
    await page.getByRole('link', { name: /^Inbox/ }).click();
    for (const question of ['May I use the tax rates of 1 January', 'May I publish version 1.4']) {
      const asked = page.getByRole('article').filter({ hasText: question });
      await asked.getByRole('button', { name: 'Approve' }).click();
      await asked.waitFor({ state: 'detached' });
    }
    await page.goto(`${world.url}/?workspace=${workspaceId}&view=board`);
    await page.getByRole('heading', { name: 'Done 15' }).waitFor();
    const { items: tasks } = await world.baton.tasks.list({ workspaceId, limit: 100 });
    assert.equal(tasks.length, 15);
    // The suspended agent reports that Baton rejected its late write.
    const vouchers = tasks.find(({ title }) => title.startsWith('Delete vouchers'));
    await page.goto(`${world.url}/tasks/${vouchers?.publicId}`);
    await page
      .getByText(/Baton rejected it \((stale_claim|claim_expired|claim_not_active|run_not_active)\)/)
      .waitFor();
    assert.deepEqual(
      (await world.baton.tasks.list({ workspaceId, limit: 100 })).items.map(
        ({ systemStatusCategory }) => systemStatusCategory,
      ),
      tasks.map(() => 'terminal_success'),
    );
  }

  test('a visitor starts it from the empty board, watches, answers, and removes it with one action', async () => {
    const { page, complaints } = await world.signedIn('/?view=board');
    await page.getByRole('heading', { name: 'No tasks yet' }).waitFor();
    const start = page.getByRole('button', { name: 'Start the demo' });
    await start.waitFor();
    await assertAccessible(page, 'empty board');
    await start.click();
    await page.getByRole('note', { name: 'Demo' }).waitFor();
    await page.waitForURL(/workspace=/);
    const [demo] = await workspaces('active');
    assert.ok(demo);
    assert.equal(new URL(page.url()).searchParams.get('workspace'), demo.id);
    // The page shows the holders without a reload.
    await page.getByText('Held by Robin').waitFor();
    await page
      .getByText(/Held by (Ada|Grace|Linus)/)
      .first()
      .waitFor();
    await assertAccessible(page, 'demo at work');
    assert.match((await cli('demo', 'live')).text, /A demo already exists/);

    // The demo posts its questions after 10 s and ends after 30 s.
    if (isLongProof) await watchToTheEnd(page, demo.id);

    await page.goto(world.url);
    await page.getByRole('button', { name: 'Remove the demo' }).click();
    await page.getByText('Tasks of one archived workspace are hidden.').waitFor();
    await page.getByRole('heading', { name: 'No tasks yet' }).waitFor();
    await isGone(page.getByRole('note', { name: 'Demo' }));
    await page.getByRole('link', { name: 'Show' }).click();
    await page.getByRole('link', { name: 'Publish version 1.4 of the shop' }).waitFor();
    assert.deepEqual([(await workspaces('active')).length, (await workspaces('archived')).length], [0, 1]);
    const { items: members } = await world.baton.workspaces.listMembers(demo.id, { limit: 50 });
    assert.equal(members.length, 4);
    for (const { principalId } of members)
      assert.equal((await world.baton.principals.get(principalId)).status, 'disabled');
    assert.deepEqual(complaints, []);
  });

  longTest(
    'removed while working: leases end, open tasks and questions are cancelled; a second removal has no effect',
    async () => {
      const running = program('packages/cli/src/main.ts', ['demo', 'live', '--step-ms', '200', '--json'], {
        BATON_HOME: world.home,
      });
      await running.prints(/requests your approval for/);
      const [demo] = await workspaces('active');
      const removed = await cli('demo', 'remove', '--json');
      assert.equal(removed.code, 0, removed.text);
      assert.deepEqual(
        JSON.parse(removed.text.trim()).items.map(({ workspace, agents }: Record<string, unknown>) => [
          workspace,
          agents,
        ]),
        [[demo?.slug, 4]],
      );
      assert.equal(await running.ended, 1);
      assert.match(running.output(), /The demo was removed\./);
      keepLog(running.output());
      assert.equal((await world.baton.claims.list({ status: 'active', limit: 10 })).items.length, 0);
      assert.equal((await world.baton.approvals.list({ status: 'pending', limit: 10 })).items.length, 0);
      const { items } = await world.baton.tasks.list({ workspaceId: demo?.id ?? '', limit: 100 });
      assert.ok(items.every(({ systemStatusCategory }) => systemStatusCategory.startsWith('terminal')));
      assert.match((await cli('demo', 'remove')).text, /There is no demo to remove\./);
    },
  );

  test('only the administrator is offered the demo and can start it', async () => {
    const { token } = await world.person([...agentPermissions, 'workspaces.read']);
    const { page } = await world.signedIn('/?q=nothing-is-called-so', {}, token);
    await page.getByRole('heading', { name: 'No tasks match these filters' }).waitFor();
    const ask = (act: string) =>
      page.evaluate(
        `fetch('/console/demo', { method: 'POST', headers: { 'content-type': 'application/json', 'baton-console-key': localStorage.getItem('baton.console-key') }, body: '{"act":"${act}"}' }).then(async (answer) => [answer.status, (await answer.json()).error?.code])`,
      );
    assert.deepEqual(await ask('start'), [403, 'permission_denied']);
    assert.deepEqual(await ask('remove'), [403, 'permission_denied']);
    assert.deepEqual(await ask('delete'), [400, 'invalid_request']);
    await page.goto(world.url);
    assert.equal(await page.getByRole('button', { name: 'Start the demo' }).count(), 0);
  });
});
