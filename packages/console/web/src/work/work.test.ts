import assert from 'node:assert/strict';
import { describe } from 'node:test';
import {
  address,
  all,
  click,
  exampleOf,
  fill,
  find,
  isThere,
  itemOf,
  meId,
  notSeen,
  open,
  pageOf,
  press,
  Refusal,
  see,
  seen,
  submit,
  test,
  unseen,
  until,
} from '../testing/page.ts';
import { answersOf, graceId, taskWith } from '../testing/tasks.ts';

const links = () =>
  all('link', undefined, document.querySelector('main ul') ?? undefined).map((one) => one.textContent);
const demoMade = (ageMs: number) =>
  itemOf('workspaces.list', {
    slug: 'baton-demo-1',
    status: 'active',
    name: 'Demo',
    createdAt: new Date(Date.now() - ageMs).toISOString(),
  });
const main = () => seen(document.querySelector('main') as Element);

describe('the list of tasks', () => {
  test('shows each task with its name, status, priority, holder and time', async () => {
    const task = taskWith({
      title: 'Mend the roof',
      status: 'in_progress',
      priority: 'high',
      activeClaimId: meId,
    });
    const claim = itemOf('claims.list', { taskId: task.id, holderId: graceId, status: 'active' });
    await open('/', { answers: { 'tasks.list': pageOf(task), 'claims.list': pageOf(claim) } });
    const [line] = all('listitem', /Mend the roof/);
    assert.match(
      seen(line),
      new RegExp(`^${task.publicId}\\s*Mend the roof\\s*in progress\\s*high\\s*Held by Grace`),
    );
    assert.equal(line?.querySelector('a')?.getAttribute('href'), `/tasks/${task.publicId}`);
  });

  test('shows the assignee of an unclaimed task', async () => {
    const task = taskWith({ assigneeId: meId });
    await open('/', { answers: { 'tasks.list': pageOf(task, taskWith({ title: 'Given to nobody' })) } });
    assert.match(seen(all('listitem', /Write the report/)[0]), /Ada/);
    assert.match(seen(all('listitem', /Given to nobody/)[0]), /–/);
  });

  test('without tasks, offers to create one, and the demo only with the permission', async () => {
    await open('/');
    await see('No tasks yet');
    assert.ok(isThere('link', 'Create task'));
    assert.ok(!isThere('button', 'Start the demo'));
    assert.doesNotMatch(seen(), /demo/);
  });

  test('with the permission, the demo is offered and opens on the board', async () => {
    const workspace = demoMade(0);
    const service = await open('/', { others: { '/console/demo': { isAllowed: true } } });
    service.answer({
      'workspaces.list': pageOf(workspace),
      'tasks.list': pageOf(taskWith()),
      'taskTypes.list': pageOf(),
    });
    await click('button', 'Start the demo');
    await until(() => address().startsWith('/?view=board'));
    assert.equal(address(), `/?view=board&workspace=${workspace.id}`);
    assert.deepEqual(
      service.askedFor('/console/demo').map(({ body }) => body),
      [{ act: 'state' }, { act: 'start' }],
    );
    await see('Four demo agents are working in their own workspace, for 30 minutes at most.');
    await see('Their questions appear in your inbox.');
    service.answer({ 'workspaces.list': pageOf() });
    await click('button', 'Remove the demo');
    await unseen('Four demo agents');
    assert.deepEqual(service.askedFor('/console/demo').at(-1)?.body, { act: 'remove' });
    assert.equal(address(), '/');
  });

  const asked = (taskId: string) => ({
    id: 'a1',
    taskId,
    artifactId: null,
    requestedBy: graceId,
    gate: true,
    comment: 'May I?',
    createdAt: new Date().toISOString(),
  });

  test("the demo's pending questions are shown while an agent of it is active", async () => {
    const task = taskWith();
    await open('/', {
      me: { pendingApprovals: [asked(task.id), asked('0190b2c4-0000-7000-8000-00000000dead')] },
      answers: {
        'workspaces.list': pageOf(demoMade(120_000)),
        'workspaces.listMembers': pageOf(itemOf('workspaces.listMembers', { principalId: graceId })),
        'sessions.list': pageOf(itemOf('sessions.list', { principalId: graceId })),
        'tasks.list': pageOf(task),
      },
    });
    await see('Four demo agents are working in their own workspace');
    await see('One question is pending in your inbox.');
  });

  test('a demo without agents is not shown as running', async () => {
    await open('/', {
      answers: { 'workspaces.list': pageOf(demoMade(120_000)), 'tasks.list': pageOf(taskWith()) },
    });
    await see('The demo agents have stopped: they wait at most 30 minutes for answers.');
    notSeen('Four demo agents');
  });

  test('a demo has stopped after its maximum time, even without the permission for sessions', async () => {
    const service = await open('/', {
      me: { permissions: ['tasks.read', 'workspaces.read'] },
      answers: { 'workspaces.list': pageOf(demoMade(1_900_000)), 'tasks.list': pageOf(taskWith()) },
    });
    await see('The demo agents have stopped');
    assert.equal(service.askedFor('sessions.list').length, 0);
  });

  test('a demo whose tasks are all done is complete', async () => {
    const done = taskWith({ status: 'done', systemStatusCategory: 'terminal_success' });
    await open('/', {
      answers: { 'workspaces.list': pageOf(demoMade(60_000)), 'tasks.list': pageOf(done) },
    });
    await see('The demo is complete: its agents have finished all tasks.');
  });

  test('without matching tasks, offers to show all', async () => {
    await open('/?priority=high');
    await see('No tasks match these filters');
    await click('link', 'Show all tasks');
    assert.equal(address(), '/');
  });

  test('a failed query is reported with its code, and retried on demand', async () => {
    const service = await open('/', {
      answers: { 'tasks.list': new Refusal(403, 'permission_denied', 'You may not.') },
    });
    await see('You may not.');
    await see('permission_denied · req_test');
    service.answer({ 'tasks.list': pageOf(taskWith({ title: 'Seen again' })) });
    await click('button', 'Try again');
    await see('Seen again');
  });

  test('queries the parameters of the URL, and drops unknown ones', async () => {
    const workspace = '0190b2c4-0000-7000-8000-00000000003a';
    const service = await open(
      `/?q=roof&category=active&priority=high&assignee=me&workspace=${workspace}&other=x&view=x`,
    );
    const [asked] = service.askedFor('tasks.list');
    assert.deepEqual(asked?.query, {
      q: 'roof',
      systemStatusCategory: 'active',
      priority: 'high',
      assigneeId: meId,
      workspaceId: workspace,
      limit: '100',
    });
    assert.equal((await find<HTMLInputElement>('textbox', 'Search tasks')).value, 'roof');
    assert.ok((await find<HTMLInputElement>('checkbox', 'Mine')).checked);
  });

  test('unknown values in the URL are ignored', async () => {
    const service = await open('/?view=x&category=x&priority=x&workspace=x&create=x');
    assert.deepEqual(
      service.askedFor('tasks.list').map(({ query }) => query),
      [{ limit: '100' }],
    );
    assert.ok(!isThere('alert') && !isThere('dialog'));
  });

  test('a selected filter is in the URL and takes effect immediately', async () => {
    const service = await open('/');
    await fill('combobox', 'Status', 'blocked');
    await fill('combobox', 'Priority', 'low');
    await click('checkbox', 'Mine');
    assert.equal(address(), '/?category=blocked&priority=low&assignee=me');
    assert.deepEqual(service.askedFor('tasks.list').at(-1)?.query, {
      systemStatusCategory: 'blocked',
      priority: 'low',
      assigneeId: meId,
      limit: '100',
    });
  });

  test('a search updates the URL during input, and the field keeps newer input', async () => {
    await open('/');
    await fill('textbox', 'Search tasks', 'key');
    await until(() => address() === '/?q=key');
    await fill('textbox', 'Search tasks', 'keyboard');
    await until(() => address() === '/?q=keyboard');
    assert.equal((await find<HTMLInputElement>('textbox', 'Search tasks')).value, 'keyboard');
  });

  test('input during an update of the URL stays in the field', async () => {
    const { router } = await import('../router.tsx');
    await open('/');
    const field = await find<HTMLInputElement>('textbox', 'Search tasks');
    const stop = router.history.subscribe(() => {
      stop();
      void fill('textbox', 'Search tasks', 'keyboard');
    });
    await fill('textbox', 'Search tasks', 'key');
    await until(() => address() === '/?q=keyboard');
    assert.equal(field.value, 'keyboard');
  });

  test('tasks of archived workspaces are left out, and shown on demand', async () => {
    const archived = itemOf('workspaces.list', { status: 'archived', name: 'Old' });
    const old = taskWith({ title: 'Of old', workspaceId: archived.id });
    await open('/', {
      answers: {
        'workspaces.list': pageOf(archived),
        'tasks.list': pageOf(old, taskWith({ title: 'Of today' })),
      },
    });
    assert.deepEqual(links(), ['Of today']);
    await see('Tasks of one archived workspace are hidden.');
    await click('link', 'Show');
    assert.deepEqual(links(), ['Of old', 'Of today']);
  });

  test('loads the next page near the end', async () => {
    const [first, second] = [
      taskWith({ title: 'On the first page' }),
      taskWith({ title: 'On the second page' }),
    ];
    const service = await open('/', {
      answers: {
        'tasks.list': ({ query }) =>
          query['cursor'] === 'c2' ? pageOf(second) : { items: [first], nextCursor: 'c2' },
      },
    });
    await see('On the second page');
    assert.deepEqual(
      service.askedFor('tasks.list').map(({ query }) => query['cursor']),
      [undefined, 'c2'],
    );
  });

  test('renders only the visible ones of many tasks', async () => {
    const many = Array.from({ length: 500 }, (_, n) => taskWith({ title: `Task ${n}` }));
    await open('/', { answers: { 'tasks.list': pageOf(...many) } });
    const drawn = links().length;
    assert.ok(drawn > 5 && drawn < 60, `${drawn} lines`);
    assert.equal(document.querySelector('main li')?.getAttribute('aria-setsize'), '500');
  });

  test('j and k navigate the lines and stop at the ends, Enter opens', async () => {
    const [one, two] = [taskWith({ title: 'One' }), taskWith({ title: 'Two' })];
    await open('/', { answers: { ...answersOf(two, [one]), 'tasks.list': pageOf(one, two) } });
    const focused = () => document.activeElement?.textContent;
    await press('j');
    assert.equal(focused(), 'One');
    await press('j');
    await press('j');
    assert.equal(focused(), 'Two');
    await press('k');
    assert.equal(focused(), 'One');
    await press('j', 'Enter');
    await until(() => isThere('heading', 'Two'));
    assert.equal(address(), `/tasks/${two.publicId}`);
  });
});

describe('a new task', () => {
  test('c opens the form, and the new task opens', async () => {
    const made = taskWith({ title: 'Written by keyboard' });
    const service = await open('/', { answers: { ...answersOf(made), 'tasks.create': made } });
    await press('c');
    await find('dialog');
    assert.equal(address(), '/?create=true');
    assert.equal(document.activeElement?.getAttribute('name'), 'title');
    await fill('textbox', 'Title', '  Written by keyboard ');
    await fill('textbox', 'Description', 'All of it');
    await fill('combobox', 'Priority', 'high');
    await submit('textbox', 'Title');
    await until(() => isThere('heading', 'Written by keyboard'));
    const [asked] = service.askedFor('tasks.create');
    assert.deepEqual(asked?.body, {
      title: 'Written by keyboard',
      description: 'All of it',
      priority: 'high',
      workspaceId: null,
    });
    assert.equal(address(), `/tasks/${made.publicId}`);
  });

  test('belongs to the selected workspace, even if the page has not loaded it', async () => {
    const shown = exampleOf('workspaces.get', { name: 'Web shop' });
    const other = itemOf('workspaces.list', { id: graceId, name: 'Another', status: 'active' });
    const made = taskWith();
    const service = await open(`/?workspace=${shown.id}&create=true`, {
      answers: {
        ...answersOf(made),
        'workspaces.list': pageOf(other),
        'workspaces.get': shown,
        'tasks.create': made,
      },
    });
    await until(() => all('option', 'Web shop').length > 0);
    await fill('textbox', 'Title', 'Made where it is shown');
    await submit('textbox', 'Title');
    await until(() => service.askedFor('tasks.create')[0]);
    assert.equal(
      (service.askedFor('tasks.create')[0]?.body as { workspaceId: string }).workspaceId,
      shown.id,
    );
  });

  test('sent again after a lost response it has the same key, and after a change another one', async () => {
    const service = await open('/?create=true', {
      answers: { 'tasks.create': new Refusal(422, 'validation_error', 'No.') },
    });
    const send = async (title: string) => {
      await fill('textbox', 'Title', title);
      await submit('textbox', 'Title');
    };
    await send('Once');
    await see('No.');
    await send('Once');
    await send('Twice');
    const keys = service.askedFor('tasks.create').map(({ headers }) => headers.get('idempotency-key'));
    assert.equal(keys.length, 3);
    assert.equal(keys[0], keys[1]);
    assert.notEqual(keys[1], keys[2]);
  });

  test('a cancelled form leaves the page as it was', async () => {
    const service = await open('/?priority=high&create=true');
    await click('button', 'Cancel');
    await until(() => !isThere('dialog'));
    assert.equal(address(), '/?priority=high');
    assert.equal(service.askedFor('tasks.create').length, 0);
    assert.match(main(), /^Work/);
    notSeen('New task\nTitle');
  });
});
