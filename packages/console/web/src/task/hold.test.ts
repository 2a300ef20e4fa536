import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { HarnessContext } from '@baton/sdk';
import {
  type Answers,
  click,
  exampleOf,
  fill,
  find,
  isThere,
  itemOf,
  meId,
  meWith,
  open,
  Refusal,
  see,
  settled,
  sockets,
  test,
  unseen,
  until,
} from '../testing/page.ts';
import { answersOf, graceId, taskWith } from '../testing/tasks.ts';

const { isOwnEnd } = await import('./lease-ends.ts');
const { holdsOf } = await import('./holds.ts');

const sessionId = '0190b2c4-0000-7000-8000-0000000000e1';
const claimId = '0190b2c4-0000-7000-8000-0000000000e2';

/** Returns a task that Ada has claimed in the console, and her context. */
function heldTask(): { task: ReturnType<typeof taskWith>; me: Partial<HarnessContext> } {
  const task = taskWith({ title: 'Held by me', activeClaimId: claimId, version: 3 });
  const example = exampleOf('harness.getContext');
  const [session] = example.activeSessions;
  const [claim] = example.activeClaims;
  assert.ok(session && claim);
  return {
    task,
    me: {
      activeSessions: [
        {
          ...session,
          id: sessionId,
          clientName: 'Baton console',
          status: 'active',
          startedAt: new Date().toISOString(),
        },
      ],
      activeClaims: [
        { ...claim, id: claimId, taskId: task.id, sessionId, fencingToken: 9, taskPublicId: task.publicId },
      ],
    },
  };
}

const kept: Answers = {
  'tasks.getClaimability': exampleOf('tasks.getClaimability', { claimable: false, reasons: [] }),
  'claims.get': exampleOf('claims.get', { id: claimId, holderId: meId, status: 'active' }),
  'claims.heartbeat': exampleOf('claims.heartbeat'),
  'sessions.heartbeat': exampleOf('sessions.heartbeat'),
  'sessions.close': exampleOf('sessions.close'),
};

describe('a task that this person holds', () => {
  test('the page keeps its lease and its session alive', async () => {
    const { task, me } = heldTask();
    const service = await open(`/tasks/${task.publicId}`, { me, answers: { ...answersOf(task), ...kept } });
    await see('This page renews the lease while it is open.');
    assert.deepEqual(service.askedFor('claims.heartbeat')[0]?.ids, [claimId]);
    assert.deepEqual(service.askedFor('sessions.heartbeat')[0]?.ids, [sessionId]);
    assert.ok(!isThere('button', 'Claim'));
  });

  test('it is completed with the fencing token, then the result is commented', async () => {
    const { task, me } = heldTask();
    const done = { ...task, status: 'done', systemStatusCategory: 'terminal_success' as const };
    const service = await open(`/tasks/${task.publicId}`, {
      me,
      answers: {
        ...answersOf(task),
        ...kept,
        'tasks.complete': done,
        'tasks.createComment': exampleOf('tasks.createComment'),
      },
    });
    await fill('textbox', /^Result/, 'The roof is whole.');
    await click('button', 'Complete');
    await see(`Completed ${task.publicId}.`);
    const [completed] = service.askedFor('tasks.complete');
    assert.deepEqual(completed?.body, { claimId, fencingToken: 9 });
    assert.equal(completed?.headers.get('if-match'), '"v-3"');
    assert.deepEqual(service.askedFor('tasks.createComment')[0]?.body, { body: 'The roof is whole.' });
    const names = service.asked.map(({ name }) => name);
    assert.ok(names.indexOf('tasks.complete') < names.indexOf('tasks.createComment'));
  });

  test('a completed task whose comment was rejected shows the comment', async () => {
    const { task, me } = heldTask();
    await open(`/tasks/${task.publicId}`, {
      me,
      answers: {
        ...answersOf(task),
        ...kept,
        'tasks.complete': { ...task, systemStatusCategory: 'terminal_success' },
        'tasks.createComment': new Refusal(422, 'validation_error', 'Too long.'),
      },
    });
    await fill('textbox', /^Result/, 'Not lost');
    await click('button', 'Complete');
    await see('Your comment was not saved: Not lost');
    await see('Too long.');
  });

  test('it is released with the reason, and its session is closed', async () => {
    const { task, me } = heldTask();
    const service = await open(`/tasks/${task.publicId}`, {
      me,
      answers: { ...answersOf(task), ...kept, 'claims.release': exampleOf('claims.release') },
    });
    await click('button', 'Release');
    await see(`Released ${task.publicId}.`);
    assert.deepEqual(service.askedFor('claims.release')[0]?.body, { reason: 'given back in the console' });
    assert.deepEqual(service.askedFor('sessions.close')[0]?.ids, [sessionId]);
  });

  test('a change of it sends the fencing token', async () => {
    const { task, me } = heldTask();
    const service = await open(`/tasks/${task.publicId}`, {
      me,
      answers: { ...answersOf(task), ...kept, 'tasks.update': { ...task, status: 'in_progress' } },
    });
    await click('button', 'In progress');
    assert.deepEqual(service.askedFor('tasks.update')[0]?.body, {
      status: 'in_progress',
      claimId,
      fencingToken: 9,
    });
  });

  test('a lost claim is reported with its cause, and the draft is kept', async () => {
    const { task, me } = heldTask();
    const service = await open(`/tasks/${task.publicId}`, { me, answers: { ...answersOf(task), ...kept } });
    await fill('textbox', /^Result/, 'Half is done');
    const ended = itemOf('events.list', {
      type: 'claim.released',
      entityType: 'claim',
      entityId: claimId,
      actorId: graceId,
    });
    service.answer({
      ...answersOf({ ...task, activeClaimId: null }),
      'harness.getContext': meWith(),
      'claims.get': exampleOf('claims.get', {
        id: claimId,
        status: 'released',
        releaseReason: 'needed elsewhere',
      }),
      'events.list': { items: [ended], nextCursor: 'ec1_end', hasMore: false },
      'tasks.createComment': exampleOf('tasks.createComment'),
    });
    await until(() => sockets.length > 0);
    sockets.at(-1)?.brings(ended);
    await see('You no longer hold this task. Grace released your claim (needed elsewhere).');
    await see(`You no longer hold ${task.publicId}.`);
    await see('your draft is kept below');
    assert.equal((await find<HTMLTextAreaElement>('textbox', /^Result/)).value, 'Half is done');
    await click('button', 'Post as comment');
    assert.deepEqual(service.askedFor('tasks.createComment')[0]?.body, { body: 'Half is done' });
    await unseen('You no longer hold this task.');
  });

  test('a session without a claimed task is closed after a while', async () => {
    const { me } = heldTask();
    const old = new Date(Date.now() - 120_000).toISOString();
    const sessions = me.activeSessions?.map((session) => ({ ...session, startedAt: old })) ?? [];
    const service = await open('/inbox', { me: { activeSessions: sessions }, answers: kept });
    await settled();
    assert.deepEqual(
      service.askedFor('sessions.close').map(({ ids }) => ids),
      [[sessionId]],
    );
  });
});

describe('the end of a claim', () => {
  test("only the console's own leases count as held in it", () => {
    const { me } = heldTask();
    assert.equal(holdsOf(meWith(me)).length, 1);
    const sessions = me.activeSessions?.map((session) => ({ ...session, clientName: 'another' })) ?? [];
    assert.deepEqual(holdsOf(meWith({ ...me, activeSessions: sessions })), []);
    assert.deepEqual(holdsOf(undefined), []);
  });

  for (const [reason, by, isOwn] of [
    ['completed', 'me', true],
    ['completed', null, true],
    ['completed', 'other', false],
    ['given back in the console', 'other', true],
    ['ended in the console', 'me', true],
    ['ended in the console', 'other', false],
    ['needed elsewhere', 'me', false],
    [null, null, false],
  ] as const)
    test(`${reason} by ${by} is ${isOwn ? 'no loss' : 'a loss'}`, () =>
      assert.equal(isOwnEnd(reason, by, 'me'), isOwn));
});
