import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Claim, Run, Session } from '@baton/sdk';
import {
  type Answers,
  address,
  all,
  click,
  exampleOf,
  fill,
  find,
  isThere,
  itemOf,
  notSeen,
  open,
  pageOf,
  Refusal,
  see,
  seen,
  settled,
  test,
  until,
} from '../testing/page.ts';
import { graceId, taskWith } from '../testing/tasks.ts';

const { activityOf, isSilent } = await import('./activity.ts');

const evil = '<img src=x onerror="window.ran=1">';
const soon = () => new Date(Date.now() + 600_000).toISOString();
const now = () => new Date().toISOString();
const session = (other: Partial<Session> = {}): Session =>
  itemOf('sessions.list', {
    principalId: graceId,
    clientName: 'worker',
    clientVersion: '2.1',
    heartbeatAt: soon(),
    expiresAt: soon(),
    ...other,
  });
const claim = (other: Partial<Claim> = {}): Claim =>
  itemOf('claims.list', { holderId: graceId, expiresAt: soon(), ...other });
const run = (other: Partial<Run> = {}): Run =>
  itemOf('runs.list', { claimId: claim().id, status: 'running', cancelRequestedAt: null, ...other });
const task = taskWith({ title: `Work ${evil}` });

const atWork = (more: Answers = {}): Answers => ({
  'sessions.list': pageOf(session()),
  'claims.list': pageOf(claim({ taskId: task.id })),
  'runs.list': ({ query }) => (query['stalled'] === undefined ? pageOf(run()) : pageOf()),
  'tasks.get': task,
  ...more,
});

describe('agents and sessions', () => {
  test('without sessions it has an empty state', async () => {
    await open('/agents');
    await see('No active sessions');
  });

  test('shows active principals, their clients and their claimed tasks', async () => {
    await open('/agents', { answers: atWork() });
    await see('1 active · 1 claimed task');
    const [line] = all('listitem', /^Grace/);
    assert.match(seen(line), /Grace\nDisable\nworker 2\.1\s*Last heartbeat .*Session expires in/);
    assert.ok(seen(line).includes(`Work ${evil}`));
    assert.match(seen(line), /Lease expires in (10:00|9:\d\d) unless renewed/);
    assert.match(seen(line), /Last progress/);
    assert.equal(document.querySelector('img'), null);
  });

  test('a session that misses three heartbeats is shown as unresponsive, and matches the filter', async () => {
    const silent = session({
      heartbeatAt: new Date(Date.now() - 600_000).toISOString(),
      expiresAt: new Date(Date.now() + 50_000).toISOString(),
    });
    await open('/agents', { answers: atWork({ 'sessions.list': pageOf(silent) }) });
    await see('1 active · 1 claimed task · 1 session unresponsive');
    await see('Unresponsive, last heartbeat');
    await fill('combobox', 'Show', 'trouble');
    await see('Unresponsive, last heartbeat');
  });

  test('a run without progress is shown as stuck', async () => {
    await open('/agents', { answers: atWork({ 'runs.list': pageOf(run()) }) });
    await see('1 active · 1 claimed task · 1 run stalled');
    await see('Stalled, last progress');
  });

  test('a filter without matches is reported', async () => {
    await open('/agents', { answers: atWork({ 'sessions.list': pageOf(session({ heartbeatAt: soon() })) }) });
    await fill('combobox', 'Show', 'trouble');
    await see('Nobody matches this filter.');
    notSeen('Last heartbeat');
  });

  test('a run is cancellation requested', async () => {
    const service = await open('/agents', {
      answers: atWork({ 'runs.requestCancel': exampleOf('runs.requestCancel') }),
    });
    service.answer({
      'runs.list': ({ query }) =>
        query['stalled'] === undefined ? pageOf(run({ cancelRequestedAt: now() })) : pageOf(),
    });
    await click('button', 'Request cancellation');
    await see('cancellation requested');
    const [asked] = service.askedFor('runs.requestCancel');
    assert.deepEqual([asked?.ids, asked?.body], [[run().id], { reason: 'requested in the console' }]);
    assert.ok(!isThere('button', 'Request cancellation'));
  });

  test('a lease is ended', async () => {
    const service = await open('/agents', {
      answers: atWork({ 'claims.release': exampleOf('claims.release') }),
    });
    service.answer({ 'claims.list': pageOf() });
    await click('button', 'Release claim');
    await see('No claimed tasks.');
    assert.deepEqual(service.askedFor('claims.release')[0]?.body, { reason: 'ended in the console' });
  });

  test('a rejected action is shown next to the claim', async () => {
    await open('/agents', {
      answers: atWork({ 'claims.release': new Refusal(403, 'permission_denied', 'Not yours.') }),
    });
    await click('button', 'Release claim');
    assert.match(seen(all('listitem', /Lease expires/)[0]), /Not yours\.\npermission_denied/);
  });

  test('without the permission to manage claims, actions are hidden', async () => {
    await open('/agents', { me: { permissions: ['sessions.manage', 'tasks.read'] }, answers: atWork() });
    await see('Last progress');
    for (const name of ['Release claim', 'Request cancellation', 'Disable'])
      assert.ok(!isThere('button', name), name);
  });

  test('an agent is disabled after a confirmation that lists the effects', async () => {
    const service = await open('/agents', {
      answers: atWork({ 'principals.disable': exampleOf('principals.disable') }),
    });
    await click('button', 'Disable');
    await see('Disable Grace?');
    await see('This closes 1 session and releases 1 claim, so that others can claim the work.');
    service.answer({ 'sessions.list': pageOf(), 'claims.list': pageOf() });
    await click('button', 'Disable');
    await see('No active sessions');
    const [asked] = service.askedFor('principals.disable');
    assert.deepEqual([asked?.ids, asked?.body], [[graceId], { reason: 'disabled_in_console' }]);
  });

  test('cancelling disables nobody', async () => {
    const service = await open('/agents', { answers: atWork() });
    await click('button', 'Disable');
    await click('button', 'Cancel');
    await until(() => !isThere('alertdialog'));
    assert.equal(service.askedFor('principals.disable').length, 0);
    assert.equal(address(), '/agents');
  });

  test('idle agents are listed on demand', async () => {
    const agent = itemOf('principals.list', {
      id: 'x1',
      displayName: `Idle ${evil}`,
      kind: 'agent',
      status: 'active',
    });
    const off = { ...agent, id: 'x2', displayName: 'Off', status: 'disabled' as const };
    await open('/agents', { answers: { 'principals.list': pageOf(agent, off) } });
    (await find('summary', '1 idle agent')).click();
    await settled();
    await see(`Idle ${evil}`);
    assert.ok(isThere('button', `Disable Idle ${evil}`));
    notSeen('Off');
  });

  test('disabled agents are listed, and enabled again', async () => {
    const off = itemOf('principals.list', { id: graceId, displayName: `Off ${evil}`, status: 'disabled' });
    const service = await open('/agents', {
      answers: {
        'principals.list': pageOf({ ...off, kind: 'agent' }),
        'principals.enable': exampleOf('principals.enable'),
      },
    });
    (await find('summary', '1 disabled agent')).click();
    await settled();
    await see(`Off ${evil}`);
    await click('button', `Enable Off ${evil}`);
    assert.deepEqual(service.askedFor('principals.enable')[0]?.ids, [graceId]);
  });

  test('the confirmation of a disable describes the remaining access', async () => {
    await open('/agents', { answers: atWork() });
    await click('button', 'Disable');
    await see(/Its identity stays active and still gets access tokens for other services\./);
  });

  test('requires a permission; claimed tasks require the permission to read tasks', async () => {
    await open('/agents', { me: { permissions: ['tasks.read'] } });
    await see(
      "You don't have access to this page\nYou need the permission sessions.manage. Contact an administrator.",
    );
  });

  test('without the permission for tasks, the permission is shown', async () => {
    await open('/agents', {
      me: { permissions: ['sessions.manage'] },
      answers: { 'sessions.list': pageOf(session()) },
    });
    await see('Claimed tasks require the permission tasks.read.');
  });

  test('a failed query is reported, and retried on demand', async () => {
    const service = await open('/agents', {
      answers: { 'sessions.list': new Refusal(403, 'permission_denied', 'Not now.') },
    });
    await see('Not now.');
    service.answer(atWork());
    await click('button', 'Try again');
    await see('1 active');
  });
});

describe('active principals', () => {
  test('include holders without a loaded session', () => {
    const other = '0190b2c4-0000-7000-8000-0000000000f9';
    const activities = activityOf(
      [session()],
      [claim({ id: 'c1', holderId: other })],
      [run({ claimId: 'c1' })],
    );
    assert.deepEqual(
      activities.map(({ principalId, sessions, held }) => [principalId, sessions.length, held.length]),
      [
        [graceId, 1, 0],
        [other, 0, 1],
      ],
    );
    assert.equal(activities[1]?.held[0]?.run?.claimId, 'c1');
  });

  test('a session is unresponsive after three missed heartbeats, one per third of the lease', () => {
    const at = Date.parse('2026-03-02T09:00:00.000Z');
    const heard = (secondsAgo: number, leaseSeconds: number) =>
      session({
        heartbeatAt: new Date(at - secondsAgo * 1_000).toISOString(),
        expiresAt: new Date(at + (leaseSeconds - secondsAgo) * 1_000).toISOString(),
      });
    assert.deepEqual(
      [heard(20, 60), heard(54, 60), heard(55, 60), heard(55, 300), heard(200, 300), heard(271, 300)].map(
        (one) => isSilent(one, at),
      ),
      [false, false, true, false, false, true],
    );
  });
});
