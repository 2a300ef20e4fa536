import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { ProjectDependencies } from '@baton/sdk';
import {
  all,
  click,
  exampleOf,
  find,
  isThere,
  itemOf,
  open,
  Refusal,
  see,
  seen,
  settled,
  sockets,
  test,
  until,
} from '../testing/page.ts';

const { placeTasks } = await import('./dependency-layout.ts');

const evil = '<img src=x onerror="window.ran=1">';
const project = exampleOf('projects.get', { status: 'active' });
const task = (id: string, other: Partial<ProjectDependencies['tasks'][number]> = {}) => ({
  id,
  publicId: `TASK-${id}`,
  title: `Do ${id} ${evil}`,
  status: 'todo',
  systemStatusCategory: 'active' as const,
  assigneeId: null,
  dueDate: null,
  workspaceId: null,
  ...other,
});
const arrow = (prerequisiteTaskId: string, waitingTaskId: string) => ({
  relationId: `${prerequisiteTaskId}${waitingTaskId}`,
  prerequisiteTaskId,
  waitingTaskId,
});
const dependencies: ProjectDependencies = {
  projectId: project.id,
  tasks: [
    task('a', { status: 'done', systemStatusCategory: 'terminal_success' }),
    task('b'),
    task('c'),
    task('d'),
  ],
  dependencies: [arrow('a', 'b'), arrow('b', 'c'), arrow('a', 'd')],
  criticalPath: ['b', 'c'],
  isTruncated: false,
};
const openProject = (given: ProjectDependencies | Refusal, permissions = ['projects.read', 'tasks.read']) =>
  open(`/projects/${project.id}`, {
    me: { permissions },
    answers: {
      'projects.get': project,
      'workspaces.get': exampleOf('workspaces.get'),
      'projects.getEffectiveConfig': exampleOf('projects.getEffectiveConfig'),
      'projects.getDependencies': given,
    },
  });

describe('the dependencies of a project', () => {
  test('are a graph with links, in which the critical path is highlighted', async () => {
    const service = await openProject(dependencies);
    const part = await find('region', 'Dependencies');
    await see('2 unfinished tasks have to be done one after another: the critical path.');
    assert.deepEqual(
      all('link', undefined, part).map((link) => [
        link.getAttribute('href'),
        link.getAttribute('aria-label'),
      ]),
      [
        ['/tasks/TASK-a', `TASK-a Do a ${evil}, done`],
        ['/tasks/TASK-b', `TASK-b Do b ${evil}, todo, on the critical path`],
        ['/tasks/TASK-d', `TASK-d Do d ${evil}, todo`],
        ['/tasks/TASK-c', `TASK-c Do c ${evil}, todo, on the critical path`],
      ],
    );
    const classes = [...part.querySelectorAll('path')].map((path) => path.getAttribute('class'));
    assert.equal(new Set(classes).size, 2);
    assert.notEqual(classes[1], classes[0]);
    assert.equal(classes[2], classes[0]);
    assert.equal(document.querySelector('img'), null);
    const [asked] = service.askedFor('projects.getDependencies');
    assert.deepEqual(asked?.query, { includeSubprojects: 'true' });
  });

  test('are also a table: always for screen readers, and for everybody with a button', async () => {
    await openProject(dependencies);
    const part = await find('region', 'Dependencies');
    const table = part.querySelector('table') as HTMLTableElement;
    assert.equal(table.parentElement?.className, 'visually-hidden');
    assert.equal(table.querySelectorAll('a').length, 0, 'nothing hidden gets the focus');
    await click('button', 'Show as table', part);
    assert.equal(part.querySelector('svg'), null);
    assert.match(seen(table), /TASK-b Do b <img .*>\s*todo\s*TASK-a\s*yes/);
    assert.match(seen(table), /TASK-d Do d <img .*>\s*todo\s*TASK-a/);
  });

  test('are not read again with each event of any task', async () => {
    const service = await openProject(dependencies, ['projects.read', 'tasks.read', 'events.read']);
    await until(() => sockets.length > 0);
    const count = () => service.askedFor('harness.getContext').length;
    const before = count();
    sockets.at(-1)?.brings({ ...itemOf('events.list'), type: 'task.updated', entityType: 'task' });
    // The event refetches what belongs to this person's tasks.
    await until(() => count() > before);
    await settled();
    assert.equal(service.askedFor('projects.getDependencies').length, 1);
  });

  test('with many tasks are only a table', async () => {
    const tasks = Array.from({ length: 61 }, (_, n) => task(`n${n}`));
    await openProject({ ...dependencies, tasks, dependencies: [arrow('n1', 'n2')], isTruncated: true });
    const part = await find('region', 'Dependencies');
    assert.equal(part.querySelector('svg'), null);
    assert.ok(!isThere('button', 'Show as table'));
    assert.equal(all('link', /^TASK-n/, part).length, 61);
    await see('Only the newest 2,000 dependencies are shown.');
  });

  test('are left out without any, and without tasks.read', async () => {
    await openProject({ ...dependencies, tasks: [], dependencies: [], criticalPath: [] });
    assert.ok(!isThere('region', 'Dependencies'));
  });

  test('are not requested without tasks.read', async () => {
    const service = await openProject(dependencies, ['projects.read']);
    assert.ok(!isThere('region', 'Dependencies'));
    assert.equal(service.askedFor('projects.getDependencies').length, 0);
  });

  test('an error is shown', async () => {
    await openProject(new Refusal(503, 'unavailable', 'Later.'));
    await see('Later.');
  });
});

test('each task is one column after the last of its prerequisites', () => {
  const place = (given: ProjectDependencies) =>
    placeTasks(given).map(({ task: { id }, column, row }) => [id, column, row]);
  assert.deepEqual(place(dependencies), [
    ['a', 0, 0],
    ['b', 1, 0],
    ['d', 1, 1],
    ['c', 2, 0],
  ]);
  const cyclic = { ...dependencies, dependencies: [arrow('a', 'b'), arrow('b', 'a')] };
  assert.equal(place(cyclic).length, 4);
});
