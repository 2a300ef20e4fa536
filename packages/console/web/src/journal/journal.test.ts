import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { JournalEvent } from '@baton/sdk';
import { approvalWith } from '../testing/approvals.ts';
import {
  type Answers,
  address,
  all,
  click,
  copied,
  exampleOf,
  fill,
  find,
  isThere,
  itemOf,
  meId,
  open,
  press,
  Refusal,
  see,
  seen,
  settled,
  sockets,
  submit,
  test,
  until,
} from '../testing/page.ts';
import { answersOf, graceId, taskWith } from '../testing/tasks.ts';

const evil = '<img src=x onerror="window.ran=1">';
let last = 0;
const event = (type: string, other: Partial<JournalEvent> = {}): JournalEvent => {
  last += 1;
  return itemOf('events.list', {
    id: `event-${last}`,
    cursor: `ec1_c${last}`,
    type,
    entityType: 'task',
    entityId: graceId,
    actorId: graceId,
    payload: {},
    occurredAt: new Date(Date.UTC(2026, 2, 2, 9, 0, last)).toISOString(),
    ...other,
  });
};
const page = (items: JournalEvent[], prevCursor: string | null = null) => ({
  items,
  nextCursor: 'ec1_end',
  hasMore: false,
  prevCursor,
});
const journalOf = (...items: JournalEvent[]): Answers => ({
  'events.list': ({ query }) => page(query['order'] === 'desc' ? items : []),
});
const types = () => [...document.querySelectorAll('main ol .type')].map((one) => one.textContent);

describe('the journal', () => {
  test('shows each event as a sentence with its code and time; untrusted text is no markup', async () => {
    const task = taskWith({ title: `Mend ${evil}` });
    await open('/journal', {
      answers: {
        ...answersOf(task),
        ...journalOf(
          event('task.claimed', {
            entityId: task.id,
            payload: { publicId: task.publicId, holderId: graceId },
          }),
          event('claim.expired', {
            actorId: null,
            entityType: 'claim',
            payload: { taskId: task.id, reason: 'expired' },
          }),
          event('task.made_available', { payload: { publicId: `TASK-7 ${evil}` } }),
        ),
        'tasks.get': ({ ids: [ref] }) => (ref === task.id ? task : new Refusal(404, 'not_found')),
      },
    });
    await see(`Grace claimed ${task.publicId} Mend ${evil}`);
    assert.match(seen(all('listitem', /task\.claimed/)[0]), /task\.claimed.* ago$/s);
    await see(`The claim on ${task.publicId} Mend ${evil} expired: its holder didn't renew the lease`);
    await see(`Grace made TASK-7 ${evil} available again`);
    assert.equal(document.querySelector('main img'), null);
  });

  test('shows the question of a decision, and the result of a run', async () => {
    const approval = approvalWith({ id: graceId, comment: 'May I run the migration?' });
    const run = exampleOf('runs.get', {
      id: meId,
      output: { summary: 'Fixed the race', commit: '3f2a91c' },
      startedAt: '2026-03-02T09:00:00.000Z',
      finishedAt: '2026-03-02T09:12:00.000Z',
      usage: { inputTokens: 1, outputTokens: 1, costs: [{ currency: 'USD', costMicros: 420_000 }] },
    });
    await open('/journal', {
      answers: {
        ...journalOf(
          event('approval.approved', {
            entityType: 'approval',
            payload: { decisionBy: meId, comment: 'Go' },
          }),
          event('run.succeeded', { entityType: 'run', entityId: run.id, payload: { taskId: graceId } }),
        ),
        'approvals.get': approval,
        'runs.get': run,
        'tasks.get': taskWith({ publicId: 'TASK-000007', title: 'Mend it' }),
      },
    });
    await see('Ada approved May I run the migration?: Go');
    await see('Grace finished TASK-000007 Mend it: Fixed the race, commit 3f2a91c, 12 min, $0.42');
    (await find('summary', /^Ada approved/)).click();
    await settled();
    assert.equal((await find('link', 'Open approval')).getAttribute('href'), `/approvals/${graceId}`);
  });

  test('an event whose names are not readable is shown with those in its payload', async () => {
    await open('/journal', {
      answers: {
        ...journalOf(event('task.claimed', { payload: { publicId: 'TASK-000007', holderId: graceId } })),
        'tasks.get': new Refusal(404, 'not_found'),
        'principals.get': new Refusal(403, 'permission_denied'),
      },
    });
    await see('000000cc claimed TASK-000007');
  });

  test('has an empty state', async () => {
    await open('/journal');
    await see('No events match these filters\nEvents appear here as they happen.');
  });

  test('an opened event links to its object, its object at that time, its type and its actor, and shows its payload', async () => {
    await open('/journal', { answers: journalOf(event('task.updated', { payload: { note: 'as it is' } })) });
    (await find('summary', /task\.updated/)).click();
    await settled();
    const hrefs = Object.fromEntries(
      [...document.querySelectorAll('main li details > div a')].map((one) => [
        one.textContent,
        decodeURIComponent(one.getAttribute('href') ?? ''),
      ]),
    );
    assert.deepEqual(hrefs, {
      'View task at this event': `/journal?object=${graceId}&at=ec1_c${last}`,
      'Open task': `/tasks/${graceId}`,
      'All events of this task': `/journal?object=${graceId}`,
      'All task.updated events': '/journal?types=task.updated',
      'All events by Grace': `/journal?actor=${graceId}`,
    });
    await see('"note": "as it is"');
    await click('button', 'Copy code');
    assert.deepEqual(copied, ['task.updated']);
    await see('Copied');
  });

  test('queries the parameters of the URL, and drops unknown ones', async () => {
    const service = await open(`/journal?types=task.,run.&object=${graceId}&actor=${meId}&other=1`);
    const [asked] = service.askedFor('events.list').filter(({ query }) => query['order'] === 'desc');
    assert.deepEqual(asked?.query, {
      limit: '200',
      order: 'desc',
      tail: '200',
      types: 'task.,run.',
      entityId: graceId,
      actorId: meId,
    });
  });

  test('unknown filters in the URL are ignored', async () => {
    const service = await open('/journal?object=x&actor=x&at=x');
    const [asked] = service.askedFor('events.list').filter(({ query }) => query['order'] === 'desc');
    assert.deepEqual(asked?.query, { limit: '200', order: 'desc', tail: '200' });
    assert.ok(!isThere('alert'));
  });

  test('is filtered by type, by the name of a task and by an actor, all stored in the URL', async () => {
    const task = taskWith();
    await open('/journal', { answers: { ...answersOf(task), ...journalOf(event('task.updated')) } });
    await fill('textbox', 'Event types (prefixes)', ' task. ');
    await fill('textbox', 'Object (task or ID)', task.publicId);
    await submit('textbox', 'Event types (prefixes)');
    assert.equal(decodeURIComponent(address()), `/journal?types=task.&object=${task.id}`);
    await fill('combobox', 'Actor', graceId);
    assert.equal(decodeURIComponent(address()), `/journal?types=task.&object=${task.id}&actor=${graceId}`);
    await click('button', 'Clear');
    assert.equal(address(), '/journal');
  });

  test('a missing task is reported, and the filters stay', async () => {
    await open('/journal', {
      answers: { 'tasks.get': new Refusal(404, 'not_found', 'There is no such task.') },
    });
    await fill('textbox', 'Object (task or ID)', 'TASK-9');
    await submit('textbox', 'Object (task or ID)');
    await see('There is no such task.\nnot_found · req_test');
    assert.equal(address(), '/journal');
  });

  test('older events load page by page', async () => {
    const [newer, older] = [event('task.updated'), event('task.created')];
    const service = await open('/journal', {
      answers: {
        'events.list': ({ query }) =>
          query['order'] !== 'desc'
            ? page([])
            : query['before'] === 'ec1_old'
              ? page([older])
              : page([newer], 'ec1_old'),
      },
    });
    assert.deepEqual(types(), ['task.updated']);
    await click('button', 'Load older events');
    assert.deepEqual(types(), ['task.updated', 'task.created']);
    assert.ok(!isThere('button', 'Load older events'));
    assert.ok(
      service
        .askedFor('events.list')
        .some(({ query }) => query['before'] === 'ec1_old' && query['tail'] === undefined),
    );
  });

  test('new events that match the filters are prepended while it is open', async () => {
    await open('/journal?types=task.', { answers: journalOf(event('task.created')) });
    await until(() => sockets.length > 0);
    sockets.at(-1)?.brings(event('run.started', { entityType: 'run' }));
    sockets.at(-1)?.brings(event('task.comment_added', { entityType: 'comment' }));
    await see('task.comment_added');
    assert.deepEqual(types(), ['task.comment_added', 'task.created']);
  });

  test('p pauses it, and the events of the pause appear when it resumes', async () => {
    const first = event('task.created');
    const service = await open('/journal', { answers: journalOf(first) });
    await press('p');
    assert.equal((await find('button', 'Resume')).getAttribute('aria-pressed'), 'true');
    service.answer(journalOf(event('task.updated'), first));
    await press('p');
    await until(() => types().length === 2);
    assert.deepEqual(types(), ['task.updated', 'task.created']);
    assert.ok(isThere('button', 'Pause'));
  });

  test('/ focuses its filter, j and k navigate its lines', async () => {
    await open('/journal', { answers: journalOf(event('task.updated'), event('task.created')) });
    await press('j');
    assert.match(document.activeElement?.textContent ?? '', /task\.updated/);
    await press('j');
    assert.match(document.activeElement?.textContent ?? '', /task\.created/);
    await press('k', '/');
    assert.equal(document.activeElement?.id, 'journal-types');
  });

  test('is shown to those with the permission', async () => {
    const service = await open('/journal', { me: { permissions: ['tasks.read'] } });
    await see(
      "You don't have access to this page\nYou need the permission events.read. Contact an administrator.",
    );
    await see('Acme · not live');
    assert.equal(service.askedFor('events.list').length, 0);
  });
});

describe('the state of an object after an event', () => {
  const id = '0190b2c4-0000-7000-8000-0000000000b1';
  const claimId = '0190b2c4-0000-7000-8000-0000000000b2';
  const of = (type: string, payload: Record<string, unknown>) => event(type, { entityId: id, payload });
  const events = [
    of('task.created', { publicId: 'TASK-000042', title: 'First title', status: 'open', priority: 'low' }),
    of('task.claimed', { claimId, holderId: graceId, status: 'in_progress' }),
    of('task.updated', { changes: { title: `Second ${evil}` } }),
  ];
  /** Returns pages as the service does. */
  const history: Answers = {
    'events.list': ({ query }) => {
      if (query['entityId'] !== id) return page([]);
      const cursors = events.map(({ cursor }) => cursor);
      if (query['before'] !== undefined)
        return page(events.slice(0, Math.max(cursors.indexOf(query['before']), 0)));
      return page(events.slice(cursors.indexOf(query['cursor'] ?? '') + 1).slice(0, 1));
    },
  };
  const at = (place: number) => `/journal?object=${id}&at=${events[place]?.cursor}`;
  const fact = (name: string) =>
    seen(
      [...document.querySelectorAll('main dl > div')]
        .find((one) => one.querySelector('dt')?.textContent === name)
        ?.querySelector('dd') as Element,
    );

  test('is reconstructed from its events, with new values marked', async () => {
    await open(at(1), { answers: history });
    await find('heading', /^TASK-000042 First title as of Mar 2, 2026/);
    assert.equal(fact('status'), 'in_progress changed by this event');
    assert.match(fact('title'), /^First title .* ago$/);
    await until(() => fact('holder') === 'Grace');
    await see('Event 2');
    assert.equal(document.title, 'TASK-000042 First title at an earlier event · Baton');
  });

  test('j and k navigate its events, and the newest is marked', async () => {
    await open(at(1), { answers: history });
    await press('k');
    await find('heading', /Second <img .* as of/);
    await see('Event 3 (latest)');
    assert.ok((await find<HTMLButtonElement>('button', 'Next event')).disabled);
    await press('j');
    await press('j');
    await see('Event 1');
    assert.equal(fact('holder'), 'None');
    assert.ok((await find<HTMLButtonElement>('button', 'Previous event')).disabled);
    assert.equal(decodeURIComponent(address()), at(0));
  });

  test('a claim that had ended by then has no holder', async () => {
    const released = event('claim.released', { entityId: claimId, entityType: 'claim' });
    await open(at(2), {
      answers: {
        'events.list': (asked) =>
          asked.query['entityId'] === claimId
            ? page([released])
            : (history['events.list'] as (one: typeof asked) => ReturnType<typeof page>)(asked),
      },
    });
    await until(() => fact('holder') === 'None');
  });

  test('a missing event is reported, with a link to the existing ones', async () => {
    await open(`/journal?object=${id}&at=ec1_none`, { answers: history });
    await see('Event not found');
    assert.equal((await find('link', 'all of its events')).getAttribute('href'), `/journal?object=${id}`);
  });
});
