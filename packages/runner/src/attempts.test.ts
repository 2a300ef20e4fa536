import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Task } from '@baton/sdk';
import { registerAgent } from '@baton/testing/registered-agent';
import { type RunningBaton, sharedBaton } from '@baton/testing/running-baton';
import { Runners, type Running, say, sayText } from './testing/runners.ts';

// Tests how a runner selects tasks, how many attempts it makes, and what its command's reports cause.

let baton: RunningBaton;
let runners: Runners;
let folder: string;

before(async () => {
  baton = await sharedBaton();
  folder = mkdtempSync(join(tmpdir(), 'baton-attempts-test-'));
  runners = new Runners(baton, folder);
});
after(() => {
  runners?.killAll();
  rmSync(folder, { recursive: true, force: true });
});

const statusesOf = async ({ id }: Task) =>
  (await baton.admin.runs.list({ taskId: id })).items.map(({ status }) => status);
const codeOf = async (running: Running) => [await running.ended, running.output()] as const;
const get = ({ id }: Task) => baton.admin.tasks.get(id);

/** Tasks of a new type, assigned to a new agent. */
async function tasksOfType(type: object, ...titles: string[]) {
  const key = `runner-${crypto.randomUUID().slice(0, 8)}`;
  await baton.admin.taskTypes.create({ key, displayName: 'A test', ...type });
  const agent = await baton.participant();
  const tasks: Task[] = [];
  for (const title of titles)
    tasks.push(await baton.admin.tasks.create({ title, typeKey: key, assigneeId: agent.principalId }));
  return { agent, tasks };
}

const workerPermissions = ['sessions.open', 'tasks.read', 'tasks.write', 'tasks.claim', 'task_types.read'];

const withoutBlocked = {
  lifecycleSchema: {
    statuses: [
      { key: 'open', category: 'active' },
      { key: 'done', category: 'terminal_success' },
      { key: 'dropped', category: 'terminal_cancelled' },
    ],
    initialStatus: 'open',
    transitions: [{ from: 'open', to: ['done', 'dropped'] }],
    completionStatus: 'done',
  },
};

describe('attempts of the runner', { concurrency: 4 }, () => {
  test('started again and again with --once, as by cron, it passes over tasks that fail', async () => {
    const { agent, tasks } = await runners.agentWith('Later', 'Broken', 'Good');
    const [later, broken, good] = tasks as [Task, Task, Task];
    const exec = 'case "$BATON_TASK_TITLE" in Later) exit 75;; Broken) exit 3;; esac';
    const codes: unknown[] = [];
    for (let start = 1; start <= 4; start += 1) codes.push(await runners.run(agent, exec, '--once').ended);
    assert.deepEqual(codes, [1, 1, 0, 0]);
    assert.deepEqual(await Promise.all([later, broken, good].map(statusesOf)), [
      ['failed'],
      ['failed'],
      ['succeeded'],
    ]);
    assert.ok((await get(later)).availableAt !== null);
    assert.equal((await get(broken)).status, 'blocked');
  });

  test('tasks of a type without a blocked status pause after a failure, and after a cancelled run stay left out', async () => {
    const { agent, tasks } = await tasksOfType(withoutBlocked, 'Broken', 'Is cancelled', 'Good');
    const [broken, cancelled, good] = tasks as [Task, Task, Task];
    const exec = 'case "$BATON_TASK_TITLE" in Broken) exit 3;; Is*) touch "$PLACE/begun"; sleep 60;; esac';
    const runner = runners.run(agent, exec);
    while (!existsSync(join(runner.place, 'begun'))) await sleep(50);
    const active = await runners.lastRun(cancelled);
    await baton.admin.runs.requestCancel(active?.id as string, { reason: 'no longer needed' });
    while ((await get(good)).systemStatusCategory !== 'terminal_success') await sleep(50);
    runner.child.kill('SIGTERM');
    assert.equal(await runner.ended, 0, runner.output());
    assert.deepEqual(await Promise.all([broken, cancelled].map(statusesOf)), [['failed'], ['cancelled']]);
    assert.ok((await get(broken)).availableAt !== null);
  });

  test('a type that limits the attempts decides by itself when a task is blocked', async () => {
    const retry = { maxAttempts: 2, backoffSeconds: 0 };
    const { agent, tasks } = await tasksOfType({ execution: { retry } }, 'Broken');
    const [task] = tasks as [Task];
    assert.equal(await runners.run(agent, 'exit 3', '--once').ended, 1);
    assert.equal((await get(task)).systemStatusCategory, 'active');
    assert.equal(await runners.run(agent, 'exit 3', '--once').ended, 1);
    assert.equal((await get(task)).systemStatusCategory, 'blocked');
    assert.deepEqual(await statusesOf(task), ['failed', 'failed']);
  });

  test('a command sets the delay that its provider requires', async () => {
    const { agent, tasks } = await runners.agentWith('Rate limited');
    const [task] = tasks as [Task];
    const exec = `${say({ do: 'retry_after', seconds: 7200 })}; exit 75`;
    assert.equal(await runners.run(agent, exec, '--once').ended, 1);
    const { finishedAt } = (await runners.lastRun(task)) ?? {};
    const pauseMs = Date.parse((await get(task)).availableAt ?? '') - Date.parse(finishedAt ?? '');
    assert.ok(Math.abs(pauseMs - 7_200_000) < 10_000, `it pauses for ${pauseMs} ms`);
  });

  test('--task works on one task with any assignee, or reports why not', async () => {
    const { agent, tasks } = await runners.agentWith('More urgent', 'The wanted one');
    const [other, wanted] = tasks as [Task, Task];
    const stranger = await baton.participant();
    const [code, output] = await codeOf(runners.run(stranger, 'true', '--task', wanted.publicId));
    assert.equal(code, 0, output);
    assert.deepEqual([await statusesOf(other), await statusesOf(wanted)], [[], ['succeeded']]);
    for (const [ref, why] of [
      [wanted.publicId, /TASK-\d+ can't be taken: task_not_claimable: /],
      ['TASK-999999', /TASK-999999 can't be taken: not_found: /],
    ] as const) {
      const [refused, said] = await codeOf(runners.run(agent, 'true', '--task', ref));
      assert.equal(refused, 1);
      assert.match(said, why);
      assert.doesNotMatch(said, /\bat .*\.ts:/);
    }
    const [usage, said] = await codeOf(runners.run(agent, 'true', '--task', 'TASK-1', '--type', 'task'));
    assert.deepEqual([usage, said], [2, '--task specifies the single task to work on: omit --type.\n']);
  });

  test('--workspace takes what is in a workspace or below it, by its slug or its id', async () => {
    const agent = await baton.participant([...workerPermissions, 'workspaces.read']);
    const slug = `runner-${crypto.randomUUID().slice(0, 8)}`;
    const { id } = await baton.admin.workspaces.create({ slug, name: 'A test' });
    const below = await baton.admin.workspaces.create({ slug: `${slug}-below`, name: 'Below', parentId: id });
    const create = (workspaceId: string | null) =>
      baton.admin.tasks.create({ title: 'x', workspaceId, assigneeId: agent.principalId });
    const [outside, inside, deeper] = [await create(null), await create(id), await create(below.id)];
    for (const ref of [slug, id, slug])
      assert.equal(await runners.run(agent, 'true', '--once', '--workspace', ref).ended, 0);
    assert.deepEqual(await Promise.all([outside, inside, deeper].map(statusesOf)), [
      [],
      ['succeeded'],
      ['succeeded'],
    ]);
    const [code, said] = await codeOf(runners.run(agent, 'true', '--once', '--workspace', 'nowhere'));
    assert.deepEqual([code, said], [1, 'There is no active workspace nowhere that this agent sees.\n']);
  });

  test('reports of a good command that cannot be stored are changed or omitted, with a comment on the task', async () => {
    const { agent, tasks } = await runners.agentWith('Reports too much');
    const [task] = tasks as [Task];
    const checkpoint = (kind: string, data: string) =>
      sayText(`{"do":"checkpoint","kind":"${kind}","data":${data}}`);
    const long = (before: string, bytes: number, after: string) =>
      `printf '%s ${before}' "$BATON_MARK"; head -c ${bytes} /dev/zero | tr '\\0' x; echo '${after}'`;
    const commands = [
      checkpoint('nul', '{"a\\u0000":"b\\u0000","half":"\\ud800"}'),
      checkpoint('numbers', '{"id":12345678901234567890,"huge":1e400,"power":1e23,"good":0.5}'),
      checkpoint('deep', `${'{"a":'.repeat(30)}1${'}'.repeat(30)}`),
      long('{"do":"checkpoint","kind":"large","data":{"a":"', 70_000, '"}}'),
      long('{"do":"checkpoint","kind":"endless","data":{"a":"', 300_000, '"}}'),
      sayText('{"do":"comment","body":"password = an-example-that-is-long"}'),
      say({ do: 'output', data: { kept: 1 } }),
      long('{"do":"output","data":{"a":"', 40_000, '"}}'),
      long('{"do":"output","data":{"b":"', 40_000, '"}}'),
      checkpoint('last', '{}'),
    ];
    const [code, output] = await codeOf(runners.run(agent, commands.join('; '), '--once'));
    assert.equal(code, 0, output);
    const run = await runners.lastRun(task);
    assert.equal(run?.status, 'succeeded');
    assert.deepEqual(Object.keys(run.output ?? {}).toSorted(), ['a', 'kept']);
    const { items } = await baton.admin.runs.listCheckpoints(run.id);
    assert.deepEqual(
      items.map(({ kind, data }) => [kind, data]),
      [
        ['nul', { 'a\uFFFD': 'b\uFFFD', half: '\uFFFD' }],
        ['numbers', { id: '12345678901234567890', huge: '1e400', power: '1e23', good: 0.5 }],
        ['last', {}],
      ],
    );
    const said = [
      /the checkpoint "nul": characters that cannot be stored were replaced/,
      /the checkpoint "numbers": numbers that would have been rounded are stored as text/,
      /the checkpoint "deep" was not stored: it is nested more than 20 levels deep/,
      /the checkpoint "large" was not stored: it has \d+ bytes, more than 65536/,
      /a line for the runner was not stored: it has more than 262144 bytes/,
      /"do":"comment" was not stored: secret_material_rejected/,
      /"do":"output" was not stored: it has \d+ bytes, more than 65536/,
    ];
    const comment = (await runners.bodies(task)).join('\n');
    for (const note of said) {
      assert.match(comment, note);
      assert.match(output, note);
    }
  });

  test('a registered agent works with the revision that is current when it takes a task', async () => {
    const agent = await registerAgent(baton);
    const runner = runners.run(agent, 'true');
    const done: (string | null)[] = [];
    const published: string[] = [];
    for (const instructions of ['Be quick.', 'Be thorough.']) {
      published.push(await agent.publish(instructions));
      const task = await baton.admin.tasks.create({ title: 'x', assigneeId: agent.principalId });
      while ((await get(task)).systemStatusCategory !== 'terminal_success') await sleep(50);
      done.push((await runners.lastRun(task))?.agentRevisionId ?? null);
    }
    assert.deepEqual(done, published);
    runner.child.kill('SIGTERM');
    assert.equal(await runner.ended, 0, runner.output());
  });

  test('an agent that may not read task types gets one sentence about it', async () => {
    const agent = await baton.participant(['sessions.open', 'tasks.read', 'tasks.write', 'tasks.claim']);
    const [code, output] = await codeOf(runners.run(agent, 'true', '--once'));
    assert.equal(code, 1);
    assert.match(output, /^a harness needs the permission task_types\.read: .*\.\n$/);
  });
});
