import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { HarnessContext } from '@baton/sdk';
import { approvalWith, subjectWith } from '../testing/approvals.ts';
import {
  all,
  click,
  exampleOf,
  fill,
  find,
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
  test,
} from '../testing/page.ts';
import { graceId, taskWith } from '../testing/tasks.ts';

const evil = '<img src=x onerror="window.ran=1">';

type Pending = HarnessContext['pendingApprovals'][number];
const pending = (id: string, other: Partial<Pending> = {}): Pending => ({
  id: `0190b2c4-0000-7000-8000-${id.padStart(12, '0')}`,
  taskId: null,
  artifactId: null,
  requestedBy: graceId,
  gate: false,
  comment: 'May I release?',
  createdAt: '2026-03-02T09:00:00.000Z',
  ...other,
});

describe('the inbox', () => {
  test('an empty inbox is reported', async () => {
    await open('/inbox');
    assert.ok(isThere('heading', 'No pending approvals'));
    assert.ok(!isThere('button', 'Approve'));
    assert.equal(document.title, 'Inbox · Baton');
  });

  test('a request is shown with its requester, task and effects', async () => {
    const [title, description] = ['Release 2.4', 'x'.repeat(500)];
    const task = taskWith({ title, description });
    await open('/inbox', {
      me: { pendingApprovals: [pending('1', { taskId: task.id, gate: true })] },
      answers: {
        'tasks.get': task,
        'approvals.get': approvalWith({
          taskId: task.id,
          subject: subjectWith('asked', { title, description }),
        }),
      },
    });
    await see('May I release?');
    await see(/Grace · .* · the task is on hold until it is decided/);
    await see(new RegExp(`${task.publicId}\\s*open`));
    await see(`Title\nRelease 2.4\nDescription\n${'x'.repeat(500)}\n`);
    const link = await find('link', 'Inbox1 pending');
    assert.equal(link.getAttribute('href'), '/inbox');
  });

  for (const [button, operation, status] of [
    ['Approve', 'approvals.approve', 'approved'],
    ['Reject', 'approvals.reject', 'rejected'],
  ] as const)
    test(`${button} decides it, with a comment and an idempotency key, and removes it from the inbox`, async () => {
      const one = pending('1');
      const service = await open('/inbox', {
        me: { pendingApprovals: [one] },
        answers: {
          [operation]: () => {
            service.answer({ 'harness.getContext': meWith() });
            return exampleOf(operation, { status });
          },
        },
      });
      await fill('textbox', 'Comment on the decision', 'Go on.');
      await click('button', button);
      await see('No pending approvals');
      await see(`You ${status} the request.`);
      const [asked] = service.askedFor(operation);
      assert.deepEqual(
        [asked?.ids, asked?.body],
        [[one.id], { comment: 'Go on.', subjectDigest: 'sha256:asked' }],
      );
      assert.ok(asked?.headers.get('idempotency-key'));
    });

  test('a decision without a comment sends none', async () => {
    const service = await open('/inbox', {
      me: { pendingApprovals: [pending('1')] },
      answers: { 'approvals.approve': exampleOf('approvals.approve') },
    });
    await click('button', 'Approve');
    assert.deepEqual(service.askedFor('approvals.approve')[0]?.body, { subjectDigest: 'sha256:asked' });
  });

  test('a lost race shows the decider and the decision', async () => {
    const one = pending('1');
    await open('/inbox', {
      me: { pendingApprovals: [one] },
      answers: {
        'approvals.approve': new Refusal(409, 'approval_already_decided', 'It is decided.'),
        'approvals.get': approvalWith({ status: 'rejected', decisionByPrincipalId: graceId }),
      },
    });
    await click('button', 'Approve');
    await see('Grace already decided this request: rejected.');
  });

  test('any other error is shown next to the request, with its code', async () => {
    await open('/inbox', {
      me: { pendingApprovals: [pending('1')] },
      answers: { 'approvals.reject': new Refusal(403, 'permission_denied', 'You may not decide it.') },
    });
    await click('button', 'Reject');
    assert.match(seen(await find('article')), /You may not decide it\.\npermission_denied · req_test/);
  });

  test('j and k navigate the decisions', async () => {
    await open('/inbox', {
      me: { pendingApprovals: [pending('1', { comment: 'One' }), pending('2', { comment: 'Two' })] },
    });
    const at = () => all('article').findIndex((one) => one.contains(document.activeElement));
    await press('j');
    assert.equal(at(), 0);
    await press('j', 'j');
    assert.equal(at(), 1);
    await press('k');
    assert.equal(at(), 0);
    assert.equal(document.activeElement?.textContent, 'Approve');
  });

  test("j focuses the beginning of a request that does not fit on the screen, so Enter doesn't decide it", async () => {
    const service = await open('/inbox', { me: { pendingApprovals: [pending('1'), pending('2')] } });
    const [first, second] = all('article');
    assert.ok(first !== undefined && second !== undefined);
    Object.defineProperty(first, 'offsetHeight', { value: 10_000 });
    await press('j');
    assert.ok(document.activeElement === first, 'the request itself has the focus');
    await press('Enter');
    assert.equal(service.askedFor('approvals.approve').length, 0);
    await press('j');
    assert.equal(document.activeElement?.textContent, 'Approve');
    assert.ok(second.contains(document.activeElement));
  });

  test('requests pending with others are shown with their deciders', async () => {
    const approval = (id: string, comment: string, assignedPrincipalId: string | null) => {
      const subjectChanged = assignedPrincipalId === null;
      const about = { taskId: null, artifactId: null, subjectChanged };
      return itemOf('approvals.list', { id, comment, assignedPrincipalId, ...about });
    };
    await open('/inbox', {
      answers: {
        'approvals.list': pageOf(approval('a1', 'For Grace', graceId), approval('a2', 'For a role', null)),
      },
    });
    const [first, second] = all('listitem', /^For /);
    assert.match(seen(first), /^For Grace\n.*\nPending a decision by Grace\nShow details$/);
    assert.match(
      seen(second),
      /Pending a decision by a holder of the required role\n⚠ Changed since it was requested\.\nShow details$/,
    );
    const link = await find('link', 'Show details', first);
    assert.equal(link.getAttribute('href'), '/approvals/a1');
  });

  test('a request that is pending with this person is shown once', async () => {
    const one = pending('1');
    const listed = itemOf('approvals.list', {
      id: one.id,
      comment: one.comment,
      taskId: null,
      artifactId: null,
    });
    await open('/inbox', {
      me: { pendingApprovals: [one] },
      answers: { 'approvals.list': pageOf(listed) },
    });
    assert.equal(seen().split('May I release?').length, 2);
    assert.ok(!isThere('heading', 'Pending with others'));
  });

  test('without the permission to read approvals, only the own ones are shown', async () => {
    const service = await open('/inbox', { me: { permissions: ['tasks.read'] } });
    assert.equal(service.askedFor('approvals.list').length, 0);
    assert.ok(!isThere('heading', 'Pending with others'));
  });

  test('the previous work is loaded when it is opened', async () => {
    const task = taskWith();
    const context = exampleOf('runs.getContext');
    const [checkpoint] = context.checkpoints;
    assert.ok(checkpoint);
    const service = await open('/inbox', {
      me: { pendingApprovals: [pending('1', { taskId: task.id })] },
      answers: {
        'tasks.get': task,
        'runs.list': ({ query }) =>
          query['taskId'] === undefined
            ? pageOf()
            : pageOf(
                itemOf('runs.list', {
                  attempt: 2,
                  status: 'suspended',
                  principalId: graceId,
                  failureReason: null,
                }),
              ),
        'runs.getContext': {
          ...context,
          checkpoints: [
            { ...checkpoint, kind: 'late', data: { step: 'two' }, createdAt: '2026-03-02T09:05:00.000Z' },
            { ...checkpoint, kind: 'early', data: { step: 'one' }, createdAt: '2026-03-02T09:00:00.000Z' },
          ],
        },
      },
    });
    assert.equal(service.askedFor('runs.getContext').length, 0);
    (await find('summary', 'Work so far')).click();
    await see(/Attempt 2 of Grace: suspended/);
    await see(/Last checkpoint: late .*\nstep\ntwo/);
  });

  test('an artifact that is to be approved is shown', async () => {
    const artifact = exampleOf('artifacts.get', { name: 'the plan', type: 'plan', content: { cost: '12' } });
    await open('/inbox', {
      me: { pendingApprovals: [pending('1', { artifactId: artifact.id, comment: '' })] },
      answers: { 'artifacts.get': artifact },
    });
    await see('Approval requested, without a comment.');
    await see('the plan (plan)\ncost\n12');
  });

  test('pending control messages are shown; those of ended runs are not', async () => {
    const runId = '0190b2c4-0000-7000-8000-0000000000d1';
    const event = (type: string, controlMessageId: string) =>
      itemOf('events.list', {
        id: `${type}${controlMessageId}`,
        type,
        entityId: runId,
        payload: { controlMessageId },
      });
    const message = (id: string, other: object) =>
      itemOf('runs.listControlMessages', {
        id,
        runId,
        status: 'accepted',
        requestedByPrincipalId: meId,
        ...other,
      });
    await open('/inbox', {
      answers: {
        'tasks.get': taskWith({ title: 'Steered' }),
        'events.list': ({ query }) => ({
          items:
            query['types'] === 'run.control_message.'
              ? [
                  event('run.control_message.accepted', 'm1'),
                  event('run.control_message.accepted', 'm2'),
                  event('run.control_message.applied', 'm2'),
                ]
              : [],
          nextCursor: 'ec1_end',
          hasMore: false,
        }),
        'runs.get': exampleOf('runs.get', { id: runId, status: 'running' }),
        'runs.listControlMessages': exampleOf('runs.listControlMessages', {
          items: [
            message('m1', { operation: 'steer', directive: `Mind the ${evil}` }),
            message('m2', { operation: 'queue', directive: 'Ended', status: 'applied' }),
          ],
        }),
      },
    });
    await see(`Steer: Mind the ${evil}`);
    await see(/Ada · .* · Steered/);
    assert.ok(!seen().includes('Ended'));
  });

  test('suspended runs that nobody has resumed, and suspended processes, are on hold', async () => {
    const task = taskWith({ title: 'On hold here' });
    const goneOn = itemOf('runs.list', {
      id: '0190b2c4-0000-7000-8000-0000000000d2',
      status: 'suspended',
      taskId: graceId,
    });
    const run = itemOf('runs.list', {
      id: '0190b2c4-0000-7000-8000-0000000000d3',
      status: 'suspended',
      taskId: task.id,
      attempt: 3,
      principalId: graceId,
      metadata: { suspendReason: 'waits_for_parts' },
    });
    const instance = itemOf('processInstances.list', {
      definitionKey: 'change',
      instanceKey: 'CHG-1',
      status: 'suspended',
    });
    await open('/inbox', {
      answers: {
        'tasks.get': task,
        'runs.list': ({ query }) =>
          query['status'] === 'suspended'
            ? pageOf(goneOn, run)
            : query['taskId'] === task.id
              ? pageOf(run)
              : pageOf(itemOf('runs.list')),
        'processInstances.list': pageOf(instance),
      },
    });
    await see(
      /Grace suspended attempt 3 .* \(waits for parts\)\. The next holder resumes from its last checkpoint\./,
    );
    assert.equal(all('listitem', /suspended attempt/).length, 1);
    await see('change CHG-1');
    await see(/Process suspended .*\. Open it to resume or cancel it\./);
  });

  test('unclaimed blocked tasks are on hold, except those with a pending decision of this person', async () => {
    const blocked = (title: string, other: Parameters<typeof taskWith>[0] = {}) =>
      taskWith({ title, status: 'blocked', systemStatusCategory: 'blocked', ...other });
    const stuck = blocked(`Stuck ${evil}`);
    const [held, asked] = [blocked('Is held', { activeClaimId: graceId }), blocked('Pending with me')];
    const service = await open('/inbox', {
      me: { pendingApprovals: [pending('1', { taskId: asked.id })] },
      answers: { 'tasks.list': pageOf(stuck, held, asked), 'tasks.get': asked },
    });
    await see(/Blocked, updated .*\. Nobody is offered the task until it is moved to an open status\./);
    assert.equal(all('listitem', /Blocked, updated/).length, 1);
    assert.equal((await find('link', `Stuck ${evil}`)).getAttribute('href'), `/tasks/${stuck.publicId}`);
    assert.equal(service.askedFor('tasks.list')[0]?.query['systemStatusCategory'], 'blocked');
  });

  test('failed queries are reported, and the rest stays', async () => {
    await open('/inbox', {
      me: { pendingApprovals: [pending('1')] },
      answers: { 'processInstances.list': new Refusal(403, 'permission_denied', 'Not these.') },
    });
    await see('Not these.');
    await see('May I release?');
  });

  test('untrusted text is shown verbatim', async () => {
    await open('/inbox', { me: { pendingApprovals: [pending('1', { comment: evil })] } });
    await see(evil);
    assert.equal(document.querySelector('img'), null);
  });
});
