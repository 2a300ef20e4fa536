import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Task } from '@baton/sdk';
import {
  type Answers,
  all,
  click,
  exampleOf,
  find,
  isThere,
  itemOf,
  meId,
  notSeen,
  open,
  pageOf,
  press,
  see,
  seen,
  test,
} from '../testing/page.ts';
import { answersOf, graceId, taskWith } from '../testing/tasks.ts';

const openTask = (task: Task, more: Answers = {}) =>
  open(`/tasks/${task.publicId}`, { answers: { ...answersOf(task), ...more } });
const part = (name: string) =>
  seen(all('region').find((one) => one.querySelector('h2')?.textContent === name));
const held = (...reasons: object[]): Answers => ({
  'tasks.getClaimability': exampleOf('tasks.getClaimability', {
    claimable: false,
    reasons: reasons as ReturnType<typeof exampleOf<'tasks.getClaimability'>>['reasons'],
  }),
});
const remedy = (act: string, path: string, method = 'POST') => ({
  act,
  method,
  path,
  permission: 'tasks.write',
  allowed: true,
});
const blockedReason = (id: string) => ({
  code: 'task_not_claimable',
  since: null,
  status: 'blocked',
  systemStatusCategory: 'blocked',
  remedies: [remedy('unblock', `/tasks/${id}`, 'PATCH')],
});

describe("a task that can't be claimed now", () => {
  test('blocked: shows why, the pending approver, and the remedies; never as ready to claim', async () => {
    const task = taskWith({ status: 'blocked', systemStatusCategory: 'blocked' });
    const approval = itemOf('approvals.list', {
      id: '0190b2c4-0000-7000-8000-0000000000a7',
      taskId: task.id,
      assignedPrincipalId: graceId,
      comment: 'Which account pays?',
    });
    const service = await openTask(task, {
      ...held(blockedReason(task.id)),
      'runs.list': pageOf(
        itemOf('runs.list', { principalId: graceId, status: 'failed', failureReason: 'blocked: no account' }),
      ),
      'tasks.listComments': pageOf(
        itemOf('tasks.listComments', { id: 'c1', body: 'An older word' }),
        itemOf('tasks.listComments', { id: 'c2', authorPrincipalId: graceId, body: 'I need the account.' }),
      ),
      'approvals.list': pageOf(approval),
    });
    const text = part('Blocked');
    assert.match(text, /^Blocked\nGrace stopped .*:\nblocked: no account\nGrace · .*\nI need the account\./);
    assert.match(text, /Pending approval by Grace: Which account pays\?/);
    assert.match(text, /The task cannot be offered or claimed until it is moved to an open status\./);
    assert.match(text, /Move the task to an open status\./);
    assert.ok(!text.includes('An older word'));
    assert.equal(
      (await find('link', 'Which account pays?')).getAttribute('href'),
      `/approvals/${approval.id}`,
    );
    assert.ok(!isThere('button', 'Claim'));
    for (const words of ['Ready to claim', 'Every eligible principal can claim it now.']) notSeen(words);
    const asked = service.askedFor('approvals.list').find(({ query }) => query['status'] !== undefined);
    assert.deepEqual([asked?.query['taskId'], asked?.query['status']], [task.id, 'pending']);
  });

  test('delayed: shows when it becomes available, and a click makes it available', async () => {
    const availableAt = new Date(Date.now() + 3_600_000).toISOString();
    const task = taskWith({ availableAt });
    const service = await openTask(task, {
      ...held({
        code: 'not_before',
        since: null,
        availableAt,
        remedies: [remedy('make_available', `/tasks/${task.id}:make-available`)],
      }),
      'tasks.makeAvailable': { ...task, availableAt: null },
    });
    assert.match(part('Not claimable yet'), /Available from .* \(in (1 hour|60 minutes|59 minutes)\)\./);
    assert.match(part('Details'), /Available\nin /);
    assert.ok(!isThere('button', 'Claim'));
    await click('button', 'Make available now');
    assert.deepEqual(service.askedFor('tasks.makeAvailable')[0]?.ids, [task.id]);
  });

  test('delayed: is refetched when the delay has ended', async () => {
    const availableAt = new Date(Date.now() + 1_000).toISOString();
    const task = taskWith({ availableAt });
    const service = await openTask(
      task,
      held({ code: 'not_before', since: null, availableAt, remedies: [] }),
    );
    await see('Available from');
    service.answer({
      'tasks.getClaimability': exampleOf('tasks.getClaimability', { claimable: true, reasons: [] }),
    });
    await see('Ready to claim');
    assert.equal(service.askedFor('tasks.getClaimability').length, 2);
  });

  test('on hold: shows that its attempts are exhausted, and no date', async () => {
    const availableAt = '9999-12-31T23:59:59.999Z';
    await openTask(
      taskWith({ availableAt }),
      held({ code: 'not_before', since: null, availableAt, remedies: [] }),
    );
    await see('All attempts have failed. The task is on hold until somebody makes it available.');
    notSeen('9999');
  });
});

describe('an assigned task', () => {
  test('shows that it is offered only to the assignee', async () => {
    await openTask(taskWith({ assigneeId: graceId }));
    await see('Baton offers this task to Grace only.');
    await see('Every eligible principal can claim it now, although Baton offers it to its assignee only.');
  });

  test('shows it to the assignee', async () => {
    await openTask(taskWith({ assigneeId: meId }));
    await see('Baton offers this task to you only.');
  });

  test('shows no note after it has ended', async () => {
    await openTask(
      taskWith({ assigneeId: graceId, status: 'done', systemStatusCategory: 'terminal_success' }),
    );
    notSeen('Baton offers this task');
  });

  test('warns if the assignee is disabled', async () => {
    await openTask(taskWith({ assigneeId: graceId }), {
      'principals.get': exampleOf('principals.get', {
        id: graceId,
        displayName: 'Grace',
        status: 'disabled',
      }),
    });
    await see(
      "Grace is disabled and can't claim this task, and Baton offers it to nobody else. Assign it to somebody else.",
    );
    await see('Grace (disabled)');
  });

  test('a button, or the key a, assigns it to an agent', async () => {
    const task = taskWith({ version: 7 });
    const agent = itemOf('principals.list', {
      id: graceId,
      displayName: 'Grace',
      kind: 'agent',
      status: 'active',
    });
    const service = await openTask(task, {
      'principals.list': pageOf(agent),
      'tasks.update': { ...task, assigneeId: graceId, version: 8 },
    });
    await press('a');
    await find('option', 'Grace (agent)');
    await see('Baton offers an assigned task to its assignee only.');
    await click('button', 'Cancel');
    await click('button', 'Assign …');
    const [field] = all('combobox', /^Assignee/) as HTMLSelectElement[];
    assert.ok(field);
    field.value = graceId;
    field.form?.requestSubmit();
    await see(/Assignee G Grace/);
    assert.deepEqual(service.askedFor('tasks.update')[0]?.body, { assigneeId: graceId });
  });
});
