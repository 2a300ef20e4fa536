import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Task } from '@baton/sdk';
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
  meId,
  open,
  pageOf,
  press,
  Refusal,
  see,
  seen,
  submit,
  test,
  until,
} from '../testing/page.ts';
import { answersOf, graceId, taskWith } from '../testing/tasks.ts';

async function openTask(
  task: Task,
  more: Answers = {},
  options: { permissions?: string[]; others?: Task[] } = {},
) {
  const { permissions, others = [] } = options;
  return open(`/tasks/${task.publicId}`, {
    answers: { ...answersOf(task, others), ...more },
    ...(permissions && { me: { permissions } }),
  });
}

/** Returns reasons why a task is not claimable. */
const held = (...reasons: ReturnType<typeof reason>[]): Answers => ({
  'tasks.getClaimability': exampleOf('tasks.getClaimability', { claimable: false, reasons }),
});
const reason = (code: string, act: string, path: string, allowed = true, permission = 'claims.manage') => ({
  code,
  since: null,
  remedies: [{ act, method: 'POST' as const, path, permission, allowed }],
});
const part = (name: string) =>
  seen(all('region').find((one) => one.querySelector('h2')?.textContent === name));

describe("a task's page", () => {
  test("shows the task's text, state and creator", async () => {
    const task = taskWith({
      title: 'Mend the roof',
      description: 'Before winter.',
      status: 'in_progress',
      priority: 'high',
      assigneeId: meId,
      dueDate: '2026-03-02T10:00:00.000Z',
      customFields: { building: 'North', floors: [1, 2] },
    });
    await openTask(task);
    assert.ok(isThere('heading', 'Mend the roof'));
    await see('Before winter.');
    await see(/in progress\s*high\s*Assignee A Ada/);
    assert.match(part('Details'), /Due\n.*\nCreated by\nGrace .*\nbuilding\nNorth\nfloors\n1, 2/);
    assert.equal(document.title, `${task.publicId} Mend the roof · Baton`);
  });

  test('a task with only a title has empty states', async () => {
    await openTask(taskWith());
    await see('No description.');
    await see('Unclaimed.');
    await see('Unassigned');
    await see('No activity of this kind yet.');
  });

  test('a missing one is reported with its code, and a link back', async () => {
    await open('/tasks/TASK-9', {
      answers: { 'tasks.get': new Refusal(404, 'not_found', 'There is no such task.') },
    });
    await see('There is no such task.');
    await see('not_found · req_test');
    await click('link', 'Back to Work');
    assert.equal(address(), '/');
  });

  test('shows links to its workspace and project', async () => {
    const workspace = exampleOf('workspaces.get', { name: 'Web shop' });
    await openTask(taskWith({ workspaceId: workspace.id, projectId: graceId }), {
      'workspaces.get': workspace,
    });
    assert.equal((await find('link', 'Web shop')).getAttribute('href'), `/?workspace=${workspace.id}`);
    assert.equal((await find('link', 'Open project')).getAttribute('href'), `/projects/${graceId}`);
  });

  test('shows the holder, the time of the claim, and the expiry of the lease', async () => {
    const claim = exampleOf('claims.get', {
      holderId: graceId,
      intent: 'I begin now',
      fencingToken: 7,
      expiresAt: new Date(Date.now() + 600_000).toISOString(),
    });
    await openTask(taskWith({ activeClaimId: claim.id }), { 'claims.get': claim, ...held() });
    assert.match(
      part('Holder'),
      /G Grace claimed .*\nI begin now\nThe lease expires in (10:00|9:\d\d) unless renewed; .* Fencing token 7\./,
    );
    await see(/Held by G Grace for (10:00|9:\d\d)/);
    assert.ok(!isThere('button', 'Complete'));
  });

  test('leads to the process step or the rule that made it', async () => {
    const origin = (other: Partial<Task['origin']>) => ({
      ...exampleOf('tasks.get').origin,
      evidence: [],
      ...other,
    });
    await openTask(
      taskWith({ origin: origin({ kind: 'process', ref: `process/${graceId}/review`, ruleId: null }) }),
      {
        'processInstances.get': exampleOf('processInstances.get', { instanceKey: 'CHG-1' }),
        'tasks.getForm': new Refusal(404, 'not_found'),
      },
    );
    assert.match(part('Details'), /Origin\nProcess CHG-1, step review/);
    assert.equal((await find('link', 'Process CHG-1')).getAttribute('href'), `/processes/${graceId}`);
  });

  test('leads to the rule that made it', async () => {
    const { origin } = exampleOf('tasks.get');
    await openTask(
      taskWith({ origin: { ...origin, evidence: [], kind: 'rule', ref: null, ruleId: graceId } }),
      {
        'rules.get': exampleOf('rules.get', { key: 'triage' }),
      },
    );
    assert.equal((await find('link', 'Rule triage')).getAttribute('href'), `/journal?object=${graceId}`);
  });
});

describe('the actions on a task', () => {
  test('it can be claimed only with the permissions', async () => {
    await openTask(taskWith());
    assert.ok(isThere('button', 'Claim'));
    await see('Every eligible principal can claim it now.');
  });

  test('without the permission to claim, the button is hidden', async () => {
    await openTask(taskWith(), {}, { permissions: ['tasks.read', 'sessions.open'] });
    assert.ok(!isThere('button', 'Claim'));
  });

  test('t claims it in a session of its own, and a rejection closes the session', async () => {
    const task = taskWith();
    const session = exampleOf('sessions.open');
    const service = await openTask(task, {
      'sessions.open': session,
      'sessions.close': exampleOf('sessions.close'),
      'tasks.claim': new Refusal(409, 'task_already_claimed', 'Grace was faster.'),
    });
    await press('t');
    await see('Grace was faster.');
    await see('task_already_claimed · req_test');
    assert.deepEqual(service.askedFor('sessions.open')[0]?.body, {
      clientName: 'Baton console',
      ttlSeconds: 300,
    });
    assert.deepEqual(service.askedFor('tasks.claim')[0]?.body, { sessionId: session.id, ttlSeconds: 300 });
    assert.deepEqual(service.askedFor('sessions.close')[0]?.ids, [session.id]);
  });

  test('it is moved with the shown version', async () => {
    const task = taskWith({ version: 5 });
    const service = await openTask(task, { 'tasks.update': { ...task, status: 'in_progress', version: 6 } });
    await click('button', 'In progress');
    const [asked] = service.askedFor('tasks.update');
    assert.deepEqual(
      [asked?.ids, asked?.body, asked?.headers.get('if-match')],
      [[task.id], { status: 'in_progress' }, '"task-5"'],
    );
  });

  test('a terminal status is reached by completing', async () => {
    const task = taskWith();
    const service = await openTask(task, { 'tasks.complete': { ...task, status: 'done' } });
    await click('button', 'Done');
    assert.equal(service.askedFor('tasks.complete').length, 1);
    assert.equal(service.askedFor('tasks.update').length, 0);
  });

  test('a version conflict shows the concurrent change and its author, and restores the status', async () => {
    const task = taskWith({ status: 'ready' });
    const event = itemOf('events.list', {
      actorId: graceId,
      payload: { version: task.version, changes: { priority: 'critical' } },
    });
    await openTask(task, {
      'tasks.update': new Refusal(409, 'version_conflict'),
      'events.list': { items: [event], nextCursor: 'ec1_end', hasMore: false },
    });
    await click('button', 'In progress');
    await see(/Grace changed this task \(priority: critical\)/);
    await see(/Your change was not saved\./);
    await see(/ready\s*medium/);
  });

  test('any other rejected move shows the code', async () => {
    await openTask(taskWith(), {
      'tasks.update': new Refusal(422, 'validation_error', 'It has no assignee.'),
    });
    await click('button', 'In progress');
    await see('It has no assignee.\nvalidation_error · req_test');
  });

  test('a task without transitions has no buttons for them', async () => {
    await openTask(taskWith(), {
      'tasks.listTransitions': exampleOf('tasks.listTransitions', { targets: [] }),
    });
    assert.ok(!isThere('group', 'Status'));
  });

  test('e opens the form, and only changed fields are sent', async () => {
    const task = taskWith({ title: 'To be changed', description: 'As before', version: 4 });
    const service = await openTask(task, {
      'principals.list': pageOf(
        itemOf('principals.list', { id: meId, displayName: 'Ada', kind: 'human', status: 'active' }),
      ),
      'tasks.update': { ...task, title: 'Is changed' },
    });
    await press('e');
    await until(() => isThere('option', 'Ada (human)'));
    await fill('textbox', 'Title', 'Is changed');
    await fill('combobox', 'Assignee', meId);
    service.answer(answersOf({ ...task, title: 'Is changed' }));
    await submit('textbox', 'Title');
    await until(() => !isThere('dialog'));
    await find('heading', 'Is changed');
    const [asked] = service.askedFor('tasks.update');
    assert.deepEqual(
      [asked?.body, asked?.headers.get('if-match')],
      [{ title: 'Is changed', assigneeId: meId }, '"task-4"'],
    );
  });

  test('a form that changes nothing closes and sends nothing', async () => {
    const service = await openTask(taskWith());
    await click('button', 'Edit');
    await find('dialog');
    await submit('textbox', 'Title');
    await until(() => !isThere('dialog'));
    assert.equal(service.askedFor('tasks.update').length, 0);
  });

  test('after a version conflict the form keeps the input, and applies it to the new version', async () => {
    const task = taskWith({ title: 'Before', version: 4 });
    const service = await openTask(task, { 'tasks.update': new Refusal(409, 'version_conflict') });
    await press('e');
    await find('dialog');
    await fill('textbox', 'Title', 'Mine');
    service.answer(answersOf({ ...task, priority: 'high', version: 5 }));
    await submit('textbox', 'Title');
    await see('Somebody changed this task in the meantime.');
    assert.equal((await find<HTMLInputElement>('textbox', 'Title')).value, 'Mine');
    service.answer({ 'tasks.update': { ...task, title: 'Mine', version: 6 } });
    await submit('textbox', 'Title');
    await until(() => !isThere('dialog'));
    const sent = service.askedFor('tasks.update').map(({ body, headers }) => [body, headers.get('if-match')]);
    assert.deepEqual(sent, [
      [{ title: 'Mine' }, '"task-4"'],
      [{ title: 'Mine' }, '"task-5"'],
    ]);
  });
});

describe('the reasons why a task does not move', () => {
  const id = '0190b2c4-0000-7000-8000-0000000000f1';

  for (const [code, words] of [
    ['task_already_claimed', 'The task is already claimed.'],
    ['task_not_ready', 'The task depends on unfinished tasks.'],
    ['approval_required', 'An approval is pending.'],
    ['not_eligible', 'You do not meet the requirements of the task.'],
    ['no_eligible_principal', 'No active principal meets the requirements of the task.'],
    ['some_new_code', 'some new code.'],
  ] as const)
    test(`${code} is shown as a sentence, with the code`, async () => {
      await openTask(taskWith(), held(reason(code, 'record_input', '/artifacts')));
      assert.match(part('Not claimable yet'), new RegExp(`^Not claimable yet\\n${words} ${code}`));
      assert.ok(!isThere('button', 'Claim'));
    });

  test('a lease is ended next to the reason, after a confirmation', async () => {
    const service = await openTask(taskWith(), {
      ...held(reason('task_already_claimed', 'release_claim', `/claims/${id}:release`)),
      'claims.release': exampleOf('claims.release'),
    });
    await click('button', 'Release claim');
    await see('The holder loses the task immediately');
    assert.equal(service.askedFor('claims.release').length, 0);
    await click('button', 'Release claim');
    const [asked] = service.askedFor('claims.release');
    assert.deepEqual([asked?.ids, asked?.body], [[id], { reason: 'ended in the console' }]);
  });

  test('cancelling the confirmation has no effect', async () => {
    const service = await openTask(
      taskWith(),
      held(reason('task_not_ready', 'remove_relation', `/tasks/${id}/relations/${graceId}`)),
    );
    await click('button', 'Remove the dependency');
    await click('button', 'Cancel');
    assert.ok(isThere('button', 'Remove the dependency'));
    assert.equal(service.askedFor('tasks.deleteRelation').length, 0);
  });

  test('an approval is not given next to the reason: a link opens the full subject', async () => {
    const service = await openTask(
      taskWith(),
      held(reason('approval_required', 'approve', `/approvals/${id}:approve`)),
    );
    const link = await find('link', 'Review and decide');
    assert.equal(link.getAttribute('href'), `/approvals/${id}`);
    assert.ok(!isThere('button', 'Approve'));
    assert.equal(service.askedFor('approvals.approve').length, 0);
  });

  test('without the permission to approve, the permission is shown', async () => {
    const path = `/approvals/${id}:approve`;
    await openTask(taskWith(), held(reason('approval_required', 'approve', path, false, 'approvals.decide')));
    await see('Approve (requires approvals.decide)');
    assert.ok(!isThere('link', 'Review and decide'));
  });

  test('a dependency is shown, and completed after a confirmation', async () => {
    const first = taskWith({ id, title: 'First' });
    const service = await openTask(
      taskWith(),
      {
        ...held(reason('task_not_ready', 'complete_prerequisite', `/tasks/${id}:complete`)),
        'tasks.complete': first,
      },
      { others: [first] },
    );
    await click('button', `Complete the dependency: ${first.publicId}`);
    await click('button', 'Complete the dependency');
    assert.deepEqual(service.askedFor('tasks.complete')[0]?.ids, [id]);
  });

  test('remedies that need input are shown as advice', async () => {
    await openTask(
      taskWith(),
      held(
        reason('input_missing', 'record_input', '/artifacts'),
        reason('not_eligible', 'notify_somebody', '/x'),
      ),
    );
    await see('Publish the required artifact.');
    await see('notify somebody.');
  });

  test('an ended task has no claimability', async () => {
    const service = await openTask(taskWith({ status: 'done', systemStatusCategory: 'terminal_success' }));
    assert.ok(!isThere('heading', 'Ready to claim') && !isThere('heading', 'Not claimable yet'));
    assert.equal(service.askedFor('tasks.getClaimability').length, 0);
  });
});

describe('the sections of a task page', () => {
  test("relations are labelled from this task's side, and drawn", async () => {
    const task = taskWith();
    const [first, second] = [taskWith({ title: 'First', status: 'done' }), taskWith({ title: 'Second' })];
    const relation = (id: string, type: 'depends_on' | 'blocks', fromTaskId: string, toTaskId: string) => ({
      ...exampleOf('tasks.createRelation'),
      id,
      type,
      fromTaskId,
      toTaskId,
    });
    await openTask(
      task,
      {
        'tasks.listRelations': pageOf(
          relation('r1', 'depends_on', task.id, first.id),
          relation('r2', 'blocks', second.id, task.id),
          relation('r3', 'depends_on', graceId, task.id),
        ),
      },
      { others: [first, second] },
    );
    assert.match(
      part('Relations'),
      /Depends on First done\nBlocked by Second open\nRequired by Hidden task$/,
    );
    assert.match(document.querySelector('svg')?.textContent ?? '', new RegExp(`${first.publicId} · done`));
  });
});
