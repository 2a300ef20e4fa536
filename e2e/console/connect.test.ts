import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { BatonError, createClient } from '@baton/sdk';
import { repository } from '@baton/testing/baton-process';
import { assertAccessible, noBrowser, until, untilLoaded } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';

// The dialog that connects an agent, in a real browser, with a real agent.

/** The folder for screenshots that a person checks; unset, none are taken. */
const pictures = process.env['BATON_TEST_PICTURES'];

describe('the dialog that connects an agent', { skip: noBrowser }, () => {
  let world: RunningConsole;
  let folder: string;
  before(async () => {
    world = await startConsole();
    folder = mkdtempSync(join(tmpdir(), 'baton-console-connect-'));
  });
  afterEach(() => world?.closePages());
  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    await world?.close();
  });

  async function unlock(page: Page) {
    await page.getByText('Use the admin secret').click();
    await page.getByLabel('Admin secret').fill(world.adminSecret);
    await page.getByRole('button', { name: 'Unlock' }).click();
  }
  async function openDialog(options = {}) {
    const watched = await world.signedIn('/agents', options);
    const { page } = watched;
    await page.getByRole('button', { name: 'Connect an agent' }).click();
    await unlock(page);
    await page.getByRole('option', { name: 'Member' }).waitFor({ state: 'attached' });
    return watched;
  }
  const snippetOf = (page: Page) => page.getByLabel('Configuration to paste').innerText();
  const isRejected = (token: string) =>
    assert.rejects(
      createClient({ url: world.url, credential: { token } }).harness.getContext(),
      (error: unknown) => error instanceof BatonError && error.status === 401,
    );
  async function picture(page: Page, name: string): Promise<void> {
    if (pictures !== undefined) await page.screenshot({ path: join(pictures, `${name}.png`) });
  }

  test('by keyboard alone an agent is connected: its program does a task, and the dialog names it', async () => {
    const { page, complaints } = await world.signedIn('/agents');
    const { keyboard } = page;
    const requests: string[] = [];
    const answers: string[] = [];
    page.on('request', (sent) => requests.push(sent.url()));
    page.on('response', (answer) => {
      if (answer.url().endsWith('/platform-access-tokens') && answer.request().method() === 'POST')
        answers.push(answer.headers()['cache-control'] ?? '');
    });
    await page.getByRole('button', { name: 'Connect an agent' }).focus();
    await keyboard.press('Enter');
    await page.getByRole('button', { name: "Confirm that it's you" }).waitFor();
    await page.getByText('Use the admin secret').focus();
    await keyboard.press('Enter');
    await page.getByLabel('Admin secret').focus();
    await keyboard.type(world.adminSecret);
    await keyboard.press('Enter');
    await page.getByRole('option', { name: 'Member' }).waitFor({ state: 'attached' });
    await until(page, "document.activeElement?.tagName === 'SELECT'");
    await keyboard.type('A program');
    await keyboard.press('Tab');
    await keyboard.type('Agent of the test');
    await keyboard.press('Enter');
    await page.getByText('Waiting for the first call …').waitFor();
    const snippet = await snippetOf(page);
    const [, token = ''] = /^BATON_TOKEN=(\S+)$/m.exec(snippet) ?? [];
    assert.match(token, /^\S{40,}$/);
    await assertAccessible(page, 'the connection', 'usual');
    // The token stays visible after a key press that closes other dialogs.
    await keyboard.press('Escape');
    assert.equal(await snippetOf(page), snippet);

    const task = await world.baton.tasks.create({
      title: 'Say hello',
      assigneeId: 'agent:agent-of-the-test',
    });
    const file = join(folder, '.env');
    writeFileSync(file, snippet, { mode: 0o600 });
    const program = join(repository, 'examples', 'agent-sdk', 'agent.mjs');
    await promisify(execFile)(process.execPath, [`--env-file=${file}`, program, '--once'], {
      cwd: repository,
      env: { PATH: process.env['PATH'], HOME: folder },
    });
    const sentence = `My first agent on ${hostname()} is connected as Agent of the test.`;
    await page.getByRole('status').filter({ hasText: sentence }).waitFor();
    assert.equal((await world.baton.tasks.get(task.id)).systemStatusCategory, 'terminal_success');

    await page.getByRole('button', { name: 'Done' }).focus();
    await keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const kept = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state, location.href])',
    );
    assert.ok(![kept, ...requests, await page.content(), world.output()].join('').includes(token));
    assert.deepEqual(answers, ['no-store']);
    assert.deepEqual(complaints, []);
  });

  test('cancelled, its token is revoked, and the same name continues with the agent', async () => {
    const { page, complaints } = await openDialog();
    for (const attempt of ['first', 'second'] as const) {
      await page.getByLabel('Client').selectOption('cursor');
      await page.getByLabel('Name').fill('Cursor');
      await page.getByRole('button', { name: 'Connect', exact: true }).click();
      const snippet = JSON.parse(await snippetOf(page));
      const { url, headers } = snippet.mcpServers.baton;
      assert.equal(url, `${world.url}/mcp`);
      await page.getByRole('button', { name: 'Cancel and revoke the token' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await isRejected(headers.Authorization.replace('Bearer ', ''));
      if (attempt === 'first') await page.getByRole('button', { name: 'Connect an agent' }).click();
    }
    assert.equal((await world.baton.agents.get('cursor')).currentRevision, 1);
    assert.deepEqual(complaints, []);
  });

  test('a page that is left while it waits leaves a token that is listed, and replaced by the next attempt', async () => {
    const { page } = await openDialog();
    const connect = async () => {
      await page.getByLabel('Client').selectOption('sdk');
      await page.getByLabel('Name').fill('Left behind');
      await page.getByRole('button', { name: 'Connect', exact: true }).click();
      return /BATON_TOKEN=(\S+)/.exec(await snippetOf(page))?.[1] ?? '';
    };
    const left = await connect();
    await page.goto(`${world.url}/administration?section=tokens`);
    await unlock(page);
    await page.getByRole('listitem').filter({ hasText: 'Left behind' }).getByText('connect sdk').waitFor();
    await page.goto(`${world.url}/agents`);
    await page.getByRole('button', { name: 'Connect an agent' }).click();
    await unlock(page);
    const next = await connect();
    await isRejected(left);
    await createClient({ url: world.url, credential: { token: next } }).harness.getContext();
    await page.getByText('Left behind is connected: its first call has arrived.').waitFor();
  });

  test('somebody without the permission admin is not offered it', async () => {
    const { permissions } = await world.baton.accessRoles.get('lead');
    const lead = await world.person(permissions);
    const { page } = await world.signedIn('/agents', {}, lead.token);
    await page.getByRole('heading', { name: 'Agents and sessions', level: 1 }).waitFor();
    await untilLoaded(page);
    assert.equal(await page.getByRole('button', { name: 'Connect an agent' }).count(), 0);
    await assertAccessible(page, 'without the permission', 'usual');
  });

  test('it fits a phone, in the dark too', async () => {
    for (const colorScheme of ['dark', 'light'] as const) {
      const { page } = await openDialog({ colorScheme, viewport: { width: 360, height: 740 } });
      await picture(page, `form-${colorScheme}`);
      await assertAccessible(page, `the form, ${colorScheme}`, 'usual');
      await page.getByLabel('Client').selectOption('codex');
      await page.getByLabel('Name').fill(`Codex ${colorScheme} ${'of Maria '.repeat(6)}`);
      await page.getByRole('button', { name: 'Connect', exact: true }).click();
      await page.getByText('Waiting for the first call …').waitFor();
      await picture(page, `snippet-${colorScheme}`);
      await assertAccessible(page, `the snippet, ${colorScheme}`, 'usual');
      const isWide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
      assert.equal(await page.evaluate(isWide), false);
      await page.getByRole('button', { name: 'Done' }).click();
    }
  });
});
