import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Task, TaskForm } from '@baton/sdk';
import {
  type Answers,
  all,
  click,
  exampleOf,
  fill,
  find,
  isThere,
  notSeen,
  open,
  see,
  seen,
  submit,
  test,
} from '../../testing/page.ts';
import { answersOf, graceId, taskWith } from '../../testing/tasks.ts';

const { parseAnswer, fieldsOf, formatFieldValue, withAnswers } = await import('./form-fields.ts');

const evil = '<img src=x onerror="window.ran=1">';
const instanceId = '0190b2c4-0000-7000-8000-0000000000e1';
const form = {
  type: 'object',
  required: ['weight', 'box'],
  properties: {
    weight: {
      type: 'number',
      minimum: 0,
      title: 'Weight in kg',
      description: `As shown on the scales. ${evil}`,
    },
    box: { enum: ['small', 'large'] },
    fragile: { type: 'boolean' },
    marks: { type: 'array', items: { enum: ['up', 'dry'] } },
  },
};
const ofProcess = (other: Partial<Task> = {}) =>
  taskWith({ origin: { kind: 'process', ref: `process/${instanceId}/pack`, evidence: [] }, ...other });
const formOf = (task: Task, other: Partial<TaskForm> = {}): TaskForm => ({
  taskId: task.id,
  publicId: task.publicId,
  process: { instanceId, element: 'pack' },
  form,
  context: { customer: 'Ada' },
  values: {},
  errors: [],
  ...other,
});

async function openStep(task: Task, more: Answers = {}, permissions?: string[]) {
  return open(`/tasks/${task.publicId}`, {
    answers: {
      ...answersOf(task),
      'tasks.getForm': formOf(task),
      'processInstances.get': exampleOf('processInstances.get', {
        id: instanceId,
        instanceKey: 'O-1',
        definitionKey: 'order',
      }),
      ...more,
    },
    ...(permissions && { me: { permissions } }),
  });
}

describe('the form of a process step', () => {
  test("is shown as fields with help and choices, beside the step's context and its process", async () => {
    await openStep(ofProcess());
    await see('Step pack of process O-1 (order)');
    assert.equal((await find('link', 'O-1')).getAttribute('href'), `/processes/${instanceId}`);
    await see(/customer\nAda/);
    await see(`As shown on the scales. ${evil}`);
    assert.equal(document.querySelector('img'), null);
    assert.ok(isThere('combobox', 'box'));
    assert.deepEqual(
      all('option', undefined, await find('combobox', 'box')).map((one) => one.textContent),
      ['Select …', 'small', 'large'],
    );
    await see('fragile (optional)');
    assert.deepEqual(
      all('checkbox').map((one) => seen(one.closest('label') ?? one)),
      ['up', 'dry'],
    );
  });

  test('is sent as custom fields with the shown version, and then the task is completed', async () => {
    const task = ofProcess({ version: 4, customFields: { other: 'kept' } });
    const answered = { ...task, version: 5 };
    const service = await openStep(task, {
      'tasks.update': answered,
      'tasks.complete': { ...answered, status: 'done', systemStatusCategory: 'terminal_success', version: 6 },
    });
    const weight = document.querySelector<HTMLInputElement>('input[type=number]');
    assert.ok(weight);
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(weight), 'value')?.set?.call(weight, '2.5');
    weight.dispatchEvent(new Event('input', { bubbles: true }));
    await fill('combobox', 'box', '1');
    await fill('combobox', /^fragile/, '0');
    await click('checkbox');
    await submit('combobox', 'box');
    const [update] = service.askedFor('tasks.update');
    assert.deepEqual(
      [update?.body, update?.headers.get('if-match')],
      [
        { customFields: { other: 'kept', weight: 2.5, box: 'large', fragile: true, marks: ['up'] } },
        '"task-4"',
      ],
    );
    const [complete] = service.askedFor('tasks.complete');
    assert.deepEqual([complete?.ids, complete?.headers.get('if-match')], [[task.id], '"task-5"']);
    await see(`Completed ${task.publicId}.`);
  });

  test('the move to the completed status submits the form first', async () => {
    const task = ofProcess({ version: 4, customFields: { weight: 1, box: 'small' } });
    const service = await openStep(task, {
      'tasks.update': { ...task, customFields: { weight: 1, box: 'large' }, version: 5 },
      'tasks.complete': { ...task, status: 'done' },
    });
    await fill('combobox', 'box', '1');
    await click('button', 'Done');
    assert.deepEqual(service.askedFor('tasks.update')[0]?.body, {
      customFields: { weight: 1, box: 'large' },
    });
    assert.equal(service.askedFor('tasks.complete')[0]?.headers.get('if-match'), '"task-5"');
  });

  test('a rejected completion marks the invalid fields, and keeps the input', async () => {
    const task = ofProcess({ customFields: { weight: 1, box: 'small' } });
    const refusal = Response.json(
      {
        error: {
          code: 'custom_fields_invalid',
          message: 'The custom fields are not valid.',
          details: { errors: [{ path: '/box', message: 'must be one of the allowed values' }] },
          requestId: 'req_test',
        },
      },
      { status: 422 },
    );
    await openStep(task, { 'tasks.complete': () => refusal.clone() });
    await submit('combobox', 'box');
    await see('The custom fields are not valid.');
    const [field] = all('combobox', 'box');
    assert.equal(field?.getAttribute('aria-invalid'), 'true');
    assert.equal(document.activeElement, field);
    const described = field?.getAttribute('aria-describedby')?.split(' ') ?? [];
    assert.match(
      described.map((id) => document.getElementById(id)?.textContent).join(' '),
      /must be one of the allowed values/,
    );
    assert.equal((field as HTMLSelectElement).value, '0');
  });

  test('a part of it is saved for later', async () => {
    const task = ofProcess();
    const service = await openStep(task, { 'tasks.update': { ...task, customFields: { box: 'small' } } });
    await fill('combobox', 'box', '0');
    await click('button', 'Save draft');
    assert.deepEqual(service.askedFor('tasks.update')[0]?.body, { customFields: { box: 'small' } });
    assert.equal(service.askedFor('tasks.complete').length, 0);
    await see(`Saved the answers to ${task.publicId}.`);
  });

  test("of a step with another addressee is shown, but can't be filled in", async () => {
    const task = ofProcess();
    const reason = { code: 'not_eligible', since: null, remedies: [], addressee: { principalId: graceId } };
    await openStep(task, {
      'tasks.getClaimability': exampleOf('tasks.getClaimability', { claimable: false, reasons: [reason] }),
    });
    await see('Only Grace can fill in this form.');
    assert.ok(!isThere('button', 'Submit and complete'));
    assert.equal(document.querySelector('fieldset')?.disabled, true);
  });

  test('without the permission for processes, the step has no link; an ended task shows the answers', async () => {
    const task = ofProcess({ status: 'done', systemStatusCategory: 'terminal_success' });
    await openStep(
      task,
      {
        'tasks.getForm': formOf(task, {
          values: { weight: 2, fragile: true, marks: ['up', 'dry'], more: 1 },
        }),
      },
      ['tasks.read', 'tasks.write'],
    );
    await see('Step pack of process');
    assert.ok(!isThere('link', 'O-1'));
    await see(/Weight in kg\n2\nfragile\nYes\nmarks\nup, dry\nmore\n1/);
    assert.ok(!isThere('button', 'Submit and complete'));
  });

  test('a task that no process created has none', async () => {
    const service = await openStep(taskWith());
    notSeen('Process form');
    assert.equal(service.askedFor('tasks.getForm').length, 0);
  });

  test('a task that only refers to a process as its origin has none either', async () => {
    const task = ofProcess();
    await openStep(task, { 'tasks.getForm': formOf(task, { process: null, form: null }) });
    notSeen('Process form');
    notSeen('the process');
  });
});

describe('the fields of a form', () => {
  const one = (schema: object, isRequired = false) => {
    const required = isRequired ? ['x'] : [];
    const [field] = fieldsOf({ type: 'object', required, properties: { x: schema } });
    assert.ok(field);
    return field;
  };

  test('have a kind by type, format and choices', () => {
    const kinds = [
      { type: 'string' },
      { type: 'string', maxLength: 40 },
      { type: ['string', 'null'], format: 'date' },
      { type: 'string', format: 'date-time' },
      { type: 'string', format: 'email' },
      { type: 'string', format: 'uri' },
      { type: 'integer' },
      { type: 'boolean' },
      { oneOf: [{ const: 1, title: 'One' }, { const: 2 }] },
      { type: 'array', items: { type: 'string' } },
      { type: 'array', items: { enum: ['a'] } },
      { type: 'object' },
      {},
    ].map((schema) => one(schema).kind);
    assert.deepEqual(kinds, [
      'long',
      'text',
      'date',
      'instant',
      'email',
      'url',
      'number',
      'choice',
      'choice',
      'lines',
      'several',
      'json',
      'json',
    ]);
    assert.deepEqual(
      one({ oneOf: [{ const: 1, title: 'One' }, { const: 2 }] }).choices.map(({ label }) => label),
      ['One', '2'],
    );
  });

  test('a required name that the form does not describe is a field too', () => {
    const fields = fieldsOf({ type: 'object', required: ['why'] });
    assert.deepEqual(
      fields.map(({ name, isRequired, kind }) => [name, isRequired, kind]),
      [['why', true, 'json']],
    );
  });

  test('are in the order of required fields, followed by the others', () => {
    const properties = { a: {}, b: {}, c: {} };
    const fields = fieldsOf({ type: 'object', required: ['c', 'b'], properties });
    assert.deepEqual(
      fields.map(({ name }) => name),
      ['c', 'b', 'a'],
    );
  });

  test('convert a value to text and back', () => {
    for (const [schema, value] of [
      [{ type: 'string' }, 'two\nlines'],
      [{ type: 'number' }, -0.5],
      [{ type: 'boolean' }, false],
      [{ enum: ['a', 3, null] }, 3],
      [{ type: 'array', items: { type: 'string' } }, ['a', 'b']],
      [{ type: 'array', items: { enum: ['a', 'b', 'c'] } }, ['a', 'c']],
      [{ type: 'string', format: 'date-time' }, '2026-03-02T10:30:00.000Z'],
      [{ type: 'object' }, { deep: [1, { er: true }] }],
    ] as const) {
      const field = one(schema);
      assert.deepEqual(parseAnswer(field, formatFieldValue(field, value)), value);
      assert.equal(parseAnswer(field, ''), undefined);
    }
  });

  test('report the error in a text', () => {
    assert.throws(() => parseAnswer(one({ title: 'Parts' }), '{'), /Parts must be JSON/);
    assert.throws(() => parseAnswer(one({ type: 'number' }), '1e999'), /x must be a number/);
    assert.throws(() => parseAnswer(one({ type: 'string', format: 'date-time' }), 'soon'), /date and a time/);
  });

  test("an empty answer removes the field, and the task's other fields stay", () => {
    assert.deepEqual(withAnswers({ a: 1, b: 2 }, { b: undefined, c: false }), { a: 1, c: false });
  });
});
