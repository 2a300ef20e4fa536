import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Task } from '@baton/sdk';
import { type RunningBaton, sharedBaton } from '@baton/testing/running-baton';
import { runCommand } from '../testing/run-command.ts';

// A process step requires answers from a person: the command line shows the form and fills it in, against a whole
// Baton.

let baton: RunningBaton;
let folder: string;
let task: Task;

before(async () => {
  baton = await sharedBaton();
  folder = mkdtempSync(join(tmpdir(), 'baton-task-form-'));
  task = await taskOfProcess();
});
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await baton?.stop();
});

const run = (...args: string[]) => runCommand(args, { HOME: folder, BATON_HOME: baton.home });

/** Starts a process whose only step weighs a parcel. */
async function taskOfProcess(): Promise<Task> {
  const { admin, connection } = baton;
  const { tenantId, issuer } = connection;
  const key = `scales-${process.pid}`;
  const { id } = await admin.identity.principals.create(tenantId, { kind: 'agent', displayName: key });
  const permissions = ['tasks.read', 'tasks.write', 'processes.operate', 'events.read'];
  await admin.agents.publish({
    key,
    spec: { displayName: 'Scales', identity: { kind: 'service', permissions }, state: 'running' },
  });
  await admin.agents.linkIdentity(key, { issuer, iamTenantId: tenantId, iamPrincipalId: id });
  const me = (await admin.harness.getContext()).principal.id;
  await admin.processDefinitions.publish({
    key,
    spec: {
      version: 1,
      displayName: 'A parcel is weighed',
      identity: { agent: key },
      owner: [{ principal: me }],
      start: { on: { observation: `parcel-${process.pid}` }, key: 'event.payload.data.order' },
      data: { type: 'object', properties: { order: { type: 'string' } } },
      stages: [
        {
          id: 'one',
          steps: [
            {
              id: 'weigh',
              human: {
                taskType: 'task',
                title: 'Weigh the parcel',
                form: {
                  type: 'object',
                  properties: {
                    weight: { type: 'number', title: 'Weight', description: 'in kilograms', maximum: 30 },
                    fragile: { type: 'boolean' },
                    size: { enum: ['small', 'large'] },
                  },
                  required: ['weight', 'size'],
                },
              },
            },
            { id: 'end', complete: { outcome: 'done' } },
          ],
        },
      ],
    },
  });
  await admin.processInstances.create({ process: key, key: 'order-1', data: { order: '4711' } });
  return taskNamed(() => true);
}

/** Waits for a task of the process. */
async function taskNamed(isWanted: (task: Task) => boolean): Promise<Task> {
  for (let n = 0; n < 600; n += 1) {
    for await (const one of baton.admin.tasks.list({ q: 'Weigh the parcel', limit: 20 }))
      if (one.origin.kind === 'process' && isWanted(one)) return one;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('the process created no task');
}

test('the form is shown, and the task is not completed without its answers', async () => {
  const shown = await run('task', 'view', task.publicId);
  assert.match(
    shown.text,
    /^form of its process step:\n(?: {2}.*\n)* {2}weight {2}\(number, required\) {2}Weight: in kilograms$/m,
  );
  assert.match(shown.text, /^ {2}size {2}\(JSON, required, one of small, large\)$/m);
  const refused = await run('task', 'close', task.publicId);
  assert.equal(refused.code, 1);
  assert.match(refused.text, /requires weight, size\. Nothing was changed\.$/m);
  assert.match(refused.text, /^Give each as --field weight=VALUE\.$/m);
  const half = await run('task', 'close', task.publicId, '--field', 'weight=2.5');
  assert.match(half.text, /requires size\. Nothing was changed\.$/m);
  for (const [field, message] of [
    ['weight=heavy', /^weight is a number; got heavy\.$/m],
    [
      'colour=blue',
      /^colour=blue is not a field of this form: NAME=VALUE with one of size, weight, fragile\.$/m,
    ],
  ] as const) {
    const wrong = await run('task', 'close', task.publicId, '--field', field);
    assert.deepEqual([wrong.code, message.test(wrong.text)], [2, true], wrong.text);
  }
  const now = await baton.admin.tasks.get(task.id);
  assert.deepEqual([now.version, now.customFields], [task.version, task.customFields]);
});

test('the holder of the task gets the same prompt when they finish it', async () => {
  await baton.admin.processInstances.create({ process: `scales-${process.pid}`, key: 'order-2', data: {} });
  const held = await taskNamed((one) => one.id !== task.id);
  await run('work', 'take', held.publicId);
  const refused = await run('work', 'done');
  assert.equal(refused.code, 1);
  assert.match(refused.text, /requires weight, size\. Nothing was changed\.$/m);
  const done = await run('work', 'done', '--field', 'weight=3', '--field', 'size=large');
  assert.equal(done.text, `${held.publicId} is done.\n`);
  const { customFields } = await baton.admin.tasks.get(held.id);
  assert.deepEqual([customFields['weight'], customFields['size']], [3, 'large']);
});

test('a rejected value is reported with its field, and a valid form completes the task', async () => {
  const fields = ['--field', 'size=small', '--field', 'fragile=true'];
  const heavy = await run('task', 'close', task.publicId, '--field', 'weight=31', ...fields);
  assert.equal(heavy.code, 1);
  assert.match(heavy.text, /^custom_fields_invalid: .*weight/m);
  const closed = await run('task', 'close', task.publicId, '--field', 'weight=2.5', ...fields);
  assert.equal(closed.text, `${task.publicId} is done.\n`);
  const { customFields } = await baton.admin.tasks.get(task.id);
  assert.deepEqual(
    [customFields['weight'], customFields['fragile'], customFields['size']],
    [2.5, true, 'small'],
  );
  const shown = await run('task', 'view', task.publicId);
  const [, answers = ''] =
    /^answers to the form of its process step:\n((?: {2}.*\n)+)/m.exec(shown.text) ?? [];
  assert.deepEqual(answers.trim().split(/\n */).sort(), ['fragile = true', 'size = small', 'weight = 2.5']);
});

test('a task without a form accepts no field', async () => {
  const plain = await baton.admin.tasks.create({ title: 'No form' });
  const { code, text } = await run('task', 'close', plain.publicId, '--field', 'weight=1');
  assert.deepEqual(
    [code, text],
    [2, `${plain.publicId} has no form: --field is only for tasks whose process step has one.\n`],
  );
});
