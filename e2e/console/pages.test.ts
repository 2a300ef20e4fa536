import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { byDepth, longTest } from '@baton/testing/depth';
import { assertAccessible, noBrowser, patienceMs } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';
import { settled } from '../testing/console-pages.ts';

// Projects, processes, skills and knowledge: the API creates the displayed objects and verifies the pages' actions.

const evil = '<img src=x onerror="window.ran=1">';
/** accessibility.long.test.ts checks the lists in every color scheme and width. */
const looks = byDepth<readonly (readonly ['light' | 'dark', number])[]>(
  [['dark', 375]],
  [
    ['light', 1280],
    ['dark', 375],
  ],
);

/** Permissions of the agent on the pages of agents and processes. */
const permissions = [
  'tasks.read',
  'tasks.write',
  'tasks.claim',
  'task_types.read',
  'sessions.open',
  'approvals.manage',
  'approvals.read',
  'processes.operate',
  'events.read',
];

describe('projects, processes, skills and knowledge', { skip: noBrowser }, () => {
  let world: RunningConsole;

  before(async () => {
    world = await startConsole();
    await world.baton.agents.publish({
      key: 'desk',
      spec: {
        displayName: 'Desk',
        identity: { kind: 'service', permissions },
        connections: [],
        state: 'running',
      },
    });
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  /** Checks a page in each colour scheme and width. */
  async function looksRight(path: string, text: string) {
    for (const [colorScheme, width] of looks) {
      const options = { colorScheme, viewport: { width, height: 800 } };
      const { page, complaints } = await world.signedIn(path, options);
      await page.getByText(text).first().waitFor();
      await settled(page);
      await assertAccessible(page, `${path} ${colorScheme} ${width}`);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, path);
      assert.equal(await page.evaluate('window.ran'), undefined, path);
      assert.deepEqual(complaints, []);
      await page.context().close();
    }
  }
  const titled = (page: Page, title: string) =>
    until(async () => ((await page.title()) === `${title} · Baton` ? true : undefined));
  const until = async <Value>(look: () => Promise<Value | undefined>): Promise<Value> => {
    for (const began = performance.now(); performance.now() - began < patienceMs; ) {
      const found = await look();
      if (found !== undefined) return found;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return assert.fail('it did not happen within a minute');
  };

  test('each page has an empty state with the next step, and shows a missing permission', async () => {
    const nobody = await world.person(['tasks.read']);
    const { page } = await world.signedIn('/', {}, nobody.token);
    for (const [path, name, permission] of [
      ['/agents', 'Agents and sessions', 'sessions.manage'],
      ['/journal', 'Journal', 'events.read'],
      ['/projects', 'Projects', 'projects.read'],
      ['/processes', 'Processes', 'processes.read'],
      ['/skills', 'Skills and tools', 'org.read'],
      ['/knowledge', 'Knowledge', 'rules.read'],
    ] as const) {
      await page.goto(world.url + path);
      await page.getByRole('heading', { name, level: 1 }).waitFor();
      await page.getByText(permission).waitFor();
    }
    const own = await world.signedIn('/projects');
    await own.page.getByText('No projects yet').waitFor();
    await own.page.keyboard.press('g');
    await own.page.keyboard.press('o');
    await own.page.getByText('No process instances yet').waitFor();
    await own.page.keyboard.press('g');
    await own.page.keyboard.press('k');
    await own.page.getByText('No skills yet').waitFor();
    await own.page.keyboard.press('g');
    await own.page.keyboard.press('e');
    await own.page.getByText(/A rule creates work when an event occurs/).waitFor();
  });

  longTest('a project shows its status, goals, tasks and limits, and is moved', async () => {
    const { baton } = world;
    const { page } = await world.signedIn('/projects');
    await page.getByText('No projects yet').waitFor();
    await baton.projectTemplates.create({
      key: 'console-project',
      displayName: 'Project',
      defaultConfig: { governance: { maxRunActions: 40 } },
    });
    const project = await baton.projects.create({
      templateKey: 'console-project',
      workspaceSlug: 'web-shop',
      workspaceName: `Web shop ${evil}`,
    });
    await baton.goals.create({
      title: `Sell more ${evil}`,
      workspaceId: project.workspaceId,
      desiredState: 'twice as much',
    });
    await baton.tasks.create({ title: 'Task of the project', workspaceId: project.workspaceId });
    // The list was already open, and updates without a reload.
    await page.getByRole('link', { name: 'Web shop' }).click();
    await page.getByRole('heading', { name: `Web shop ${evil}` }).waitFor();
    await titled(page, `Web shop ${evil}`);
    await page.getByText(`Sell more ${evil}`).waitFor();
    await page.getByRole('link', { name: 'Task of the project' }).waitFor();
    await page.getByText('maxRunActions').waitFor();
    const move = page.getByRole('group', { name: 'Project status' }).getByRole('button').first();
    await move.focus();
    await page.keyboard.press('Enter');
    await until(async () =>
      (await baton.projects.get(project.id)).statusKey === project.statusKey ? undefined : true,
    );
    await looksRight(`/projects/${project.id}`, 'maxRunActions');

    // A new task belongs to the selected workspace, even if the page has not loaded that workspace.
    await baton.workspaces.create({ name: 'Another', slug: 'another' });
    await page.route(/\/api\/v1\/workspaces\?/, async (route) => {
      const response = await route.fetch();
      const list = (await response.json()) as { items: { id: string }[] };
      const items = list.items.filter(({ id }) => id !== project.workspaceId);
      await route.fulfill({ response, json: { ...list, items } });
    });
    await page.goto(`${world.url}/?workspace=${project.workspaceId}&create=true`);
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('option', { name: 'Another' }).waitFor({ state: 'attached' });
    await dialog.getByRole('option', { name: 'Web shop' }).waitFor({ state: 'attached' });
    await dialog.getByLabel('Title').fill('Made where it is shown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Made where it is shown' }).waitFor();
    const made = await baton.tasks.get(new URL(page.url()).pathname.split('/').at(-1) as string);
    assert.equal(made.workspaceId, project.workspaceId);
  });

  longTest(
    'a process shows its progress as a diagram and as text, updates live, and is suspended and cancelled',
    async () => {
      const { baton, me, tenantId, issuer } = world;
      const made = await baton.identity.principals.create(tenantId, { kind: 'agent', displayName: 'desk' });
      await baton.agents.linkIdentity('desk', {
        issuer,
        iamTenantId: tenantId,
        iamPrincipalId: made.id,
      });
      await baton.processDefinitions.publish({
        key: 'small-change',
        spec: {
          version: 1,
          displayName: `A small change ${evil}`,
          identity: { agent: 'desk' },
          owner: [{ principal: me }],
          start: {
            on: { observation: 'change-wanted' },
            key: 'event.payload.data.change',
            set: { title: 'event.payload.data.title' },
          },
          data: { type: 'object', properties: { title: { type: 'string' } } },
          stages: [
            {
              id: 'decide',
              steps: [
                { id: 'approve', approve: { title: `Shall it be? ${evil}`, approvers: [{ principal: me }] } },
              ],
            },
            {
              id: 'end',
              entry: 'stage.decide.completed',
              steps: [{ id: 'done', complete: { outcome: 'released' } }],
            },
          ],
        },
      });
      const start = (key: string) =>
        baton.processInstances.create({
          process: 'small-change',
          key,
          data: { title: `Invoices ${evil}` },
        });
      const { page, complaints } = await world.signedIn('/processes');
      await page.getByText('No process instances yet').waitFor();
      const first = await start('CHG-1');
      await page.getByRole('link', { name: 'CHG-1' }).click();
      await page.getByRole('heading', { name: 'CHG-1' }).waitFor();
      await titled(page, 'CHG-1');
      await page.locator('svg text', { hasText: 'approve · waiting' }).waitFor();
      await page.locator('svg text', { hasText: 'complete · pending' }).waitFor();
      await page.getByText(`Invoices ${evil}`).first().waitFor();
      await looksRight(`/processes/${first.id}`, 'pending approval');
      const approvalId = await until(
        async () => (await baton.processInstances.get(first.id)).openElements[0]?.approvalIds[0],
      );
      await baton.approvals.approve(approvalId);
      await page.getByText('completed: released').waitFor();
      await page.locator('svg text', { hasText: 'approve · done' }).waitFor();

      const second = await start('CHG-2');
      await page.goto(`${world.url}/processes/${second.id}`);
      await page.getByRole('button', { name: 'Suspend' }).focus();
      await page.keyboard.press('Enter');
      await page.keyboard.type('We wait for the lawyers');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Resume' }).waitFor();
      await page.getByText('Administrator suspended it: We wait for the lawyers').waitFor();
      assert.equal((await baton.processInstances.get(second.id)).status, 'suspended');
      await page.getByRole('button', { name: 'Resume' }).click();
      await page.getByRole('button', { name: 'Suspend' }).waitFor();
      await page.getByRole('button', { name: 'Cancel process' }).click();
      await page.getByPlaceholder('Reason').fill('Nobody wants it any more');
      await page.keyboard.press('Enter');
      await until(async () =>
        (await baton.processInstances.get(second.id)).status === 'cancelled' ? true : undefined,
      );
      await page.getByText('cancelled', { exact: true }).first().waitFor();
      await page.goto(`${world.url}/processes?status=cancelled`);
      await page.getByRole('link', { name: 'CHG-2' }).waitFor();
      assert.equal(await page.getByRole('link', { name: 'CHG-1' }).count(), 0);

      // The first instance, as it was when the decision was pending.
      await page.goto(`${world.url}/journal?types=process.step_entered&object=${first.id}`);
      await page.getByText('process.step_entered').nth(1).click();
      await page.getByRole('link', { name: 'View process instance at this event' }).click();
      await page.getByRole('heading', { name: /^CHG-1 as of/ }).waitFor();
      await titled(page, 'CHG-1 at an earlier event');
      await page.locator('svg text', { hasText: 'approve · active' }).waitFor();
      await page.locator('svg text', { hasText: 'complete · pending' }).waitFor();
      await page.getByRole('link', { name: 'Open process' }).waitFor();
      await page.route('**/api/v1/process-definitions/**', (route) =>
        route.fulfill({ status: 403, json: { error: { code: 'permission_denied', message: 'Not now.' } } }),
      );
      await page.reload();
      await page.getByRole('region', { name: 'Progress' }).getByText('Not now.').waitFor();
      // The next page has its own title again.
      await page.getByRole('link', { name: 'Journal', exact: true }).last().click();
      await titled(page, 'Journal');
      assert.deepEqual(complaints, []);
    },
  );

  test('skills, tools and registered agents are shown, and new ones appear', async () => {
    const { baton, me } = world;
    const { page } = await world.signedIn('/skills');
    await page.getByText('No skills are assigned to you.').waitFor();
    const skill = await baton.skills.create({
      name: 'translate',
      version: '1.0.0',
      protocol: 'mcp',
      description: `Translates into French ${evil}`,
    });
    await page.getByText('translate').first().click();
    await page.getByText(`Translates into French ${evil}`).first().waitFor();
    await baton.principals.assignSkill(me, { skillId: skill.id });
    await page.reload();
    await page.getByText('available').waitFor();
    await page.getByText('Desk').waitFor();
    await looksRight('/skills', 'translate');
  });

  test('rules are shown, enabled and disabled; without a memory service the page shows how to configure one', async () => {
    const { baton } = world;
    const rule = await baton.rules.create({
      key: 'review-all',
      description: `Every change is reviewed ${evil}`,
      trigger: { kind: 'event', type: 'task.completed' },
      action: {
        kind: 'ensure_work',
        taskType: 'task',
        dedupKeyTemplate: 'review:{{ task.id }}',
        fields: { title: 'Review' },
      },
    });
    const { id } = rule as unknown as { id: string };
    const { page } = await world.signedIn('/knowledge');
    await page.getByText(`Every change is reviewed ${evil}`).waitFor();
    await page.getByRole('button', { name: 'Disable review-all' }).click();
    await page.getByRole('button', { name: 'Enable review-all' }).waitFor();
    assert.equal((await baton.rules.get(id)).status, 'disabled');
    await page.getByLabel('Search memory').fill('invoices');
    await page.keyboard.press('Enter');
    await page.getByText('CP_CONTEXT_BASE_URL').waitFor();
    await looksRight('/knowledge', 'review-all');
  });
});
