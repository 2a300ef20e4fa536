import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Project } from '@baton/sdk';
import {
  type Answers,
  address,
  all,
  click,
  exampleOf,
  find,
  isThere,
  itemOf,
  notSeen,
  open,
  pageOf,
  press,
  Refusal,
  see,
  seen,
  test,
  until,
} from '../testing/page.ts';
import { graceId, taskWith } from '../testing/tasks.ts';

const evil = '<img src=x onerror="window.ran=1">';
const workspace = exampleOf('workspaces.get', { name: `Web shop ${evil}` });
const project = (other: Partial<Project> = {}): Project =>
  exampleOf('projects.get', {
    workspaceId: workspace.id,
    statusKey: 'in_progress',
    status: 'active',
    ownerPrincipalId: graceId,
    targetDate: null,
    customFields: {},
    version: 3,
    ...other,
  });
const config = exampleOf('projects.getEffectiveConfig');
const template = exampleOf('projectTemplates.get');
const answers = (one: Project): Answers => ({
  'projects.get': one,
  'projects.getDependencies': exampleOf('projects.getDependencies', { tasks: [], dependencies: [] }),
  'workspaces.get': workspace,
  'projectTemplates.get': {
    ...template,
    lifecycleSchema: {
      ...template.lifecycleSchema,
      transitions: [{ from: 'in_progress', to: ['paused', 'done'] }],
      statuses: [
        { key: 'paused', displayName: 'On hold', category: 'paused' },
        { key: 'done', displayName: 'Done', category: 'terminal_success' },
      ],
    },
  },
  'projects.getEffectiveConfig': {
    ...config,
    config: { ...config.config, governance: { maxRunActions: 40 }, settings: {} },
  },
});
const openProject = (one: Project, more: Answers = {}, permissions?: string[]) =>
  open(`/projects/${one.id}`, {
    answers: { ...answers(one), ...more },
    ...(permissions && { me: { permissions } }),
  });

describe('projects', () => {
  test('without projects it shows how to create one', async () => {
    await open('/projects');
    await see('No projects yet');
    await see('baton apply -f project.yaml');
  });

  test('are listed by the name of their workspace, with status and owner', async () => {
    const one = itemOf('projects.list', {
      workspaceId: workspace.id,
      statusKey: 'in_progress',
      status: 'archived',
      ownerPrincipalId: graceId,
    });
    await open('/projects', { answers: { 'projects.list': pageOf(one), 'workspaces.get': workspace } });
    assert.match(seen(all('listitem', /^Web shop/)[0]), /Web shop <img .*>\s*in progress · archived\s*Grace/);
    assert.equal(document.querySelector('img'), null);
  });

  test('with an unreadable workspace are listed by its id', async () => {
    await open('/projects', {
      answers: {
        'projects.list': pageOf(itemOf('projects.list', { workspaceId: graceId })),
        'workspaces.get': new Refusal(403, 'permission_denied'),
      },
    });
    await see('Project of workspace 000000cc');
  });

  test('more are loaded on demand', async () => {
    const one = (id: string) => itemOf('projects.list', { id, workspaceId: workspace.id });
    const service = await open('/projects', {
      answers: {
        'workspaces.get': workspace,
        'projects.list': ({ query }) =>
          query['cursor'] === 'c2' ? pageOf(one('p2')) : { items: [one('p1')], nextCursor: 'c2' },
      },
    });
    await click('button', 'Show more');
    assert.equal(all('listitem', /^Web shop/).length, 2);
    assert.equal(service.askedFor('projects.list').length, 2);
    assert.ok(!isThere('button', 'Show more'));
  });

  test('j and k navigate the lines', async () => {
    const one = (id: string) => itemOf('projects.list', { id, workspaceId: workspace.id });
    await open('/projects', {
      answers: { 'workspaces.get': workspace, 'projects.list': pageOf(one('p1'), one('p2')) },
    });
    const at = () => document.activeElement?.getAttribute('href');
    await press('j');
    assert.equal(at(), '/projects/p1');
    await press('j', 'j');
    assert.equal(at(), '/projects/p2');
    await press('k');
    assert.equal(at(), '/projects/p1');
  });

  test('are shown to those with the permission', async () => {
    await open('/projects', { me: { permissions: [] } });
    await see('You need the permission projects.read. Contact an administrator.');
  });
});

describe('one project', () => {
  test('shows its status, goals, tasks and limits', async () => {
    const goal = itemOf('goals.list', {
      title: `Sell more ${evil}`,
      desiredState: 'twice as much',
      status: 'active',
    });
    const tasks = [
      taskWith({ title: 'Task of the project' }),
      taskWith({ systemStatusCategory: 'terminal_success' }),
    ];
    const service = await openProject(project(), {
      'goals.list': pageOf(goal),
      'tasks.list': pageOf(...tasks),
    });
    await find('heading', `Web shop ${evil}`);
    await see('in progress');
    await see(`Sell more ${evil} active\ntwice as much`);
    await see('1 of 2 done');
    await see('Limits\nmaxRunActions\n40\nSettings\nNo settings.');
    assert.ok(isThere('link', 'Task of the project'));
    assert.equal(service.askedFor('tasks.list')[0]?.query['projectId'], project().id);
    assert.equal(
      (await find('link', 'Board')).getAttribute('href'),
      `/?workspace=${workspace.id}&view=board`,
    );
    assert.equal(document.title, `Web shop ${evil} · Baton`);
  });

  test('is moved with the loaded version', async () => {
    const service = await openProject(project(), { 'projects.transition': project() });
    await click('button', 'On hold');
    const [asked] = service.askedFor('projects.transition');
    assert.deepEqual(
      [asked?.ids, asked?.body, asked?.headers.get('if-match')],
      [[project().id], { statusKey: 'paused' }, '"v-3"'],
    );
  });

  test('a version conflict is reported', async () => {
    await openProject(project(), { 'projects.transition': new Refusal(409, 'version_conflict') });
    await click('button', 'Done');
    await see('Somebody changed this project in the meantime.');
  });

  test('any other error is shown with its code', async () => {
    await openProject(project(), { 'projects.transition': new Refusal(422, 'validation_error', 'No.') });
    await click('button', 'Done');
    await see('No.\nvalidation_error · req_test');
  });

  test('without the permissions, transitions and goals are hidden', async () => {
    const service = await openProject(project(), {}, ['projects.read']);
    assert.ok(!isThere('group', 'Project status'));
    assert.equal(service.askedFor('goals.list').length + service.askedFor('projectTemplates.get').length, 0);
  });

  test('an archived one is not moved', async () => {
    await openProject(project({ status: 'archived' }));
    await see('in progress · archived');
    notSeen('Move to');
  });

  test('a missing one is reported, with a link back', async () => {
    await open(`/projects/${graceId}`, {
      answers: { 'projects.get': new Refusal(404, 'not_found', 'There is none.') },
    });
    await see('There is none.\nnot_found · req_test');
    await click('link', 'Back to projects');
    await until(() => address() === '/projects');
  });
});
