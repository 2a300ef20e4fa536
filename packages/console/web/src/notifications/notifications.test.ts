import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { JournalEvent, Task } from '@baton/sdk';
import {
  type Answers,
  address,
  click,
  exampleOf,
  FakeNotification,
  type FakeService,
  isThere,
  itemOf,
  meId,
  meWith,
  notifications,
  notSeen,
  open,
  pageOf,
  see,
  settled,
  sockets,
  test,
  until,
} from '../testing/page.ts';
import { graceId, taskWith } from '../testing/tasks.ts';

const storedName = 'baton.notified-person';
const button = 'Notify me in this browser';
const evil = '<img src=x onerror="window.ran=1">\u202e';

type Me = ReturnType<typeof meWith>;
const pending = (number: number, other: Partial<Me['pendingApprovals'][number]> = {}) => ({
  id: `0190b2c4-0000-7000-8000-${String(number).padStart(12, '0')}`,
  taskId: null,
  artifactId: null,
  requestedBy: graceId,
  gate: false,
  comment: 'the password is hunter2',
  createdAt: '2026-03-02T09:00:00.000Z',
  ...other,
});

const token = { signedInBy: 'token', mayAddPasskey: false };

/** Replaces the visibility of the page, which happy-dom always calls visible. */
function setHidden(isHidden: boolean): void {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden });
  document.dispatchEvent(new Event('visibilitychange'));
}

function permit(permission: NotificationPermission, answer: NotificationPermission = 'granted'): void {
  Object.assign(FakeNotification, { permission, answer, asked: 0 });
}

/** Opens the console of Ada, who turned notifications on, in a hidden tab. */
async function openHidden(me: Partial<Me> = {}, answers: Answers = {}): Promise<FakeService> {
  permit('granted');
  localStorage.setItem(storedName, meId);
  const service = await open('/account', {
    me,
    answers: { 'tasks.get': taskWith(), ...answers },
    others: { '/console/account': token },
  });
  setHidden(true);
  await until(() => sockets.length > 0);
  return service;
}

const event = (type: string, other: Partial<JournalEvent>): JournalEvent =>
  itemOf('events.list', { type, entityType: type.split('.')[0] ?? '', actorId: graceId, ...other });
const brings = (one: JournalEvent) => sockets.at(-1)?.brings(one);

/** Makes approvals pending, as the next context shows them. */
async function request(service: FakeService, me: Partial<Me>): Promise<void> {
  service.answer({ 'harness.getContext': meWith(me) });
  brings(event('approval.requested', { entityType: 'approval' }));
  const { pendingApprovals = [] } = me;
  await until(() => service.askedFor('harness.getContext').length > 1);
  if (pendingApprovals.length > 0) await see(`${pendingApprovals.length} pending`);
  await handled();
}

/** The record of the tabs is written under a lock, so the next holder sees the result. */
async function handled(): Promise<void> {
  await settled();
  await navigator.locks.request('baton.notices', () => undefined);
  await settled();
}

const shown = () => notifications.map(({ title, body }) => `${title}: ${body}`);

describe('notifications in the browser', () => {
  test('the permission is requested only after the click, and the choice can be taken back', async () => {
    permit('default');
    await open('/account', { others: { '/console/account': token } });
    assert.equal(FakeNotification.asked, 0);
    await click('button', button);
    assert.equal(FakeNotification.asked, 1);
    await see('This browser notifies you.');
    assert.equal(localStorage.getItem(storedName), meId);
    await click('button', 'Stop notifying me in this browser');
    assert.ok(isThere('button', button));
    assert.equal(localStorage.getItem(storedName), null);
    assert.deepEqual(notifications, []);
  });

  test('a question that the person closes changes nothing', async () => {
    permit('default', 'default');
    await open('/account', { others: { '/console/account': token } });
    await click('button', button);
    await see("Your browser didn't allow notifications");
    assert.equal(localStorage.getItem(storedName), null);
  });

  test('a browser that blocks them gets no request', async () => {
    permit('denied');
    await open('/account', { others: { '/console/account': token } });
    await see('Your browser blocks notifications of this page.');
    assert.ok(!isThere('button', button));
    assert.equal(FakeNotification.asked, 0);
  });

  test('a browser without the interface is reported', async (t) => {
    const { Notification } = globalThis;
    t.after(() => Object.assign(globalThis, { Notification }));
    Reflect.deleteProperty(globalThis, 'Notification');
    await open('/account', { others: { '/console/account': token } });
    await see("This browser can't show notifications of this address.");
    assert.ok(!isThere('button', button));
  });

  test("another person's choice in this browser is not theirs", async () => {
    permit('granted');
    localStorage.setItem(storedName, graceId);
    const service = await open('/account', { others: { '/console/account': token } });
    assert.ok(isThere('button', button));
    setHidden(true);
    await request(service, { pendingApprovals: [pending(1)] });
    assert.deepEqual(shown(), []);
    setHidden(false);
  });

  test('a new decision is shown once, with the title of its task, and opens when it is clicked', async () => {
    const task = taskWith({ title: `Release\n ${evil}${'x'.repeat(300)}` });
    const service = await openHidden({ pendingApprovals: [pending(1)] }, { 'tasks.get': task });
    await request(service, { pendingApprovals: [pending(1), pending(2, { taskId: task.id })] });
    await until(() => notifications.length > 0);
    const [one] = notifications;
    assert.ok(one);
    assert.equal(one.title, 'Decision requested');
    assert.match(one.body, /^Release <img src=x onerror="window.ran=1">⟨U\+202E⟩x+… \(TASK-\d+\)$/);
    assert.ok(one.body.length < 140);
    assert.ok(!one.body.includes('hunter2'));
    // The same approvals are pending again, so nothing more is shown.
    await request(service, { pendingApprovals: [pending(1), pending(2, { taskId: task.id })] });
    assert.equal(notifications.length, 1);
    service.answer({ 'approvals.get': exampleOf('approvals.get', { id: pending(2).id }) });
    setHidden(false);
    one.onclick?.();
    await until(() => address() === `/approvals/${pending(2).id}`);
    assert.ok(one.isClosed);
  });

  test('a decision without a task shows neither its question nor its requester', async () => {
    const service = await openHidden();
    await request(service, { pendingApprovals: [pending(3)] });
    await until(() => notifications.length > 0);
    assert.deepEqual(shown(), ['Decision requested: Open it in the console.']);
    setHidden(false);
  });

  test('nothing is shown while this page is visible, and not later either', async () => {
    const service = await openHidden();
    setHidden(false);
    await request(service, { pendingApprovals: [pending(4)] });
    setHidden(true);
    await request(service, { pendingApprovals: [pending(4)] });
    assert.deepEqual(shown(), []);
    setHidden(false);
  });

  test('nothing is shown while another tab is visible', async () => {
    const service = await openHidden();
    const { promise, resolve } = Promise.withResolvers<void>();
    const held = navigator.locks.request('baton.visible', { mode: 'shared' }, () => promise);
    await request(service, { pendingApprovals: [pending(5)] });
    resolve();
    await held;
    assert.deepEqual(shown(), []);
    setHidden(false);
  });

  test('what another tab has shown is not shown again', async () => {
    const service = await openHidden();
    const recorded = [{ key: `decision ${pending(6).id}`, atMs: Date.now() }];
    localStorage.setItem('baton.notices', JSON.stringify(recorded));
    await request(service, { pendingApprovals: [pending(6), pending(7)] });
    await until(() => notifications.length > 0);
    assert.deepEqual(
      notifications.map(({ tag }) => tag),
      [`baton decision ${pending(7).id}`],
    );
    setHidden(false);
  });

  test('a broken record is replaced', async () => {
    const service = await openHidden();
    localStorage.setItem('baton.notices', '[{"key":5},null');
    await request(service, { pendingApprovals: [pending(8)] });
    await until(() => notifications.length > 0);
    setHidden(false);
  });

  test('after five in a minute one notification represents all others', async () => {
    const service = await openHidden();
    const many = Array.from({ length: 9 }, (_, at) => pending(at + 20));
    await request(service, { pendingApprovals: many });
    await until(() => notifications.length === 9);
    const more = notifications.filter(({ tag }) => tag === 'baton-more');
    assert.equal(more.length, 4);
    assert.deepEqual(shown().at(-1), 'More is pending: Open your inbox.');
    setHidden(false);
    more[0]?.onclick?.();
    await until(() => address() === '/inbox');
  });

  test('a task that somebody else assigns is shown; one that the person assigns, or of others, is not', async () => {
    const mine = taskWith({ title: 'Mine', assigneeId: meId });
    await openHidden({}, { 'tasks.get': mine });
    const assigned = (other: Partial<JournalEvent>, assigneeId = meId) =>
      brings(event('task.updated', { payload: { changes: { assigneeId } }, entityId: mine.id, ...other }));
    assigned({ id: pending(30).id, actorId: meId });
    assigned({ id: pending(31).id }, graceId);
    assigned({ id: pending(32).id });
    // Delivered twice.
    assigned({ id: pending(32).id });
    await until(() => notifications.length > 0);
    await handled();
    assert.deepEqual(shown(), [`Task assigned: Mine (${mine.publicId})`]);
    setHidden(false);
  });

  test('a task that was assigned again or completed meanwhile is not shown', async () => {
    const tasks: Record<string, Task> = {};
    for (const task of [
      taskWith({ assigneeId: graceId }),
      taskWith({ assigneeId: meId, systemStatusCategory: 'terminal_success' }),
      taskWith({ title: 'Still mine', assigneeId: meId }),
    ])
      tasks[task.id] = task;
    await openHidden({}, { 'tasks.get': ({ ids: [id = ''] }) => tasks[id] ?? taskWith() });
    for (const [at, entityId] of Object.keys(tasks).entries())
      brings(
        event('task.updated', {
          entityId,
          id: pending(40 + at).id,
          payload: { changes: { assigneeId: meId } },
        }),
      );
    await until(() => notifications.length > 0);
    await handled();
    assert.match(shown().join(), /^Task assigned: Still mine \([^,]+$/);
    setHidden(false);
  });

  test('a task that is created for the person is found among the newest', async () => {
    const [mine, older] = [taskWith({ title: 'New', assigneeId: meId }), taskWith({ assigneeId: meId })];
    const service = await openHidden({}, { 'tasks.get': mine, 'tasks.list': pageOf(mine, older) });
    for (const entityId of [mine.id, graceId]) brings(event('task.created', { entityId, payload: {} }));
    await until(() => notifications.length > 0);
    await handled();
    assert.deepEqual(shown(), [`Task assigned: New (${mine.publicId})`]);
    const looks = service.askedFor('tasks.list').filter(({ query }) => query['assigneeId'] === meId);
    assert.deepEqual(
      looks.map(({ query }) => query),
      [{ assigneeId: meId, limit: '50' }],
    );
    setHidden(false);
  });

  test('a control message to a run of the person is shown, without its text; to other runs it is not', async () => {
    const task = taskWith({ title: 'Deploy' });
    const run = exampleOf('harness.getContext').activeRuns[0] ?? assert.fail('the example has no run');
    const mine = { ...run, id: pending(50).id, taskId: task.id };
    await openHidden({ activeRuns: [mine] }, { 'tasks.get': task });
    const sent = (entityId: string, number: number) =>
      brings(
        event('run.control_message.accepted', {
          entityId,
          payload: { controlMessageId: pending(number).id, taskId: task.id, operation: 'steer' },
        }),
      );
    sent(pending(51).id, 52);
    sent(mine.id, 53);
    await until(() => notifications.length > 0);
    await handled();
    assert.deepEqual(shown(), [`Control message: Deploy (${task.publicId})`]);
    setHidden(false);
  });

  test('a text of somebody else that mentions the person is shown, without the text', async () => {
    const task = taskWith({ title: 'Read this' });
    await openHidden({}, { 'tasks.get': task });
    const mentioned = (other: Partial<JournalEvent>, principalIds = [graceId, meId]) =>
      brings(event('task.mentioned', { payload: { principalIds }, entityId: task.id, ...other }));
    mentioned({ id: pending(54).id, actorId: meId });
    mentioned({ id: pending(55).id }, [graceId]);
    mentioned({ id: pending(56).id });
    // Delivered twice.
    mentioned({ id: pending(56).id });
    await until(() => notifications.length > 0);
    await handled();
    assert.deepEqual(shown(), [`You were mentioned: Read this (${task.publicId})`]);
    setHidden(false);
  });

  test('a person who may not follow the journal is notified of decisions by the poll', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const permissions = meWith().permissions.filter((name) => name !== 'events.read');
    permit('granted');
    localStorage.setItem(storedName, meId);
    const service = await open('/account', { me: { permissions }, others: { '/console/account': token } });
    setHidden(true);
    service.answer({ 'harness.getContext': meWith({ permissions, pendingApprovals: [pending(60)] }) });
    t.mock.timers.tick(60_000);
    await until(() => notifications.length > 0);
    assert.deepEqual(shown(), ['Decision requested: Open it in the console.']);
    setHidden(false);
    notSeen('hunter2');
  });
});
