import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { BatonError } from '@baton/sdk';
import { click, draw, find, isThere, itemOf, notSeen, see, seen, test } from '../testing/page.ts';
import { taskWith } from '../testing/tasks.ts';

const { Countdown, Moment } = await import('./Moment.tsx');
const { Empty, ErrorNote, Loading } = await import('./Notes.tsx');
const { Priority, Status } = await import('./Category.tsx');
const { Values } = await import('./Values.tsx');
const { serverNow, setServerClock } = await import('../server-clock.ts');
const { factsOf } = await import('../journal/object-at-event.ts');
const { subjectOf } = await import('../journal/EventLine.tsx');
const { Refetches } = await import('../refetches.ts');

const inSeconds = (seconds: number) => new Date(serverNow() + seconds * 1000).toISOString();

describe('times', () => {
  for (const [seconds, words] of [
    [-30 * 60 - 1, '30 minutes ago'],
    [-3 * 3600 - 1, '3 hours ago'],
    [-2 * 86_400 - 60, '2 days ago'],
    [5 * 3600 + 600, 'in 5 hours'],
  ] as const)
    test(`an instant ${seconds} s from now is shown as ${words}`, async () => {
      await draw(Moment, { at: inSeconds(seconds) });
      assert.equal(seen(), words);
    });

  test('an instant has its exact time on hover and for programs', async () => {
    await draw(Moment, { at: '2026-03-02T09:00:00.000Z' });
    const time = document.querySelector('time');
    assert.equal(time?.getAttribute('datetime'), '2026-03-02T09:00:00.000Z');
    assert.match(time?.title ?? '', /^Mar 2, 2026, /);
  });

  test('a countdown counts minutes and seconds, and never below zero', async () => {
    await draw(Countdown, { to: inSeconds(600) });
    assert.match(seen(), /^(10:00|9:\d\d)$/);
    await draw(Countdown, { to: inSeconds(-600) });
    assert.equal(seen(), '0:00');
  });

  test("if Baton's clock is an hour behind, it applies", async (t) => {
    const nowMs = Date.parse('2026-03-02T09:00:00.000Z');
    t.mock.method(Date, 'now', () => nowMs);
    setServerClock(new Date(nowMs - 3_600_000).toUTCString());
    assert.equal(serverNow(), nowMs - 3_600_000);
    await draw(Countdown, { to: new Date(nowMs - 3_600_000 + 599_000).toISOString() });
    assert.equal(seen(), '9:59');
  });

  test("a difference of less than two seconds and an invalid date don't change the clock", (t) => {
    const nowMs = Date.parse('2026-03-02T09:00:00.000Z');
    t.mock.method(Date, 'now', () => nowMs);
    setServerClock(new Date(nowMs + 1_900).toISOString());
    assert.equal(serverNow(), nowMs);
    setServerClock(new Date(nowMs + 7_200_000).toUTCString());
    setServerClock(null);
    setServerClock('yesterday');
    assert.equal(serverNow(), nowMs + 7_200_000);
  });
});

describe('notes', () => {
  test('an error is shown with its message, code and request ID', async () => {
    const error = new BatonError({
      status: 409,
      code: 'version_conflict',
      message: 'Changed meanwhile.',
      requestId: 'req_9',
    });
    await draw(ErrorNote, { error });
    assert.equal(seen(await find('alert')), 'Changed meanwhile.\nversion_conflict · req_9');
    assert.ok(!isThere('button'));
  });

  test('an internal error is shown without details, with a retry button', async () => {
    let tries = 0;
    await draw(ErrorNote, { error: new TypeError('x is undefined'), onRetry: () => void (tries += 1) });
    await see('Something went wrong. Reload the page.');
    notSeen('x is undefined');
    await click('button', 'Try again');
    assert.equal(tries, 1);
  });

  test('an empty state shows the next step', async () => {
    await draw(Empty, { title: 'Nothing is here', children: 'Make one.' });
    assert.equal(seen(), 'Nothing is here\nMake one.');
    assert.ok(isThere('heading', 'Nothing is here'));
  });

  test('loading is announced to screen readers', async () => {
    await draw(Loading, {});
    assert.equal((await find('status', 'Loading')).textContent, '');
  });
});

describe('fields', () => {
  test('a status has its own name, the colour of its category, and a filled dot while the task is held', async () => {
    const task = taskWith({ status: 'waiting_for_parts', systemStatusCategory: 'blocked' });
    await draw(Status, { task });
    assert.equal(seen(), 'waiting for parts');
    const classes = () => document.querySelector('span')?.className.trim().split(' ');
    assert.deepEqual(classes(), ['status', 'blocked']);
    await draw(Status, { task: { ...task, activeClaimId: task.id } });
    assert.deepEqual(classes(), ['status', 'blocked', 'held']);
  });

  test('a priority is shown by name', async () => {
    await draw(Priority, { priority: 'critical' });
    assert.equal(seen(), 'critical');
  });

  test('members of an object are shown one per line: text verbatim, others as JSON, empty ones omitted', async () => {
    await draw(Values, { of: { name: '<b>A</b>', count: 0, none: null, empty: '', list: [1, 'two'] } });
    assert.equal(seen(), 'name\n<b>A</b>\ncount\n0\nlist\n[\n1,\n"two"\n]');
    assert.equal(document.querySelector('b'), null);
  });

  test('an object without members has an empty state, and a long text is truncated', async () => {
    await draw(Values, { of: { gone: null } });
    assert.equal(seen(), 'No values.');
    await draw(Values, { of: { long: 'x'.repeat(5_000) } });
    assert.equal(seen(), `long\n${'x'.repeat(4_000)} …`);
  });
});

describe('sentences of the journal', () => {
  const event = (payload: Record<string, unknown>, type = 'task.updated', entityType = 'task') =>
    itemOf('events.list', { type, entityType, payload });

  test("the name of an event's object comes from its payload, and is never an id", () => {
    const id = '0190b2c4-0000-7000-8000-0000000000ad';
    assert.equal(subjectOf(event({ publicId: 'TASK-000007', title: 'Mend it' })), 'TASK-000007 Mend it');
    assert.equal(subjectOf(event({ instanceKey: 'CHG-1', element: 'approve' })), 'CHG-1 approve');
    const nameless = { ...event({ name: id }, 'task_type.created', 'task_type'), entityId: id };
    assert.equal(subjectOf(nameless), 'task type 000000ad');
  });

  test('the state of an object follows from the last values of its events, without those of parts', () => {
    const created = event(
      { title: 'First', priority: 'low', assigneeId: null, reason: 'asked' },
      'task.created',
    );
    const changed = event({ changes: { title: 'Second', priority: null } });
    const comment = event({ title: 'of the comment' }, 'task.comment_added');
    const facts = factsOf([created, changed, comment]);
    assert.deepEqual(
      facts.map(({ name, value, from }) => [name, value, from.type]),
      [['title', 'Second', 'task.updated']],
    );
  });

  test('an object without a status has the state of its last event', () => {
    const facts = factsOf([event({ name: 'Desk' }, 'agent.state_changed', 'agent')]);
    assert.deepEqual(
      facts.map(({ name, value }) => [name, value]),
      [
        ['state', 'state changed'],
        ['name', 'Desk'],
      ],
    );
  });
});

test('a refetch requested during a refetch runs once more', async () => {
  const read: string[] = [];
  const done = Promise.withResolvers<void>();
  const refetches = new Refetches(
    async (key) => {
      read.push(key);
      if (read.length === 1) refetches.request(key);
      else done.resolve();
    },
    { gatherMs: 1, restTimes: 0, restMsMax: 1 },
  );
  for (let n = 0; n < 5; n += 1) refetches.request('tasks');
  await done.promise;
  refetches.stop();
  assert.deepEqual(read, ['tasks', 'tasks']);
});
