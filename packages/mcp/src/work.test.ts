import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { registerAgent } from '@baton/testing/registered-agent';
import {
  leaseIn,
  type Participant,
  type RunningBaton,
  shareRunningBaton,
  startRunningBaton,
} from './testing/running-baton.ts';

let baton: RunningBaton;
before(async () => {
  baton = await shareRunningBaton();
});
after(() => baton.stop());

const taskFor = ({ principalId }: Pick<Participant, 'principalId'>, title: string, more: object = {}) =>
  baton.admin.tasks.create({ title, assigneeId: principalId, ...more });
const categoryOf = async (id: string) => (await baton.admin.tasks.get(id)).systemStatusCategory;
const lastRunOf = async (taskId: string) => {
  const [run] = (await baton.admin.runs.list({ taskId, limit: 1 })).items;
  assert.ok(run);
  return run;
};

async function until<Value>(what: string, find: () => Promise<Value | undefined>): Promise<Value> {
  for (const deadline = performance.now() + 60_000; ; await sleep(100)) {
    const found = await find();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(`never: ${what}`);
  }
}

// Each test has its own agent and tasks, so the tests run in parallel.
describe('work over MCP', { concurrency: 4 }, () => {
  test('an agent of the registry works under its revision, and takes up a later one with the next task', async () => {
    const agent = await registerAgent(baton);
    const mcp = await baton.connect(agent.token);
    const revisionOf = async () => (await baton.admin.agents.get(agent.key)).revision.id;
    const workOn = async (title: string) => {
      const task = await taskFor(agent, title);
      const lease = leaseIn(await mcp.call('work_next', { assignedToMe: true }));
      await mcp.call('work_done', { lease, summary: 'done' });
      assert.equal(await categoryOf(task.id), 'terminal_success');
      return (await lastRunOf(task.id)).agentRevisionId;
    };
    const first = await revisionOf();
    assert.equal(await workOn('first'), first);
    await agent.publish('Count twice.');
    const second = await revisionOf();
    assert.notEqual(second, first);
    assert.equal(await workOn('second'), second);
  });

  test('a named task is taken, even if others are more urgent; for one that can not be taken, the result gives the reason', async () => {
    const agent = await baton.participant();
    await taskFor(agent, 'urgent', { priority: 'critical' });
    const named = await taskFor(agent, 'named', { priority: 'low' });
    const mcp = await baton.connect(agent.token);
    const taken = await mcp.call('work_next', { task: named.publicId });
    assert.match(taken, new RegExp(`^You hold ${named.publicId}`));
    for (const ref of [named.publicId.toLowerCase(), named.id]) {
      const again = await mcp.call('work_next', { task: ref });
      assert.match(again, new RegExp(`^You already hold ${named.publicId}`));
      assert.equal(leaseIn(again), leaseIn(taken));
      assert.match(again, /"title": "named"/);
    }
    const rival = await baton.connect((await baton.participant()).token);
    assert.match(
      await rival.refused('work_next', { task: named.publicId }),
      /^task_already_claimed: .*task_get shows why it can not be taken; work_next without task/,
    );
    await mcp.call('work_done', { lease: leaseIn(taken), summary: 'done' });
    assert.match(await rival.refused('work_next', { task: named.publicId }), /^task_not_claimable: /);
    assert.match(await rival.refused('work_next', { task: 'TASK-999999' }), /^not_found: /);
  });

  test('its own assigned tasks come first, and those of others never', async () => {
    const [agent, other] = [await baton.participant(), await baton.participant()];
    const { id: workspaceId } = await baton.admin.workspaces.create({
      slug: `w${randomUUID()}`,
      name: 'Own first',
    });
    await taskFor(other, 'of another', { workspaceId, priority: 'critical' });
    await baton.admin.tasks.create({ title: 'of nobody', workspaceId, priority: 'critical' });
    await taskFor(agent, 'own', { workspaceId, priority: 'low' });
    const mcp = await baton.connect(agent.token);
    for (const title of ['own', 'of nobody']) {
      const taken = await mcp.call('work_next', { workspaceId });
      assert.match(taken, new RegExp(`"title": "${title}"`));
      await mcp.call('work_done', { lease: leaseIn(taken), summary: 'done' });
    }
    assert.match(await mcp.call('work_next', { workspaceId }), /No work is available for you now/);
  });

  test('a blocked task is paused, with a comment on the reason and who should help, and is not the next one again', async () => {
    const agent = await baton.participant();
    const owner = await baton.participant(['tasks.read', 'approvals.decide'], 'human');
    const task = await taskFor(agent, 'blocked', { ownerId: owner.principalId });
    const mcp = await baton.connect(agent.token);
    const lease = leaseIn(await mcp.call('work_next', { assignedToMe: true }));
    const said = await mcp.call('work_blocked', { lease, reason: 'the printer is broken' });
    const { availableAt } = await baton.admin.tasks.get(task.id);
    assert.ok(availableAt !== null && Date.parse(availableAt) > Date.now());
    assert.equal(
      said,
      [
        `You released ${task.publicId}, with the reason as a comment. Its owner (${owner.principalId}) was requested to help.`,
        `It is paused, and offered again at ${availableAt}.`,
        'work_next gives you other work.',
      ].join('\n'),
    );
    assert.match(await mcp.call('work_next', { assignedToMe: true }), /No work is available for you now/);
    assert.match(
      await mcp.refused('work_next', { task: task.publicId }),
      new RegExp(`^task_not_due: .*availableAt ${availableAt}`),
    );
    const read = await mcp.call('task_get', { task: task.publicId });
    assert.match(read, /can't be taken now: not_before/);
    assert.match(
      read,
      new RegExp(`Blocked: the printer is broken.*Requested help: a test \\(${owner.principalId}\\)`),
    );
    const run = await lastRunOf(task.id);
    assert.deepEqual([run.status, run.failureReason], ['failed', 'blocked: the printer is broken']);
    await baton.admin.tasks.makeAvailable(task.id);
    assert.match(await mcp.call('work_next', { assignedToMe: true, waitSeconds: 20 }), /You hold/);
  });

  test('the next holder is shown the last checkpoints, the newest at the end', async () => {
    const agent = await baton.participant();
    const task = await taskFor(agent, 'long');
    const mcp = await baton.connect(agent.token);
    const lease = leaseIn(await mcp.call('work_next', { assignedToMe: true }));
    for (const n of [1, 2, 3, 4, 5, 6, 7]) await mcp.call('work_checkpoint', { lease, note: `step ${n}` });
    await mcp.close();
    const next = await baton.connect(agent.token);
    const taken = await next.call('work_next', { assignedToMe: true, waitSeconds: 20 });
    assert.match(taken, new RegExp(`You hold ${task.publicId}`));
    assert.deepEqual(
      [...taken.matchAll(/"note": "step (\d)"/g)].map(([, n]) => n),
      ['3', '4', '5', '6', '7'],
    );
  });

  test('a blocked task is paused for the time that the agent requires', async () => {
    const agent = await baton.participant();
    const task = await taskFor(agent, 'too many requests');
    const mcp = await baton.connect(agent.token);
    const lease = leaseIn(await mcp.call('work_next', { assignedToMe: true }));
    await mcp.call('work_blocked', { lease, reason: 'the model answered 429', retryAfterSeconds: 7_200 });
    const { availableAt } = await baton.admin.tasks.get(task.id);
    assert.ok(Date.parse(String(availableAt)) - Date.now() > 7_000_000, String(availableAt));
  });

  test('if a person must act, the task is blocked until somebody changes its status', async () => {
    const agent = await baton.participant();
    const task = await taskFor(agent, 'needs a signature');
    const mcp = await baton.connect(agent.token);
    const lease = leaseIn(await mcp.call('work_next', { assignedToMe: true }));
    const said = await mcp.call('work_blocked', { lease, reason: 'sign it', needsPerson: true });
    assert.match(said, /It has no owner whose help could be requested\./);
    const blocked = await baton.admin.tasks.get(task.id);
    assert.equal(blocked.systemStatusCategory, 'blocked');
    assert.match(
      said,
      new RegExp(`It is ${blocked.status}: it isn't offered until a person changes its status`),
    );
    assert.match(await mcp.refused('work_next', { task: task.publicId }), /^task_not_claimable: /);
  });

  test('a task that waits for another is offered when that is done, without a pause', async () => {
    const agent = await baton.participant();
    const [task, other] = [
      await taskFor(agent, 'second'),
      await baton.admin.tasks.create({ title: 'first' }),
    ];
    const mcp = await baton.connect(agent.token);
    const lease = leaseIn(await mcp.call('work_next', { assignedToMe: true }));
    const said = await mcp.call('work_blocked', {
      lease,
      reason: 'the other comes first',
      waitsFor: other.publicId,
    });
    assert.match(said, new RegExp(`It is offered again when ${other.publicId} is done`));
    assert.match(await mcp.call('work_next', { assignedToMe: true }), /No work is available/);
    const read = await mcp.call('task_get', { task: task.publicId });
    assert.match(read, /can't be taken now/);
    assert.match(read, /Blocked: the other comes first/);
    await baton.admin.tasks.complete(other.id, {}, { ifMatch: `"task-${other.version}"` });
    assert.match(await mcp.call('work_next', { assignedToMe: true, waitSeconds: 20 }), /You hold/);
  });

  test('the possible approvers are listed by a tool, and by the error of a request without one', async (t) => {
    // Uses its own Baton, because 20 people are listed and the shared one may have more.
    const own = await startRunningBaton();
    t.after(() => own.stop());
    const agent = await own.participant();
    const person = await own.participant(['approvals.read', 'approvals.decide'], 'human');
    const unable = await own.participant(['tasks.read'], 'human');
    const role = await own.admin.roles.create({ slug: `r${randomUUID()}`, name: 'Release manager' });
    await own.admin.principals.assignRole(person.principalId, { roleId: role.id });
    const task = await own.admin.tasks.create({
      title: 'deploy',
      assigneeId: agent.principalId,
      ownerId: unable.principalId,
    });
    const mcp = await own.connect(agent.token);
    const listed = await mcp.call('approval_deciders', { task: task.publicId });
    assert.match(listed, /^Name a person by personId, or a role by its slug:/);
    const lease = leaseIn(await mcp.call('work_next', { assignedToMe: true }));
    const ask = { lease, question: 'May I?' };
    for (const [args, why] of [
      [{}, /^The owner of TASK-\d+ \([\da-f-]+\) can't decide about it: name a person or a role\./],
      [{ personId: unable.principalId }, /^[\da-f-]+ can't decide about TASK-\d+\./],
      [{ role: 'nobody' }, /^Nobody who could decide about TASK-\d+ is known to hold a role nobody\./],
    ] as const) {
      const refused = await mcp.refused('ask_approval', { ...ask, ...args });
      assert.match(refused, why);
      assert.match(refused, new RegExp(`"name": "Release manager",\\n +"slug": "${role.slug}"`));
    }
    assert.match(listed, new RegExp(`"id": "${person.principalId}",\\n +"displayName": "a test"`));
    const asked = await mcp.call('ask_approval', { ...ask, role: role.slug });
    const [, approval = ''] = /approval ([\da-f-]{36})/.exec(asked) ?? [];
    await person.baton.approvals.approve(approval, {});
    const again = await mcp.call('work_next', { assignedToMe: true, waitSeconds: 20 });
    await mcp.call('work_done', { lease: leaseIn(again), summary: 'deployed' });
  });

  test('the form of a process step is shown, and the task is not done before its answers fit', async () => {
    const agent = await registerAgent(baton);
    const form = {
      type: 'object',
      required: ['weight'],
      properties: { weight: { type: 'number', minimum: 0.1, title: 'Weight in kg' } },
    };
    const human = {
      taskType: 'task',
      title: 'Weigh the parcel',
      form,
      context: { customer: 'data.customer' },
      assign: [{ agent: agent.key }],
    };
    const process = `p-${randomUUID()}`;
    await baton.admin.processDefinitions.publish({
      key: process,
      spec: {
        version: 1,
        displayName: 'Packing',
        identity: { agent: agent.key },
        data: { type: 'object', additionalProperties: true },
        start: { on: { observation: `never-${process}` }, key: 'event.id' },
        stages: [{ id: 'main', steps: [{ id: 'pack', human }] }],
      },
    });
    const instance = await baton.admin.processInstances.create({
      process,
      key: process,
      data: { customer: 'Ada' },
    });
    const taskId = await until('the task of the step', async () => {
      const { openElements } = await baton.admin.processInstances.get(instance.id);
      return openElements.find(({ taskId: id }) => id !== null)?.taskId ?? undefined;
    });
    const { publicId } = await baton.admin.tasks.get(taskId);
    const mcp = await baton.connect(agent.token);
    const taken = await mcp.call('work_next', { task: publicId });
    assert.match(taken, new RegExp(`${publicId} is a step of the process instance ${instance.id}`));
    assert.match(taken, /"title": "Weight in kg"/);
    assert.match(taken, /"customer": "Ada"/);
    assert.match(await mcp.call('task_get', { task: publicId }), /"title": "Weight in kg"/);
    const lease = leaseIn(taken);
    assert.match(
      await mcp.refused('work_done', { lease, summary: 'weighed' }),
      /^custom_fields_invalid: .*Details: must have the property weight[^]*"title": "Weight in kg"/,
    );
    assert.match(
      await mcp.refused('work_done', { lease, summary: 'weighed', fields: { weight: 0 } }),
      /^custom_fields_invalid: .*Details: \/weight: /,
    );
    const { systemStatusCategory, activeClaimId } = await baton.admin.tasks.get(taskId);
    assert.deepEqual([systemStatusCategory.startsWith('terminal'), activeClaimId], [false, lease]);
    const done = await mcp.call('work_done', { lease, summary: 'weighed', fields: '{"weight": 2.5}' });
    assert.match(done, new RegExp(`${publicId} is done`));
    assert.equal((await baton.admin.tasks.get(taskId)).customFields['weight'], 2.5);
  });
});
