import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Task } from '@baton/sdk';
import {
  type Answers,
  address,
  all,
  begin,
  click,
  exampleOf,
  find,
  isThere,
  itemOf,
  open,
  pageOf,
  press,
  Refusal,
  see,
  seen,
  settled,
  test,
  until,
} from '../testing/page.ts';
import { answersOf, graceId, target, taskWith } from '../testing/tasks.ts';

const type = exampleOf('taskTypes.list');
const typeWith = (key: string, statuses: (typeof type.items)[number]['lifecycleSchema']['statuses']) =>
  itemOf('taskTypes.list', {
    key,
    lifecycleSchema: { ...itemOf('taskTypes.list').lifecycleSchema, statuses },
  });
const types = pageOf(
  typeWith('review', [
    { key: 'in_review', category: 'active', displayName: 'In review' },
    { key: 'open', category: 'active', displayName: 'Waiting for a reviewer' },
  ]),
  typeWith('task', [
    { key: 'done', category: 'terminal_success', displayName: 'Done' },
    { key: 'backlog', category: 'backlog', displayName: 'Backlog' },
    { key: 'open', category: 'active', displayName: 'Ready' },
  ]),
);

/** Returns the responses for a board with these tasks, each in the column of its status. */
const boardOf = (tasks: readonly Task[], more: Answers = {}): Answers => ({
  'taskTypes.list': types,
  'tasks.list': ({ query }) =>
    pageOf(...tasks.filter(({ status }) => query['status'] === undefined || status === query['status'])),
  ...more,
});
const moves = (...targets: ReturnType<typeof target>[]): Answers => ({
  'tasks.listTransitions': exampleOf('tasks.listTransitions', { targets }),
});

const columns = () =>
  [...document.querySelectorAll('section[data-status]')].map((one) => one.getAttribute('aria-label'));
const titlesIn = (status: string) =>
  [...document.querySelectorAll(`[data-status="${status}"] [data-task] a`)].map((one) => one.textContent);
const card = (title: string) =>
  document.querySelector(`a[title="${title}"]`)?.closest('[data-task]') as HTMLElement;
const column = (status: string) => document.querySelector(`[data-status="${status}"]`) as HTMLElement;

class DragEvent extends MouseEvent {
  readonly dataTransfer = { setData: () => undefined, effectAllowed: 'none' };
}
async function drag(title: string, status: string): Promise<void> {
  const fire = (on: Element, name: string) =>
    on.dispatchEvent(new DragEvent(name, { bubbles: true, cancelable: true }));
  fire(card(title), 'dragstart');
  await settled();
  fire(column(status), 'dragover');
  fire(column(status), 'drop');
  await settled();
}

describe('the board', () => {
  test('has a column per status of the types in use, with the most familiar names, in workflow order', async () => {
    await open('/?view=board', { answers: boardOf([taskWith()]) });
    assert.deepEqual(columns(), ['Backlog', 'Ready', 'In review', 'Done']);
  });

  test("shows each task in the column of its status, and the count in the column's header", async () => {
    await open('/?view=board', {
      answers: boardOf([
        taskWith({ title: 'One' }),
        taskWith({ title: 'Two', status: 'done' }),
        taskWith({ title: 'Three' }),
      ]),
    });
    assert.deepEqual(titlesIn('open'), ['One', 'Three']);
    assert.deepEqual(titlesIn('done'), ['Two']);
    assert.ok(isThere('heading', 'Ready 2'));
    assert.match(seen(column('backlog')), /No tasks/);
  });

  test('without tasks it has an empty state, without filters of its own', async () => {
    await open('/?view=board&priority=low', { answers: boardOf([]) });
    await see('No tasks match these filters');
    assert.ok(!isThere('combobox', 'Status'));
  });

  test("a board whose types can't be loaded shows the code", async () => {
    await open('/?view=board', {
      answers: { 'taskTypes.list': new Refusal(403, 'permission_denied', 'You need task_types.read.') },
    });
    await see('permission_denied · req_test');
  });

  test('j, k, h and l navigate the cards and skip empty columns', async () => {
    await open('/?view=board', {
      answers: boardOf([
        taskWith({ title: 'One' }),
        taskWith({ title: 'Two' }),
        taskWith({ title: 'Three', status: 'done' }),
      ]),
    });
    const focused = () => document.activeElement?.textContent;
    await press('j');
    assert.equal(focused(), 'One');
    await press('j');
    assert.equal(focused(), 'Two');
    await press('k');
    assert.equal(focused(), 'One');
    await press('l');
    assert.equal(focused(), 'Three');
    await press('h');
    assert.equal(focused(), 'One');
  });

  test("m opens the card's menu with its transitions, and Escape closes it", async () => {
    const task = taskWith({ title: 'One' });
    const service = await open('/?view=board', {
      answers: boardOf([task], moves(target('done', 'Done', 'complete'))),
    });
    await press('j', 'm');
    await find('menuitem', 'Done');
    await see(`Move ${task.publicId} to`);
    await press('Escape');
    await until(() => !isThere('menuitem'));
    assert.equal(service.askedFor('tasks.complete').length, 0);
  });

  test('a card without transitions shows that in its menu', async () => {
    await open('/?view=board', { answers: boardOf([taskWith()], moves()) });
    await click('button', /^Move TASK/);
    await find('menuitem', 'No transitions');
  });

  test('a move by the menu is sent with the shown version', async () => {
    const task = taskWith({ title: 'One', version: 7 });
    const service = await open('/?view=board', {
      answers: boardOf([task], { ...moves(target('backlog', 'Backlog')), 'tasks.update': taskWith() }),
    });
    await click('button', `Move ${task.publicId}`);
    await click('menuitem', 'Backlog');
    await until(() => service.askedFor('tasks.update').length > 0);
    const [asked] = service.askedFor('tasks.update');
    assert.deepEqual([asked?.ids, asked?.body], [[task.id], { status: 'backlog' }]);
    assert.equal(asked?.headers.get('if-match'), '"task-7"');
  });

  test('a dropped card is in its new column during the request, and stays there', async () => {
    let task = taskWith({ title: 'Dragged' });
    const asked = Promise.withResolvers<Task>();
    const service = await begin('/?view=board', {
      answers: boardOf([], {
        ...moves(target('done', 'Done', 'complete')),
        'tasks.list': ({ query }) =>
          pageOf(...(query['status'] === undefined || query['status'] === task.status ? [task] : [])),
        'tasks.complete': () => asked.promise,
      }),
    });
    await until(() => card('Dragged'));
    await settled();
    const fire = (on: Element, name: string) =>
      on.dispatchEvent(new DragEvent(name, { bubbles: true, cancelable: true }));
    fire(card('Dragged'), 'dragstart');
    await settled();
    fire(column('done'), 'drop');
    await until(() => titlesIn('done').includes('Dragged') && titlesIn('open').length === 0);
    await until(() => service.askedFor('tasks.complete').length === 1);
    task = { ...task, status: 'done' };
    asked.resolve(task);
    await settled();
    assert.deepEqual([titlesIn('open'), titlesIn('done')], [[], ['Dragged']]);
    assert.equal(address(), '/?view=board');
  });

  test('a card that its type does not allow to move returns, and the page shows the allowed statuses', async () => {
    const task = taskWith({ title: 'Over and done', status: 'done' });
    const service = await open('/?view=board', { answers: boardOf([task], moves(target('open', 'Ready'))) });
    await drag('Over and done', 'backlog');
    await see(`${task.publicId} was not moved: its type allows Done → Ready, not Backlog.`);
    assert.deepEqual([titlesIn('done'), titlesIn('backlog')], [['Over and done'], []]);
    assert.equal(service.askedFor('tasks.update').length, 0);
  });

  test('a card whose task was changed meanwhile returns, with the author and the current state', async () => {
    const task = taskWith({ title: 'Wanted by two', updatedAt: '2026-03-02T09:00:00.000Z' });
    const event = itemOf('events.list', {
      actorId: graceId,
      occurredAt: '2026-03-02T09:01:00.000Z',
      entityId: task.id,
    });
    await open('/?view=board', {
      answers: boardOf([task], {
        ...moves(target('backlog', 'Backlog')),
        'tasks.update': new Refusal(409, 'version_conflict'),
        'tasks.get': { ...task, priority: 'critical', status: 'in_review' },
        'events.list': { items: [event], nextCursor: 'ec1_end', hasMore: false },
      }),
    });
    await drag('Wanted by two', 'backlog');
    await see(
      `${task.publicId} was not moved to Backlog: Grace changed it in the meantime. It is now in review, priority critical.`,
    );
    assert.deepEqual(titlesIn('backlog'), []);
  });

  test('a rejected move returns with its code', async () => {
    const task = taskWith({ title: 'Refused' });
    await open('/?view=board', {
      answers: boardOf([task], {
        ...moves(target('backlog', 'Backlog')),
        'tasks.update': new Refusal(403, 'permission_denied', 'You need tasks.write.'),
      }),
    });
    await drag('Refused', 'backlog');
    await see(`${task.publicId} was not moved to Backlog.`);
    await see('permission_denied · req_test');
    assert.deepEqual(titlesIn('open'), ['Refused']);
  });

  test('a task whose checks run first is reported', async () => {
    const task = taskWith({ title: 'Checked' });
    await open('/?view=board', {
      answers: boardOf([task], { ...moves(target('done', 'Done', 'complete')), 'tasks.complete': task }),
    });
    await drag('Checked', 'done');
    await see(`${task.publicId} moves to Done when its acceptance checks have passed.`);
  });

  test('v b and v l switch between board and list, and keep the filters', async () => {
    await open('/?priority=high', { answers: boardOf([taskWith()]) });
    await press('v', 'b');
    assert.equal(address(), '/?priority=high&view=board');
    assert.equal((await find('button', 'Board')).getAttribute('aria-pressed'), 'true');
    await press('v', 'l');
    assert.equal(address(), '/?priority=high');
    await press('v', 'm');
    assert.equal(address(), '/?priority=high&assignee=me');
    await press('v', 'a');
    assert.equal(address(), '/');
  });

  test('a card opens the page of its task', async () => {
    const task = taskWith({ title: 'Opened' });
    await open('/?view=board', { answers: { ...answersOf(task), ...boardOf([task]) } });
    card('Opened').querySelector('a')?.click();
    await until(() => all('heading', 'Opened').length > 0);
    assert.equal(address(), `/tasks/${task.publicId}`);
  });
});
