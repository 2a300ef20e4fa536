import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { assertAccessible, noBrowser, until, untilTrue } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';

// The process form on a task's page, filled in by its addressee before the task is completed.

const permissions = ['tasks.read', 'tasks.write', 'processes.operate'];
const form = {
  type: 'object',
  required: ['weight', 'box'],
  properties: {
    weight: { type: 'number', minimum: 0.1, title: 'Weight in kg', description: 'As shown on the scales.' },
    box: {
      title: 'Box',
      oneOf: [
        { const: 's', title: 'Small' },
        { const: 'l', title: 'Large' },
      ],
    },
    sentOn: { type: 'string', format: 'date', title: 'Day of dispatch' },
    note: { type: 'string', title: 'Note for the customer', pattern: '^[A-Z]' },
    marks: { type: 'array', title: 'Marks', items: { enum: ['this side up', 'keep dry'] } },
  },
};

describe('the form of a process step', { skip: noBrowser }, () => {
  let world: RunningConsole;
  let packer: Awaited<ReturnType<RunningConsole['person']>>;

  before(async () => {
    world = await startConsole();
    const { baton, tenantId, issuer } = world;
    await baton.agents.publish({
      key: 'packing-desk',
      spec: {
        displayName: 'Packing desk',
        identity: { kind: 'agent', permissions },
        connections: [],
        state: 'running',
      },
    });
    const made = await baton.identity.principals.create(tenantId, { kind: 'agent', displayName: 'desk' });
    const linked = { issuer, iamTenantId: tenantId, iamPrincipalId: made.id };
    await baton.agents.linkIdentity('packing-desk', linked);
    packer = await world.person([
      'tasks.read',
      'tasks.write',
      'tasks.claim',
      'sessions.open',
      'task_types.read',
    ]);
    await baton.processDefinitions.publish({
      key: 'packing',
      spec: {
        version: 1,
        displayName: 'Packing',
        identity: { agent: 'packing-desk' },
        owner: [{ agent: 'packing-desk' }],
        data: {
          type: 'object',
          properties: {
            customer: { type: 'string' },
            parcel: { type: 'object', additionalProperties: true },
          },
        },
        start: { on: { observation: 'never' }, key: 'event.id' },
        stages: [
          {
            id: 'only',
            steps: [
              {
                id: 'pack',
                human: {
                  taskType: 'task',
                  title: 'Pack the parcel for {{ data.customer }}',
                  assign: [{ principal: packer.principalId }],
                  context: { customer: 'data.customer' },
                  form,
                },
                export: { as: 'parcel' },
              },
              { id: 'done', complete: { outcome: 'packed' } },
            ],
          },
        ],
      },
    });
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  test('its addressee fills it in; missing and invalid answers are reported, and the process continues with the answers', async () => {
    const { baton } = world;
    const instance = await baton.processInstances.create({
      process: 'packing',
      key: 'P-1',
      data: { customer: 'Ada' },
    });
    const task = await baton.tasks.get(instance.openElements[0]?.taskId ?? '');
    const operator = await world.signedIn(`/tasks/${task.publicId}`, {
      colorScheme: 'light',
      viewport: { width: 1440, height: 900 },
    });
    await operator.page.getByText('Step pack of process').waitFor();

    const { page, complaints } = await world.signedIn(
      `/tasks/${task.publicId}`,
      { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
      packer.token,
    );
    const fields = page.getByRole('form', { name: 'Answers' });
    await fields.getByText('As shown on the scales.').waitFor();
    await assertAccessible(page, 'form of a process step');
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);

    // The browser points at the missing field, and nothing is sent.
    await fields.getByRole('button', { name: 'Submit and complete' }).click();
    const isValid = await page.evaluate("document.querySelector('form[aria-label=Answers]').checkValidity()");
    assert.equal(isValid, false);
    await page.getByRole('group', { name: 'Status' }).getByRole('button', { name: 'Done' }).click();
    await page.getByText('Fill in the process form before you complete the task.').waitFor();
    assert.equal((await baton.tasks.get(task.id)).version, task.version);

    await fields.getByLabel('Weight in kg').fill('2.5');
    await fields.getByLabel('Box').selectOption({ label: 'Large' });
    await fields.getByLabel('Day of dispatch').fill('2026-12-01');
    await fields.getByLabel('keep dry').check();
    await fields.getByLabel('Note for the customer').fill('thanks');
    await fields.getByRole('button', { name: 'Save draft' }).click();
    await page.getByText(`Saved the answers to ${task.publicId}.`).waitFor();
    assert.equal((await baton.tasks.get(task.id)).systemStatusCategory, task.systemStatusCategory);

    // Only Baton validates patterns.
    await fields.getByRole('button', { name: 'Submit and complete' }).click();
    await fields.getByText('must match the pattern ^[A-Z]').first().waitFor();
    const note = fields.getByLabel('Note for the customer');
    assert.equal(await note.getAttribute('aria-invalid'), 'true');
    await assertAccessible(page, 'form with a faulty answer');
    await note.fill('Thank you');
    await fields.getByRole('button', { name: 'Submit and complete' }).click();
    await page.getByText(`Completed ${task.publicId}.`).waitFor();
    const parcel = { weight: 2.5, box: 'l', sentOn: '2026-12-01', note: 'Thank you', marks: ['keep dry'] };
    await untilTrue(
      async () => (await baton.processInstances.get(instance.id)).status === 'completed',
      'the process did not go on',
    );
    assert.deepEqual((await baton.processInstances.get(instance.id)).data['parcel'], parcel);
    // Apart from the 422 of the completion, the browser reported no error.
    assert.deepEqual(
      complaints.filter((complaint) => !/422/.test(complaint)),
      [],
    );

    // Follows the links from the task to its process, and back from the completed step.
    await operator.page.reload();
    await operator.page.getByRole('link', { name: 'P-1' }).click();
    await operator.page.getByRole('heading', { name: 'P-1' }).waitFor();
    await operator.page.getByRole('link', { name: task.publicId }).first().click();
    await until(operator.page, `document.title.startsWith('${task.publicId}')`);
    await operator.page.getByText('Thank you').first().waitFor();
    assert.deepEqual(operator.complaints, []);
  });

  test('completing a held task submits the form; other people see the answers read-only', async () => {
    const { baton } = world;
    const { openElements } = await baton.processInstances.create({
      process: 'packing',
      key: 'P-2',
      data: { customer: 'Bo' },
    });
    const task = await baton.tasks.get(openElements[0]?.taskId ?? '');
    const other = await world.person(['tasks.read', 'tasks.write', 'task_types.read', 'principals.read']);
    const stranger = await world.signedIn(`/tasks/${task.publicId}`, {}, other.token);
    await stranger.page.getByText(/^Only .* can fill in this form\.$/).waitFor();
    assert.equal(await stranger.page.getByLabel('Weight in kg').isDisabled(), true);
    assert.equal(await stranger.page.getByRole('button', { name: 'Submit and complete' }).count(), 0);

    const { page, complaints } = await world.signedIn(`/tasks/${task.publicId}`, {}, packer.token);
    await page.getByRole('button', { name: 'Claim' }).click();
    await page.getByRole('heading', { name: 'You hold this task' }).waitFor();
    await page.getByLabel('Weight in kg').fill('1');
    await page.getByLabel('Box').selectOption({ label: 'Small' });
    await page.getByRole('button', { name: 'Complete', exact: true }).click();
    await page.getByText(`Completed ${task.publicId}.`).waitFor();
    assert.deepEqual((await baton.tasks.get(task.id)).customFields, { weight: 1, box: 's' });
    assert.deepEqual([...complaints, ...stranger.complaints], []);
  });
});
