import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { etagOf } from '@baton/sdk';
import { longTest } from '@baton/testing/depth';
import { agentPermissions as workerPermissions } from '@baton/testing/participant';
import { assertAccessible, isGone, noBrowser, openPage, until, untilTrue } from '../testing/browser.ts';
import { type OwnConsole, startOwnConsole } from '../testing/console.ts';
import { localUrl } from '../testing/passkeys.ts';
import { endLease } from '../testing/run-statement.ts';

// Complete user journeys. console.test.ts has the one in which a task is created, found, opened and commented on.

const agentPermissions = ['tasks.read', 'tasks.claim', 'sessions.open'];

describe('journeys through the console', { skip: noBrowser }, () => {
  let world: OwnConsole;

  before(async () => {
    world = await startOwnConsole();
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  test('a newcomer, from an empty folder: opens the printed address, then creates, claims and completes the first task', async () => {
    const { page, complaints } = await openPage(world.browser);
    await page.goto(world.printedAddress);
    await page.getByRole('heading', { name: 'No tasks yet' }).waitFor();
    await page.getByRole('link', { name: 'Create task' }).click();
    await page.getByLabel('Title').fill('My first task');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'My first task' }).waitFor();
    await page.getByRole('button', { name: 'Claim' }).click();
    await page.getByRole('heading', { name: 'You hold this task' }).waitFor();
    await assertAccessible(page, 'a task that is held in the console', 'usual');
    // After a reload, the page still holds the claim and renews it.
    await page.reload();
    const field = page.getByRole('textbox', { name: 'Result (optional)' });
    await field.fill('It was easy.');
    await page.getByRole('button', { name: 'Complete' }).click();
    await page.getByText(/Completed TASK-\d+\./).waitFor();
    await page.getByRole('listitem').getByText('It was easy.').waitFor();
    const [task] = (await world.baton.tasks.list({ limit: 1 })).items;
    assert.deepEqual([task?.title, task?.status, task?.activeClaimId], ['My first task', 'done', null]);
    assert.match(await page.title(), /^TASK-\d+ My first task · Baton$/);

    // Cancelling your own task is not reported as a loss.
    const second = await world.baton.tasks.create({ title: 'Not wanted any more' });
    await page.goto(`${localUrl(world)}/tasks/${second.publicId}`);
    await page.getByRole('button', { name: 'Claim' }).click();
    await page.getByRole('heading', { name: 'You hold this task' }).waitFor();
    const { activeClaimId } = await world.baton.tasks.get(second.id);
    const isJudged = Promise.all(
      [`/claims/${activeClaimId}`, `entityId=${activeClaimId}`].map((part) =>
        page.waitForResponse((answer) => answer.url().includes(part)),
      ),
    );
    await page.getByRole('button', { name: 'Cancelled' }).click();
    await isJudged;
    await page.getByRole('heading', { name: 'You hold this task' }).waitFor({ state: 'detached' });
    assert.equal((await world.baton.claims.get(activeClaimId ?? '')).releaseReason, 'task_cancelled');
    assert.equal(await page.getByText(/no longer hold/).count(), 0);
    assert.deepEqual(complaints, []);
  });

  test('a lost claim is reported with its cause, and the draft is kept', async () => {
    const { baton } = world;
    const task = await baton.tasks.create({ title: 'Taken away' });
    const person = await world.person([
      ...workerPermissions,
      'workspaces.read',
      'principals.read',
      'tasks.write',
    ]);
    const { page, complaints } = await world.signedIn(`/tasks/${task.publicId}`, {}, person.token);
    await page.getByRole('button', { name: 'Claim' }).waitFor();
    await page.keyboard.press('t');
    const field = page.getByRole('textbox', { name: 'Result (optional)' });
    await field.fill('Half of it is done.');
    const { activeClaimId: first } = await baton.tasks.get(task.id);
    assert.equal((await baton.claims.get(first ?? '')).holderId, person.principalId);
    // Meanwhile nobody can write without the claim, not even the administrator.
    await assert.rejects(
      baton.tasks.update(task.id, { priority: 'high' }, { ifMatch: `"task-${task.version + 1}"` }),
      { code: 'task_claimed' },
    );
    // The holder's moves carry the fencing token, so they are accepted.
    await page.getByRole('button', { name: 'Backlog' }).click();
    await page.getByText('backlog', { exact: true }).waitFor();
    // The claim is released while its holder completes the task.
    await page.route('**/api/v1/tasks/*:complete', async (route) => {
      await baton.claims.release(first ?? '', { reason: 'the operator needs it' });
      await route.continue();
    });
    await page.getByRole('button', { name: 'Complete' }).click();
    await page.getByText('You no longer hold this task.').waitFor();
    await page.getByText(/Administrator released your claim \(the operator needs it\)/).waitFor();
    assert.equal((await baton.tasks.get(task.id)).systemStatusCategory === 'terminal_success', false);
    assert.equal((await baton.tasks.listComments(task.id, { limit: 10 })).items.length, 0);
    await assertAccessible(page, 'a lost task');
    // Somebody else takes the task over; the draft can then only be posted as a comment.
    const session = await baton.sessions.open({ clientName: 'the operator' });
    await baton.tasks.claim(task.id, { sessionId: session.id, intent: 'I do it myself' });
    await page.getByText('I do it myself').waitFor();
    assert.equal(await field.inputValue(), 'Half of it is done.');
    await page.getByRole('button', { name: 'Post as comment' }).click();
    await page.getByRole('listitem').getByText('Half of it is done.').waitFor();
    await isGone(page.getByText('You no longer hold this task.'));
    await untilTrue(async () => {
      const { items } = await baton.sessions.list({ status: 'active', limit: 50 });
      return !items.some(({ principalId }) => principalId === person.principalId);
    }, 'the console leaves no sessions behind');
    await baton.sessions.close(session.id);
    assert.deepEqual(complaints, []);
  });

  test('a person approves the request of a suspended run by keyboard alone, and the run resumes', async () => {
    const { baton, me } = world;
    const task = await baton.tasks.create({ title: 'Delete old accounts', description: 'All from 2019.' });
    const agent = await world.participant('Careful agent', workerPermissions);
    const harness = await agent.baton.harness.open({ name: 'careful' });
    const runs: string[] = [];
    const work = (async () => {
      for await (const lease of harness.work({ accepts: ({ id }) => id === task.id, idleMs: 300 })) {
        runs.push(lease.run.id);
        const { checkpoints } = await lease.context();
        if (checkpoints.length === 0) {
          await lease.checkpoint('counted', { accounts: 1312 });
          await lease.askApproval({ comment: 'May I delete 1,312 accounts?', assignedPrincipalId: me });
          continue;
        }
        await lease.succeed({ deleted: checkpoints[0]?.data });
        return;
      }
    })();
    const { page, complaints } = await world.signedIn('/inbox');
    const asked = page.getByRole('article').filter({ hasText: 'May I delete 1,312 accounts?' });
    await asked.getByText('All from 2019.').waitFor();
    await asked.getByText('Work so far').focus();
    await page.keyboard.press('Enter');
    await asked.getByText('Last checkpoint: counted').waitFor();
    await asked.getByText('1312', { exact: true }).waitFor();
    await assertAccessible(page, 'a request with everything to decide');
    assert.equal((await baton.runs.get(runs[0] ?? '')).status, 'suspended');
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('j');
    await asked.locator('button:focus', { hasText: 'Approve' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('You approved the request.').waitFor();
    await work;
    await harness.close();
    assert.equal(runs.length, 2);
    assert.equal((await baton.runs.get(runs[1] ?? '')).status, 'succeeded');
    assert.equal((await baton.tasks.get(task.id)).status, 'done');
    // The task page shows the whole history, from the journal.
    await page.goto(`${world.url}/tasks/${task.publicId}`);
    for (const sentence of [/ paused it to wait for /, / saved checkpoint 1/, / finished it/, / created it/])
      await page.getByText(sentence).first().waitFor();
    assert.deepEqual(complaints, []);
  });

  test('a change by an agent during an approval is shown, and the approval covers what the person saw', async () => {
    const { baton, me } = world;
    const body = 'Pays $.task.customFields.amount to $.task.customFields.to';
    await baton.taskTypes.create({
      key: 'payment',
      displayName: 'A payment',
      approvalSchema: { gates: { default: { outcomes: { approved: [{ comment: { body } }] } } } },
    });
    const agent = await world.participant('Paying agent', workerPermissions);
    const task = await agent.baton.tasks.create({
      title: 'Pay the invoice',
      typeKey: 'payment',
      customFields: { to: 'ACME Ltd', amount: 10 },
    });
    const comment = 'May I pay the invoice?';
    const { id } = await agent.baton.approvals.request({
      task: task.id,
      gate: true,
      comment,
      assignedPrincipalId: me,
    });
    const { page, complaints } = await world.signedIn('/inbox');
    const asked = page.getByRole('article').filter({ hasText: comment });
    await asked.getByRole('region', { name: 'If approved' }).getByText('Pays 10 to ACME Ltd').waitFor();
    const changeFirst = async (route: Route) => {
      const customFields = { to: 'Mallory', amount: 1_000_000 };
      const ifMatch = etagOf(await agent.baton.tasks.get(task.id));
      await agent.baton.tasks.update(task.id, { customFields }, { ifMatch });
      await route.continue();
    };
    await page.route('**/api/v1/approvals/*:approve', changeFirst, { times: 1 });
    await asked.getByRole('button', { name: 'Approve' }).click();
    await asked.getByText('This changed while you were reviewing it. Nothing was approved.').waitFor();
    const changes = asked.getByRole('region', { name: 'Changed since it was requested' });
    const row = changes.getByRole('row').filter({ hasText: 'amount' });
    assert.deepEqual(
      (await row.getByRole('cell').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ')),
      ['− was 10', '+ is 1000000'],
    );
    await assertAccessible(page, 'a request that changed');
    await page.setViewportSize({ width: 400, height: 800 });
    const [wide, window] = (await page.evaluate(
      "(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])(document.querySelector('main'))",
    )) as [number, number];
    assert.ok(wide <= window, `on a phone the page is ${wide} wide, its window ${window}`);
    await page.setViewportSize({ width: 1280, height: 800 });
    assert.equal((await baton.approvals.get(id)).status, 'pending');
    await asked.getByRole('button', { name: 'I have reviewed the changes' }).click();
    await asked.getByRole('button', { name: 'Approve the current version' }).click();
    await page.getByText('You approved the request.').waitFor();
    const { subject, requestedSubject } = await baton.approvals.get(id);
    const toOf = (one: typeof subject) => one?.snapshot.task?.customFields['to'];
    assert.deepEqual([toOf(requestedSubject), toOf(subject)], ['ACME Ltd', 'Mallory']);
    await page.goto(`${world.url}/approvals/${id}`);
    await page.getByText(/^Approved by/).waitFor();
    await page.getByRole('region', { name: 'Changed between the request and the decision' }).waitFor();
    await page.getByRole('region', { name: 'What was decided' }).getByText('Mallory').first().waitFor();
    await assertAccessible(page, 'a decided approval');
    // The action that is executed matches what the page showed.
    await page.goto(`${world.url}/tasks/${task.publicId}`);
    await page.getByRole('listitem').getByText('Pays 1000000 to Mallory').waitFor();
    assert.deepEqual(complaints, []);
  });

  test('the inbox shows work on hold and pending control messages, not ended work, and reports failed queries', async () => {
    const { baton } = world;
    const agent = (await world.participant('Parking agent', workerPermissions)).baton;
    const { id: sessionId } = await agent.sessions.open({ clientName: 'parking' });
    const start = async (id: string) => {
      const claim = await agent.tasks.claim(id, { sessionId });
      return agent.tasks.startRun(id, { claimId: claim.id, fencingToken: claim.fencingToken });
    };
    const startNew = async (title: string) => start((await baton.tasks.create({ title })).id);
    await agent.runs.suspend((await startNew('Really on hold')).id, { reason: 'waits for daylight' });
    // Runs that were resumed keep the status suspended; the later attempts failed.
    for (const title of ['Resumed 1', 'Resumed 2', 'Resumed 3']) {
      const first = await startNew(title);
      await agent.runs.suspend(first.id, {});
      const second = await start(first.taskId);
      await agent.runs.fail(second.id, { failureReason: 'no daylight' });
      await agent.claims.release(second.claimId, {});
    }
    const say = (id: string, directive: string, expectedRunVersion: number) =>
      baton.runs.sendControlMessage(id, {
        operation: 'queue',
        directive,
        causalPosition: 'seen',
        expectedRunVersion,
      });
    const quiet = await startNew('One message');
    const told = await startNew('Many messages');
    await say(quiet.id, 'Mind the gap', 1);
    for (let n = 0; n < 50; n += 1) await say(told.id, `Word ${n}`, n + 1);

    const { page, complaints } = await world.signedIn();
    const refusal = { status: 403, json: { error: { code: 'permission_denied', message: 'Not now.' } } };
    let isRefused = true;
    await page.route(`**/api/v1/runs/${told.id}`, (route) =>
      isRefused ? route.fulfill(refusal) : route.continue(),
    );
    // Pages of two runs, with the one that is still on hold on the second page.
    await page.route('**/api/v1/runs?*status=suspended*', (route) =>
      isRefused
        ? route.fulfill(refusal)
        : route.continue({ url: route.request().url().replace('limit=50', 'limit=2') }),
    );
    await page.goto(`${world.url}/inbox`);
    const said = page.getByRole('region', { name: 'Pending control messages' });
    const parked = page.getByRole('region', { name: 'On hold' });
    await said.getByText('Mind the gap').waitFor();
    await said.getByRole('alert').waitFor();
    await parked.getByRole('alert').waitFor();
    assert.equal(await said.getByText('Word 7').count(), 0);
    isRefused = false;
    await parked.getByRole('button', { name: 'Try again' }).click();
    await parked.getByRole('link', { name: 'Really on hold' }).waitFor();
    await isGone(parked.getByText('Resumed'));
    await said.getByRole('button', { name: 'Try again' }).click();
    await said.getByText('Word 7', { exact: false }).first().waitFor();
    await said.getByText('Mind the gap').waitFor();
    await isGone(page.getByRole('alert'));
    await agent.sessions.close(sessionId);
    assert.deepEqual(complaints, []);
  });

  longTest('by keyboard alone, from the sign-in to a task that is done', async () => {
    const { page, complaints } = await openPage(world.browser);
    const { keyboard } = page;
    await page.goto(world.url);
    await page.getByRole('heading', { name: 'Sign in to Baton' }).waitFor();
    await tabTo(page, 'summary');
    await keyboard.press('Enter');
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
    await page.getByLabel(`Comment on ${publicId}`).waitFor();
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
    await untilTrue(async () => (await world.baton.tasks.get(publicId)).status === 'done', 'it is not done');
    assert.deepEqual(complaints, []);
  });

  test('the page of a task shows that its agent lost the lease, and shows the next holder', async () => {
    const first = await world.participant('Slow agent', agentPermissions);
    const second = await world.participant('Next agent', agentPermissions);
    const task = await world.baton.tasks.create({ title: 'Handed on by time' });
    const session = await first.baton.sessions.open({ clientName: 'slow' });
    const claim = await first.baton.tasks.claim(task.id, {
      sessionId: session.id,
      ttlSeconds: 600,
      intent: 'I will not be heard of again',
    });
    const { page, complaints } = await world.signedIn(`/tasks/${task.publicId}`);
    const lease = page.locator('section', { has: page.getByRole('heading', { name: 'Holder' }) });
    await lease.getByText('Slow agent').waitFor();
    await lease.getByText('I will not be heard of again').waitFor();
    // Without heartbeats the lease expires, and the page shows it without a reload.
    await endLease(world.databaseUrl, task.id);
    await lease.getByText('Unclaimed').waitFor();
    const journal = await world.signedIn('/journal?types=claim.');
    await journal.page.getByText('claim.expired').first().waitFor();
    const other = await second.baton.sessions.open({ clientName: 'next' });
    await second.baton.tasks.claim(task.id, { sessionId: other.id, intent: 'I go on with it' });
    await lease.getByText('Next agent').waitFor();
    await lease.getByText('I go on with it').waitFor();
    await isGone(lease.getByText('Slow agent'));
    // Late writes of the slow agent change nothing, and the page still shows the next holder.
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
