import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { JournalEvent, ProcessInstance } from '@baton/sdk';
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
  submit,
  test,
  until,
} from '../testing/page.ts';
import { graceId, taskWith } from '../testing/tasks.ts';

const { stagesOf } = await import('./steps.ts');
const { classOf } = await import('./Diagram.tsx');

const evil = '<img src=x onerror="window.ran=1">';
const definition = exampleOf('processDefinitions.get', {
  key: 'small-change',
  displayName: `A small change ${evil}`,
  version: 1,
  spec: {
    stages: [
      {
        id: 'decide',
        steps: [
          { id: 'approve', approve: { title: 'Shall it be?' } },
          { id: 'build', task: {}, when: 'true' },
        ],
      },
      { id: 'end', steps: [{ id: 'complete', complete: { outcome: 'released' } }] },
    ],
  },
});
const example = exampleOf('processInstances.get');
const [element] = example.openElements;
const instanceWith = (other: Partial<ProcessInstance> = {}): ProcessInstance => ({
  ...example,
  definitionKey: 'small-change',
  definitionVersion: 1,
  instanceKey: 'CHG-1',
  status: 'running',
  outcome: null,
  data: { title: `Invoices ${evil}` },
  stages: [
    { id: 'decide', state: 'active' },
    { id: 'end', state: 'available' },
  ],
  openElements: [],
  suspension: null,
  slaState: 'ok',
  ...other,
});
const openElement = (id: string, other: object = {}) => {
  assert.ok(element);
  return { ...element, id, taskId: null, approvalIds: [], slaState: 'ok' as const, ...other };
};
const event = (type: string, payload: Record<string, unknown>): JournalEvent =>
  itemOf('events.list', {
    id: `${type} ${JSON.stringify(payload)}`,
    type,
    actorId: graceId,
    entityType: 'process_instance',
    payload,
  });
const entered = (id: string) => event('process.step_entered', { element: id });
const filed = (id: string, taskId: string) => event('process.step_entered', { element: id, taskId });
const left = (id: string, outcome: string) => event('process.step_exited', { element: id, outcome });
const openInstance = (instance: ProcessInstance, more: Answers = {}, permissions?: string[]) =>
  open(`/processes/${instance.id}`, {
    answers: { 'processInstances.get': instance, 'processDefinitions.get': definition, ...more },
    ...(permissions && { me: { permissions } }),
  });

describe('processes', () => {
  test('without instances it shows how to start one', async () => {
    await open('/processes');
    await see('No process instances yet');
    await see('No definitions.');
  });

  test('are listed with their definition, status and lateness', async () => {
    const instance = itemOf('processInstances.list', {
      instanceKey: 'CHG-7',
      definitionKey: 'small-change',
      definitionVersion: 2,
      status: 'running',
      slaState: 'breached',
    });
    const published = itemOf('processDefinitions.list', {
      key: 'small-change',
      displayName: 'A small change',
      version: 2,
      status: 'retired',
    });
    await open('/processes', {
      answers: { 'processInstances.list': pageOf(instance), 'processDefinitions.list': pageOf(published) },
    });
    assert.match(seen(all('listitem', /^CHG-7/)[0]), /CHG-7\s*small-change 2\s*running · late/);
    assert.match(seen(all('listitem', /^A small change/)[0]), /small-change\s*version 2 · retired/);
    assert.equal((await find('link', 'CHG-7')).getAttribute('href'), `/processes/${instance.id}`);
  });

  test('are filtered by a status in the URL', async () => {
    const service = await open('/processes?status=x');
    assert.deepEqual(service.askedFor('processInstances.list')[0]?.query, { limit: '50' });
    await fill('combobox', 'Status', 'cancelled');
    assert.equal(address(), '/processes?status=cancelled');
    assert.equal(service.askedFor('processInstances.list').at(-1)?.query['status'], 'cancelled');
    await see('No instances match this filter');
  });

  test('are shown to those with the permission', async () => {
    const service = await open('/processes', { me: { permissions: [] } });
    await see('You need the permission processes.read. Contact an administrator.');
    assert.equal(service.askedFor('processInstances.list').length, 0);
  });
});

describe('one process', () => {
  test('links to the task of a completed step, too', async () => {
    const task = taskWith({ status: 'done', systemStatusCategory: 'terminal_success' });
    await openInstance(instanceWith(), {
      'tasks.get': task,
      'events.list': {
        items: [left('build', 'completed'), filed('build', task.id)],
        nextCursor: 'ec1_end',
        hasMore: false,
      },
    });
    const [line] = all('listitem', /^build/);
    assert.match(seen(line), new RegExp(`done ${task.publicId}`));
  });

  test('shows its progress as text and as a diagram, its pending steps and its data', async () => {
    const task = taskWith();
    await openInstance(
      instanceWith({
        openElements: [
          openElement('approve', { approvalIds: ['a'] }),
          openElement('build', { taskId: task.id }),
        ],
      }),
      { 'tasks.get': task },
    );
    await find('heading', 'CHG-1');
    const svg = [...document.querySelectorAll('svg text')].map((one) => one.textContent);
    assert.deepEqual(svg, [
      'decide',
      'approve',
      'approve · waiting',
      'build',
      'task · active',
      'end',
      'complete',
      'complete · pending',
    ]);
    await see(/approve approve waiting pending approval/);
    assert.equal((await find('link', 'approval')).getAttribute('href'), '/approvals/a');
    await see(`build task active ${task.publicId}`);
    await see(`title\nInvoices ${evil}`);
    await see(`A small change ${evil} version 1`);
    assert.equal(document.querySelector('img'), null);
    assert.equal(document.title, 'CHG-1 · Baton');
  });

  test('shows its outcome when it has ended, without actions', async () => {
    await openInstance(instanceWith({ status: 'completed', outcome: 'released' }));
    await see('completed: released');
    assert.ok(!isThere('group', 'Process actions'));
  });

  test('is suspended with a reason', async () => {
    const instance = instanceWith();
    const service = await openInstance(instance, {
      'processInstances.suspend': exampleOf('processInstances.suspend'),
    });
    await click('button', 'Suspend');
    service.answer({
      'processInstances.get': { ...instance, status: 'suspended' },
      'events.list': {
        items: [event('process.suspended', { reason: 'We wait for the lawyers' })],
        nextCursor: 'ec1_e',
        hasMore: false,
      },
    });
    await fill('textbox', 'Reason', 'We wait for the lawyers');
    await submit('textbox', 'Reason');
    await find('button', 'Resume');
    const [asked] = service.askedFor('processInstances.suspend');
    assert.deepEqual([asked?.ids, asked?.body], [[instance.id], { reason: 'We wait for the lawyers' }]);
    assert.ok(asked?.headers.get('idempotency-key'));
    await see(/Grace suspended it: We wait for the lawyers/);
  });

  test('resumes without a reason', async () => {
    const service = await openInstance(instanceWith({ status: 'suspended' }), {
      'processInstances.resume': exampleOf('processInstances.resume'),
    });
    await click('button', 'Resume');
    assert.deepEqual(service.askedFor('processInstances.resume')[0]?.body, {});
  });

  test('a failed step is shown with its code, and skipped with a reason', async () => {
    const suspension = { element: 'build', code: 'step_failed', reason: 'The build broke' };
    const service = await openInstance(instanceWith({ status: 'suspended', suspension }), {
      'processInstances.skip': exampleOf('processInstances.skip'),
    });
    await see('Suspended at build: The build broke step_failed');
    await see('build task failed');
    await click('button', 'Skip build');
    await fill('textbox', 'Reason', 'Built by hand');
    await submit('textbox', 'Reason');
    assert.deepEqual(service.askedFor('processInstances.skip')[0]?.body, {
      element: 'build',
      reason: 'Built by hand',
    });
  });

  test('is cancelled with a reason, and an error is shown with its code', async () => {
    const service = await openInstance(instanceWith(), {
      'processInstances.cancel': new Refusal(403, 'permission_denied', 'Not you.'),
    });
    await click('button', 'Cancel process');
    await fill('textbox', 'Reason', 'Nobody wants it');
    await submit('textbox', 'Reason');
    await see('Not you.\npermission_denied · req_test');
    assert.deepEqual(service.askedFor('processInstances.cancel')[0]?.body, { reason: 'Nobody wants it' });
    await click('button', 'Dismiss');
    assert.ok(!isThere('textbox', 'Reason'));
  });

  test('without the permissions, actions are hidden and events are reported as restricted', async () => {
    const service = await openInstance(instanceWith(), {}, ['processes.read']);
    assert.ok(!isThere('button', 'Suspend'));
    await see('Events require the permission events.read.');
    assert.equal(service.askedFor('events.list').length, 0);
  });

  test('a missing one is reported, with a link back', async () => {
    await open(`/processes/${graceId}`, {
      answers: { 'processInstances.get': new Refusal(404, 'not_found', 'There is none.') },
    });
    await see('There is none.');
    await click('link', 'Back to processes');
    await until(() => address() === '/processes');
  });

  test("one whose definition can't be loaded shows the error and the rest", async () => {
    await openInstance(instanceWith(), {
      'processDefinitions.get': new Refusal(403, 'permission_denied', 'Not this.'),
    });
    await see('Not this.');
    await see('Data');
    notSeen('Progress');
  });
});

describe('the state of a step', () => {
  const states = (instance: ProcessInstance | undefined, events: JournalEvent[] = []) =>
    Object.fromEntries(
      stagesOf(definition, instance, events).flatMap(({ steps }) =>
        steps.map(({ id, state }) => [id, state]),
      ),
    );

  test('follows from the journal if the instance has none', () => {
    const events = [
      entered('approve'),
      left('approve', 'completed'),
      entered('build'),
      left('build', 'timed_out'),
      entered('complete'),
    ];
    assert.deepEqual(states(undefined, events), { approve: 'done', build: 'failed', complete: 'active' });
    assert.deepEqual(states(undefined, [entered('build'), left('build', 'withdrawn')]), {
      approve: 'pending',
      build: 'stopped',
      complete: 'pending',
    });
  });

  test('of an open step follows from the instance', () => {
    const instance = instanceWith({
      openElements: [openElement('approve', { slaState: 'breached' }), openElement('build')],
    });
    assert.deepEqual(states(instance, [left('approve', 'completed')]), {
      approve: 'late',
      build: 'active',
      complete: 'pending',
    });
  });

  test('steps within steps are found, and a document without stages has none', () => {
    const spec = {
      stages: [{ id: 'one', steps: [{ id: 'outer', each: { steps: [{ id: 'inner', call: {} }] } }] }],
    };
    const [stage] = stagesOf({ ...definition, spec });
    assert.deepEqual(
      stage?.steps.map(({ id, kind }) => [id, kind]),
      [
        ['outer', 'each'],
        ['inner', 'call'],
      ],
    );
    assert.deepEqual(stagesOf({ ...definition, spec: {} }), []);
    assert.equal(classOf('pending'), 'pending');
  });
});
