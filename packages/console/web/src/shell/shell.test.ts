import assert from 'node:assert/strict';
import { describe } from 'node:test';
import {
  address,
  all,
  click,
  copied,
  departures,
  everything,
  exampleOf,
  fill,
  find,
  hearFromTab,
  isThere,
  itemOf,
  meId,
  meWith,
  open,
  pageOf,
  press,
  Refusal,
  see,
  seen,
  settled,
  sockets,
  submit,
  test,
  toldToTabs,
  unseen,
  until,
} from '../testing/page.ts';
import { answersOf, graceId, taskWith } from '../testing/tasks.ts';

const { baton } = await import('../client.ts');
const { places } = await import('./places.ts');
const { formatKeys, pageKeys } = await import('./actions.ts');

/** Runs a command by its text. */
async function command(words: string): Promise<void> {
  await press('Control+k');
  const field = await until(() => document.querySelector<HTMLInputElement>('[cmdk-input]'));
  field.focus();
  const { set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value') ?? {};
  set?.call(field, words);
  field.dispatchEvent(new Event('input', { bubbles: true }));
  await settled();
}
const options = () => all('option').map((one) => one.textContent?.trim() ?? '');

describe('the frame of the console', () => {
  test('shows every page, the signed-in person, and the live status', async () => {
    await open('/inbox', {
      me: { permissions: [...everything, 'admin'] },
      answers: {
        'identityAdministrationTokens.create': new Refusal(403, 'fresh_sign_in_required', 'Sign in.'),
      },
    });
    const nav = await find('navigation', 'Pages');
    assert.deepEqual(
      all('link', undefined, nav).map((one) => one.textContent),
      [...places.map(({ name }) => name), 'Ada'],
    );
    assert.equal(all('link', 'Ada', nav)[0]?.getAttribute('href'), '/account');
    assert.match(seen(nav), /Ada\s*Acme · live/);
    assert.equal(all('link', 'Inbox', nav)[0]?.getAttribute('aria-current'), 'page');
  });

  test('the navigation leaves out pages that show this person nothing', async () => {
    await open('/inbox', { me: { permissions: ['tasks.read'] } });
    const nav = await find('navigation', 'Pages');
    await until(() => all('link', 'Ada', nav).length > 0);
    const shown = all('link', undefined, nav).map((one) => one.textContent);
    assert.deepEqual(shown, ['Overview', 'Work', 'Inbox', 'System', 'Ada']);
  });

  for (const { to, name, key } of places)
    test(`g ${key} opens ${name}`, async () => {
      await open(to === '/' ? '/inbox' : '/', {
        answers: {
          'identity.keys.list': { keys: [] },
          'operations.getContextAdapter': exampleOf('operations.getContextAdapter'),
          'statistics.getWork': exampleOf('statistics.getWork'),
          'statistics.getWaits': exampleOf('statistics.getWaits'),
          'statistics.getLeases': exampleOf('statistics.getLeases'),
          'statistics.getUsage': exampleOf('statistics.getUsage', {
            total: { inputTokens: 0, outputTokens: 0, costs: [] },
            groups: [],
          }),
          'statistics.getHoldings': exampleOf('statistics.getHoldings', { items: [] }),
        },
        others: {
          '/iam/readyz': {},
          '/health/ready': {},
          '/metrics': () => new Response('', { status: 404 }),
        },
      });
      await press('g', key);
      await until(() => isThere('heading', name));
      assert.equal(address(), to);
      assert.equal(document.title, `${name} · Baton`);
    });

  test('an unknown URL is reported, with a link to Work', async () => {
    await open('/inbox/nowhere');
    await find('heading', 'Page not found');
    assert.equal(document.title, 'Page not found · Baton');
    await click('link', 'Go to Work');
    assert.equal(address(), '/');
  });

  test('while a field has the focus, keys are input', async () => {
    await open('/');
    (await find('textbox', 'Search tasks')).focus();
    await press('c', 'v', 'b', 'g', 'i');
    assert.equal(address(), '/');
    (document.activeElement as HTMLElement).blur();
    await press('g', 'i');
    assert.equal(address(), '/inbox');
  });

  test('while a dialog is open, it handles the keys', async () => {
    await open('/?create=true');
    (await find('button', 'Cancel')).focus();
    await press('g', 'i');
    assert.equal(address(), '/?create=true');
  });

  test('? shows every key', async () => {
    await open('/');
    await press('?');
    await see(/Keyboard shortcuts\nClose/);
    for (const [key, does] of pageKeys) await see(`${key}\n${does}`);
    for (const { name, key } of places) await see(`g ${key}\n${name}`);
    await see(`${formatKeys('mod+k')}\nAll commands`);
    await click('button', 'Close');
    await until(() => !isThere('dialog'));
  });

  test('if Baton is unavailable, the page shows the error code and retries', async () => {
    const service = await open('/inbox', {
      answers: { 'harness.getContext': new Refusal(403, 'permission_denied', 'Not you.') },
    });
    await see('Not you.\npermission_denied · req_test');
    service.answer({ 'harness.getContext': meWith() });
    await click('button', 'Try again');
    await see('No pending approvals');
  });
});

describe('the palette', () => {
  test('offers every page and every action', async () => {
    await open('/inbox');
    await command('');
    for (const name of [
      'Create task',
      'Switch to board view',
      ...places.map((place) => place.name),
      'Keyboard shortcuts',
      'Sign out',
    ])
      assert.ok(
        options().some((option) => option.startsWith(name)),
        `${name} in ${options().join(', ')}`,
      );
    assert.ok(!options().includes('Show all tasks'));
  });

  test('filters by the input, and Enter runs the first match', async () => {
    await open('/inbox');
    await command('journal');
    await press('Enter');
    await until(() => address() === '/journal');
    assert.ok(!isThere('dialog'));
  });

  test('finds tasks, and opens one', async () => {
    const task = taskWith({ title: 'Written by keyboard' });
    const service = await open('/inbox', { answers: { ...answersOf(task), 'tasks.list': pageOf(task) } });
    await command('keyboard');
    await until(() => options().includes(`${task.publicId} Written by keyboard`));
    assert.deepEqual(service.askedFor('tasks.list').at(-1)?.query, { q: 'keyboard', limit: '8' });
    await click('option', `${task.publicId} Written by keyboard`);
    await until(() => address() === `/tasks/${task.publicId}`);
  });

  test('searches tasks for words that match no action', async () => {
    await open('/inbox');
    await command('zebra');
    await click('option', 'Search all tasks for “zebra”');
    assert.equal(address(), '/?q=zebra');
  });

  test('Escape leaves it', async () => {
    await open('/inbox');
    await command('x');
    await press('Escape');
    await until(() => !isThere('dialog'));
    assert.equal(address(), '/inbox');
  });

  test('assigns the open task to this person', async () => {
    const task = taskWith({ version: 8 });
    const service = await open(`/tasks/${task.publicId}`, {
      answers: { ...answersOf(task), 'tasks.update': task },
    });
    await command('assign to me');
    await click('option', 'Assign to me');
    await see(`Assigned ${task.publicId} to you.`);
    const [asked] = service.askedFor('tasks.update');
    assert.deepEqual([asked?.body, asked?.headers.get('if-match')], [{ assigneeId: meId }, '"task-8"']);
  });

  test('unassigns a task of this person', async () => {
    const task = taskWith({ assigneeId: meId });
    const service = await open(`/tasks/${task.publicId}`, {
      answers: { ...answersOf(task), 'tasks.update': task },
    });
    await command('unassign');
    assert.ok(!options().includes('Assign to me'));
    await click('option', 'Unassign');
    await see(`Unassigned ${task.publicId}.`);
    assert.deepEqual(service.askedFor('tasks.update')[0]?.body, { assigneeId: null });
  });

  test('comments on the open task', async () => {
    const task = taskWith();
    const service = await open(`/tasks/${task.publicId}`, {
      answers: { ...answersOf(task), 'tasks.createComment': exampleOf('tasks.createComment') },
    });
    await command('comment');
    await click('option', 'Comment …');
    await fill('textbox', `Comment on ${task.publicId}`, ' Written here ');
    await submit('textbox', `Comment on ${task.publicId}`);
    await see(`Commented on ${task.publicId}.`);
    assert.deepEqual(service.askedFor('tasks.createComment')[0]?.body, { body: 'Written here' });
  });

  test('copies the id and the address of the open task', async () => {
    const task = taskWith();
    await open(`/tasks/${task.publicId}`, { answers: answersOf(task) });
    await command('copy id');
    await click('option', `Copy ID ${task.publicId}`);
    await see(`Copied: ${task.publicId}`);
    await command('copy link');
    await click('option', 'Copy link');
    await until(() => copied.length === 2);
    assert.deepEqual(copied, [task.publicId, `http://baton.test/tasks/${task.publicId}`]);
  });

  test('m on the page of a task opens its transitions, and moves it', async () => {
    const task = taskWith();
    const service = await open(`/tasks/${task.publicId}`, {
      answers: { ...answersOf(task), 'tasks.update': task },
    });
    await press('m');
    await click('option', 'Move to In progress');
    await until(() => service.askedFor('tasks.update').length > 0);
    assert.deepEqual(service.askedFor('tasks.update')[0]?.body, { status: 'in_progress' });
  });

  test('an error is shown above the page until it is closed', async () => {
    const task = taskWith();
    await open(`/tasks/${task.publicId}`, {
      answers: {
        ...answersOf(task),
        'tasks.update': new Refusal(403, 'permission_denied', 'You need tasks.write.'),
      },
    });
    await command('assign to me');
    await click('option', 'Assign to me');
    const notices = await find('status', 'Notifications');
    await see('You need tasks.write.\npermission_denied · req_test');
    await click('button', 'Close', notices);
    assert.equal(seen(notices), '');
  });
});

describe('the session', () => {
  test('without a session, the sign-in opens and returns to the page afterwards', async () => {
    await open('/journal?types=task.', {
      answers: { 'harness.getContext': new Refusal(401, 'invalid_token') },
      others: { '/console/token': new Refusal(401, 'signed_out') },
    });
    assert.ok(isThere('heading', 'Sign in to Baton'));
    assert.equal(decodeURIComponent(address()), '/sign-in?next=/journal?types=task.');
    assert.ok(!isThere('alert'));
  });

  test('the sign-in page shows why a session has ended', async () => {
    await open('/inbox', {
      answers: { 'harness.getContext': new Refusal(401, 'invalid_token') },
      others: { '/console/token': new Refusal(401, 'principal_disabled') },
    });
    await see('Your account is disabled. Contact an administrator.\nprincipal_disabled');
  });

  test('a sign-out elsewhere is reported, and the input is kept', async () => {
    const task = taskWith();
    const service = await open(`/tasks/${task.publicId}`, { answers: answersOf(task) });
    await fill('textbox', 'Your comment', 'Not sent yet');
    service.answer({ 'harness.getContext': new Refusal(401, 'invalid_token', 'It has expired.') });
    await until(() => sockets.length > 0);
    sockets.at(-1)?.brings(itemOf('events.list', { type: 'task.updated', entityType: 'task' }));
    await see('You are signed out.');
    await see('invalid_token · req_test');
    assert.equal(
      (await find('link', 'Sign in again')).getAttribute('href'),
      `/sign-in?next=${encodeURIComponent(address())}`,
    );
    assert.equal((await find<HTMLTextAreaElement>('textbox', 'Your comment')).value, 'Not sent yet');
  });

  test('a page keeps its data while Baton is unavailable, and reconnects automatically', async () => {
    const task = taskWith();
    const service = await open(`/tasks/${task.publicId}`, { answers: answersOf(task) });
    await fill('textbox', 'Your comment', 'Not sent yet');
    const happens = () =>
      sockets.at(-1)?.brings(itemOf('events.list', { type: 'session.opened', entityType: 'session' }));
    service.answer({ 'harness.getContext': new Refusal(403, 'permission_denied', 'Not now.') });
    await until(() => sockets.length > 0);
    happens();
    await see('Baton is not responding. This page shows its last known data and reconnects automatically.');
    const comment = itemOf('tasks.listComments', { body: 'Written during the outage' });
    const commented = itemOf('events.list', {
      type: 'task.comment_added',
      entityId: task.id,
      payload: { commentId: comment.id },
    });
    service.answer({
      'harness.getContext': meWith(),
      'tasks.listComments': pageOf(comment),
      'events.list': { items: [commented], nextCursor: 'ec1_end', hasMore: false, prevCursor: null },
    });
    happens();
    await unseen('Baton is not responding.');
    await see('Written during the outage');
    assert.equal((await find<HTMLTextAreaElement>('textbox', 'Your comment')).value, 'Not sent yet');
  });

  test("uses Baton's clock, which comes with each access token", async (t) => {
    const nowMs = Date.parse('2026-03-02T10:00:00.000Z');
    t.mock.method(Date, 'now', () => nowMs);
    baton.accessToken?.forget(baton.accessToken.held() ?? '');
    const task = taskWith({ updatedAt: '2026-03-02T09:00:00.000Z' });
    await open(`/tasks/${task.publicId}`, {
      answers: answersOf(task),
      others: {
        '/console/token': () =>
          Response.json(
            { accessToken: 'e30.e30.none', expiresIn: 300, person: 'ada' },
            { headers: { date: new Date(nowMs - 3_600_000).toUTCString() } },
          ),
      },
    });
    await see('updated now');
    baton.accessToken?.forget(baton.accessToken.held() ?? '');
  });

  test('signing out ends the session, notifies the other tabs, and leaves the page', async () => {
    const service = await open('/inbox', { others: { '/console/sign-out': {} } });
    await click('button', 'Sign out');
    await until(() => departures.length > 0);
    assert.deepEqual(
      service.askedFor('/console/sign-out').map(({ body }) => body),
      [{}],
    );
    assert.deepEqual(departures, [{ way: 'assign', to: '/sign-in' }]);
    assert.ok(toldToTabs.includes('signed out'));
  });

  test('a person can be signed out in every browser', async () => {
    const service = await open('/inbox', { others: { '/console/sign-out': {} } });
    await command('all browsers');
    await click('option', 'Sign out of all browsers');
    await until(() => departures.length > 0);
    assert.deepEqual(service.askedFor('/console/sign-out')[0]?.body, { everywhere: 'yes' });
  });

  test('a failed sign-out is reported, and the page stays', async () => {
    await open('/inbox', { others: { '/console/sign-out': new Refusal(503, 'unavailable', 'Not now.') } });
    await click('button', 'Sign out');
    await see('Not now.');
    assert.deepEqual(departures, []);
  });

  test('a sign-out in another tab opens the sign-in, and a sign-in as somebody else reloads the page', async () => {
    await open('/inbox');
    hearFromTab('ada');
    assert.deepEqual(departures, []);
    hearFromTab('grace');
    hearFromTab('signed out');
    assert.deepEqual(departures, [
      { way: 'reload', to: '' },
      { way: 'assign', to: '/sign-in' },
    ]);
  });
});

describe('live changes', () => {
  test('only the objects of an event are refetched', async () => {
    const task = taskWith({ title: 'Before' });
    const service = await open('/', { answers: { 'tasks.list': pageOf(task) } });
    service.answer({ 'tasks.list': pageOf({ ...task, title: 'Seen as it happens' }) });
    await until(() => sockets.length > 0);
    const workspaces = service.askedFor('workspaces.list').length;
    sockets.at(-1)?.brings(
      itemOf('events.list', {
        type: 'task.updated',
        entityType: 'task',
        entityId: task.id,
        actorId: graceId,
      }),
    );
    await see('Seen as it happens');
    assert.equal(service.askedFor('workspaces.list').length, workspaces);
  });

  test('the socket sends the access token in a header, not in its URL', async () => {
    await open('/inbox');
    await until(() => sockets.length > 0);
    const [socket] = sockets;
    assert.match(socket?.url ?? '', /^ws:\/\/baton\.test\/api\/v1\/events\/ws\?after=ec1_end$/);
    assert.match(socket?.protocols.join(' ') ?? '', /^baton bearer\.e30\./);
  });

  test('without the permission to read events, the page is shown as not live', async () => {
    await open('/inbox', { me: { permissions: ['tasks.read'] } });
    await see('Acme · not live');
    assert.deepEqual(sockets, []);
  });

  test('a notice is shown above the page until it is closed, the newest three at most', async () => {
    const { notify } = await import('../parts/Notices.tsx');
    await open('/inbox');
    for (const text of ['First', 'Second', 'Third', 'Fourth']) notify(text, { isBad: true });
    await see('Second\nClose\nThird\nClose\nFourth\nClose');
    assert.ok(!seen().includes('First'));
    await click('button', 'Close', all('status', 'Notifications')[0]);
    await unseen('Second');
    await see('Third');
  });
});
