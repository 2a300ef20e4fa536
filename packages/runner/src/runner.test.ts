import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { etagOf, type Task } from '@baton/sdk';
import { program, repository } from '@baton/testing/baton-process';
import { isLongProof } from '@baton/testing/depth';
import { type RunningBaton, startRunningBaton } from '@baton/testing/running-baton';
import { type SilentProxy, silentProxy } from '@baton/testing/silent-proxy';
import { Secrets } from './secrets.ts';
import { type Agent, apiKey, mainFile, Runners, say, sayText } from './testing/runners.ts';

// Tests the runner as a separate process against a complete Baton.

let baton: RunningBaton;
let folder: string;
let runners: Runners;
const proxies: SilentProxy[] = [];

before(async () => {
  baton = await startRunningBaton();
  folder = mkdtempSync(join(tmpdir(), 'baton-runner-test-'));
  runners = new Runners(baton, folder);
});
after(async () => {
  runners?.killAll();
  for (const proxy of proxies) proxy.close();
  await baton?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const agentWith = (...titles: string[]) => runners.agentWith(...titles);
const run = (agent: Agent, exec: string, ...args: string[]) => runners.run(agent, exec, ...args);
const again = (agent: Agent, place: string, exec: string, ...args: string[]) =>
  runners.again(agent, place, exec, ...args);
const lastRun = (task: Task) => runners.lastRun(task);
const bodies = (task: Task) => runners.bodies(task);

async function eventually<Value>(
  what: string,
  look: () => Promise<Value | undefined> | Value | undefined,
  // Long enough: five parallel commands took over 20 s on two cores that also ran other test files.
  msMax = 90_000,
) {
  const deadline = performance.now() + msMax;
  for (;;) {
    const value = await look();
    if (value !== undefined && value !== false) return value as Value;
    if (performance.now() > deadline) throw new Error(`never: ${what}`);
    await sleep(50);
  }
}

const textOf = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined);
/**
 * A command writes this file and then renames it. Otherwise, a reader could find an empty file, which reads as the
 * number 0.
 */
const signsOfLife =
  'while :; do date +%s%N > "$PLACE/next"; mv "$PLACE/next" "$PLACE/alive"; sleep 0.1; done';
const lastSignMs = ({ place }: { place: string }) => Number(textOf(join(place, 'alive'))) / 1e6;
/** Waits until a command has been silent for `silentMs`. */
const noSign = (running: { place: string }, silentMs = 1_000) =>
  eventually('the end of all signs of life', async () => {
    const lastMs = lastSignMs(running);
    await sleep(silentMs);
    return lastSignMs(running) === lastMs || undefined;
  });
/** Waits until the lease on a task has been extended. */
async function prolonged(task: Task): Promise<void> {
  const { claimId } = await eventually('a run', () => lastRun(task));
  const endOf = async () => (await baton.admin.claims.get(claimId)).expiresAt;
  const first = await endOf();
  await eventually('a heartbeat', async () => (await endOf()) > first || undefined);
}

// Most of these tests wait for a lease, a grace period or the start of a program, so they run in parallel, the longest
// ones first.
describe('the runner', { concurrency: 8 }, () => {
  test('a command ends before its lease may have expired, when the runner itself is stopped', async () => {
    const { agent, tasks } = await agentWith('Stopped runner');
    const runner = run(agent, `trap "" TERM; ${signsOfLife}`, '--once', '--lease-seconds', '10');
    const alive = () => textOf(join(runner.place, 'alive'));
    await eventually('the begin', alive);
    // The long test waits past the first lease: the command can continue only because the runner extends its lease.
    if (isLongProof) await sleep(11_000);
    else await prolonged(tasks[0] as Task);
    const pastFirstMs = Date.now();
    await eventually('a sign of life past it', () => lastSignMs(runner) > pastFirstMs || undefined);
    const stoppedAtMs = Date.now();
    runner.child.kill('SIGSTOP');
    if (isLongProof) await sleep(11_000);
    else await noSign(runner, 3_000);
    const livedMs = lastSignMs(runner) - stoppedAtMs;
    runner.child.kill('SIGCONT');
    assert.ok(livedMs > 0, `it lived for ${livedMs} ms`);
    if (isLongProof) assert.ok(livedMs < 9_500, `it lived for ${livedMs} ms`);
    assert.equal(await runner.ended, 1);
  });

  test('a command ends before its lease may have expired, when the service does not respond', async () => {
    const { agent, tasks } = await agentWith('Silence');
    const between = await silentProxy(baton.url);
    proxies.push(between);
    const runner = run(
      { ...agent, url: between.url },
      `trap "" TERM; ${signsOfLife}`,
      '--once',
      '--lease-seconds',
      '10',
    );
    const alive = () => textOf(join(runner.place, 'alive'));
    await eventually('the begin', alive);
    const task = tasks[0] as Task;
    // Waits for the first heartbeat, because the command continues only if its lease was extended.
    await prolonged(task);
    between.isSilent = true;
    const stoppedAtMs = Date.now();
    // The long test waits longer than the lease, after which a successor could start.
    if (isLongProof) await sleep(11_000);
    else await noSign(runner, 3_000);
    const livedMs = lastSignMs(runner) - stoppedAtMs;
    between.isSilent = false;
    assert.ok(livedMs > 0, `it lived for ${livedMs} ms without an answer`);
    if (isLongProof) assert.ok(livedMs < 9_500, `it lived for ${livedMs} ms without an answer`);
    assert.notEqual(await runner.ended, 0);
    assert.notEqual((await baton.admin.tasks.get(task.id)).systemStatusCategory, 'terminal_success');
  });

  test('a command may use the whole grace, though it is longer than a lease', async () => {
    const { agent } = await agentWith('Takes its time to end');
    const runner = run(
      agent,
      `trap 'sleep 12; touch "$PLACE/tidied"; exit 0' TERM; touch "$PLACE/begun"; while :; do sleep 0.1; done`,
      '--lease-seconds',
      '10',
      '--grace-seconds',
      '60',
    );
    await eventually('the begin', () => existsSync(join(runner.place, 'begun')) || undefined);
    runner.child.kill('SIGTERM');
    await runner.ended;
    assert.ok(existsSync(join(runner.place, 'tidied')), runner.output());
  });

  test('a command does its task: it reads it, saves a step, comments, and its output is kept', async () => {
    const { agent, tasks } = await agentWith('Say hello');
    const [task] = tasks as [Task];
    const runner = run(
      agent,
      [
        'cat > "$PLACE/input.json"; env > "$PLACE/env"; pwd > "$PLACE/pwd"; ls -A | wc -l > "$PLACE/count"',
        'echo hello; echo to the error stream >&2',
        say({ do: 'checkpoint', kind: 'greeted', data: { whom: 'world' } }),
        say({ do: 'comment', body: 'I said hello.' }),
        say({ do: 'output', data: { said: 'hello' } }),
      ].join('; '),
      '--once',
    );
    assert.equal(await runner.ended, 0, runner.output());
    const done = await baton.admin.tasks.get(task.id);
    assert.equal(done.systemStatusCategory, 'terminal_success');
    const { id, status, output } = (await lastRun(task)) ?? {};
    assert.deepEqual([status, output], ['succeeded', { said: 'hello' }]);
    const checkpoints = await baton.admin.runs.listCheckpoints(id as string);
    assert.deepEqual(
      checkpoints.items.map(({ kind, data }) => [kind, data]),
      [['greeted', { whom: 'world' }]],
    );
    assert.deepEqual(await bodies(task), ['I said hello.']);
    const [log] = (await baton.admin.artifacts.list({ taskId: task.id })).items;
    assert.deepEqual(
      [log?.type, log?.name, log?.mediaType],
      ['log', 'output of attempt 1', 'text/plain; charset=utf-8'],
    );
    const kept = await (await baton.admin.artifacts.getContent(log?.id as string)).text();
    assert.match(kept, /^hello$/m);
    assert.match(kept, /^to the error stream$/m);
    const input = JSON.parse(readFileSync(join(runner.place, 'input.json'), 'utf8'));
    assert.deepEqual([input.task.title, input.context.run.id, input.isResumed], ['Say hello', id, false]);
    const environment = readFileSync(join(runner.place, 'env'), 'utf8');
    assert.match(environment, new RegExp(`^BATON_TASK=${task.publicId}$`, 'm'));
    assert.match(environment, /^BATON_FENCING_TOKEN=\d+$/m);
    assert.match(environment, /^BATON_TASK_TITLE=Say hello$/m);
    // The command must not get the runner's credential.
    assert.doesNotMatch(environment, /-case-setting/);
    assert.doesNotMatch(environment, /TOKEN=(?!\d+$)/m);
    assert.equal(readFileSync(join(runner.place, 'count'), 'utf8').trim(), '0');
    assert.equal(existsSync(readFileSync(join(runner.place, 'pwd'), 'utf8').trim()), false);
  });

  test('a command that wants one gets a short-lived access token', async () => {
    const { agent } = await agentWith('With a token');
    const runner = run(agent, 'env > "$PLACE/env"', '--once', '--pass-token');
    assert.equal(await runner.ended, 0);
    const [, token = ''] =
      /^BATON_ACCESS_TOKEN=(.+)$/m.exec(readFileSync(join(runner.place, 'env'), 'utf8')) ?? [];
    assert.equal(token.split('.').length, 3);
    assert.notEqual(token, agent.token);
  });

  test('a command that fails leaves its task blocked, with the reason', async () => {
    const { agent, tasks } = await agentWith('Fails');
    const [task] = tasks as [Task];
    const runner = run(agent, 'exit 3', '--once');
    assert.equal(await runner.ended, 1);
    const { status, failureReason } = (await lastRun(task)) ?? {};
    assert.deepEqual([status, failureReason], ['failed', 'exit_3: the command ended with code 3']);
    assert.equal((await baton.admin.tasks.get(task.id)).status, 'blocked');
    assert.match((await bodies(task)).join(), /tests failed: the command ended with code 3/);
  });

  test('a task that failed or was cancelled waits until somebody changes it, and others go on', async () => {
    const { agent, tasks } = await agentWith('Fails', 'Is cancelled', 'Good', 'Good, and the last');
    const [failing, cancelled, good, last] = tasks as [Task, Task, Task, Task];
    const exec = 'case "$BATON_TASK_TITLE" in Fails) exit 3;; Is*) sleep 60;; esac';
    const runner = run(agent, exec);
    const active = await eventually('the run that is cancelled', () => lastRun(cancelled));
    await baton.admin.runs.requestCancel(active.id, { reason: 'no longer needed' });
    await eventually('the last one', async () => (await lastRun(last))?.status === 'succeeded' || undefined);
    const statusesOf = async ({ id }: Task) =>
      (await baton.admin.runs.list({ taskId: id })).items.map(({ status }) => status);
    assert.deepEqual(await Promise.all([failing, cancelled, good].map(statusesOf)), [
      ['failed'],
      ['cancelled'],
      ['succeeded'],
    ]);
    const ifMatch = etagOf(await baton.admin.tasks.get(failing.id));
    await baton.admin.tasks.update(failing.id, { status: 'todo', title: 'Mended' }, { ifMatch });
    await eventually(
      'another attempt',
      async () => (await lastRun(failing))?.status === 'succeeded' || undefined,
    );
    assert.equal((await statusesOf(cancelled)).length, 1);
    runner.child.kill('SIGTERM');
    assert.equal(await runner.ended, 0, runner.output());
  });

  test('code 75 gives the task back for later', async () => {
    const { agent, tasks } = await agentWith('Later\u001b[2J\u202e');
    const [task] = tasks as [Task];
    const runner = run(agent, 'exit 75', '--once');
    assert.equal(await runner.ended, 1);
    // The author of the title must not control the runner's terminal.
    assert.match(runner.output(), / begins: Later \[2J $/m);
    for (const moving of ['\u001b', '\u202e']) assert.ok(!runner.output().includes(moving));
    const { status, failureReason } = (await lastRun(task)) ?? {};
    assert.deepEqual([status, failureReason], ['failed', 'exit_75: the command released the task']);
    assert.equal((await baton.admin.tasks.get(task.id)).status, 'todo');
  });

  test('an approval is requested, the command is stopped, and continues in a new run after the decision', async () => {
    const { agent, tasks } = await agentWith('Needs a yes');
    const [task] = tasks as [Task];
    const person = await baton.participant(['tasks.read', 'approvals.read', 'approvals.decide'], 'human');
    const ask = say({ do: 'ask_approval', question: 'May I?', personId: person.principalId });
    const runner = run(
      agent,
      `if [ -e "$PLACE/asked" ]; then cat > "$PLACE/second.json"; else touch "$PLACE/asked"; ${say({ do: 'checkpoint', kind: 'before' })}; ${ask}; sleep 60; fi`,
    );
    const approval = await eventually('an approval', async () => {
      const { items } = await baton.admin.approvals.list({ taskId: task.id });
      return items[0];
    });
    assert.equal(approval.comment, 'May I?');
    await eventually(
      'the suspension',
      async () => (await lastRun(task))?.status === 'suspended' || undefined,
    );
    await person.baton.approvals.approve(approval.id, { comment: 'Yes.' });
    await eventually('the end', async () => {
      const { systemStatusCategory } = await baton.admin.tasks.get(task.id);
      return systemStatusCategory === 'terminal_success' || undefined;
    });
    const second = JSON.parse(readFileSync(join(runner.place, 'second.json'), 'utf8'));
    assert.deepEqual(
      second.context.checkpoints.map(({ kind }: { kind: string }) => kind),
      ['before'],
    );
    runner.child.kill('SIGTERM');
    assert.equal(await runner.ended, 0, runner.output());
  });

  test('the command of a cancelled run gets SIGTERM, then SIGKILL', async () => {
    const { agent, tasks } = await agentWith('Cancelled');
    const [task] = tasks as [Task];
    const runner = run(
      agent,
      'trap "touch $PLACE/asked" TERM; touch "$PLACE/began"; while :; do sleep 0.1; done',
      '--once',
    );
    await eventually('the begin', () => existsSync(join(runner.place, 'began')) || undefined);
    const active = await lastRun(task);
    await baton.admin.runs.requestCancel(active?.id as string, { reason: 'no longer needed' });
    assert.equal(await runner.ended, 1);
    assert.ok(existsSync(join(runner.place, 'asked')));
    assert.equal((await lastRun(task))?.status, 'cancelled');
    assert.equal((await baton.admin.tasks.get(task.id)).status, 'blocked');
    const [message] = (await baton.admin.runs.listControlMessages(active?.id as string)).items;
    assert.deepEqual([message?.status, message?.safeBoundary], ['applied', 'the command was stopped']);
  });

  test('a command whose lease was taken away is killed, and nothing is written for it', async () => {
    const { agent, tasks } = await agentWith('Taken');
    const [task] = tasks as [Task];
    const runner = run(agent, `trap "" TERM; ${signsOfLife}`, '--once', '--lease-seconds', '10');
    const alive = () => textOf(join(runner.place, 'alive'));
    await eventually('the begin', alive);
    const claim = (await lastRun(task))?.claimId as string;
    await baton.admin.claims.release(claim, { reason: 'taken' });
    assert.equal(await runner.ended, 1);
    assert.match(runner.output(), / lost after /);
    const last = alive();
    await sleep(500);
    assert.equal(alive(), last);
  });

  test('a runner that is killed takes its command along, and the next one continues from the checkpoint', async () => {
    const { agent, tasks } = await agentWith('Survives');
    const [task] = tasks as [Task];
    const exec = `cat > "$PLACE/input.json"; if grep -q '"isResumed":true' "$PLACE/input.json"; then exit 0; fi; ${say({ do: 'checkpoint', kind: 'half' })}; sh -c '${signsOfLife}' & wait`;
    const runner = run(agent, exec);
    await eventually('the begin', () => textOf(join(runner.place, 'alive')));
    await eventually('the checkpoint', async () => {
      const { id } = (await lastRun(task)) ?? { id: '' };
      return (await baton.admin.runs.listCheckpoints(id)).items[0];
    });
    runner.child.kill('SIGKILL');
    await runner.ended;
    // Without the kill, the command would run as long as its lease, which is longer than this timeout.
    await noSign(runner);
    const next = again(agent, runner.place, exec, '--once');
    assert.equal(await next.ended, 0, next.output());
    assert.match(next.output(), /is continued/);
    const { items: runs } = await baton.admin.runs.list({ taskId: task.id });
    assert.deepEqual(
      runs.map(({ status }) => status),
      ['succeeded'],
    );
  });

  test('a command that ignores SIGTERM does not outlive a runner that is killed in the grace', async () => {
    const { agent } = await agentWith('Killed in the grace');
    const runner = run(agent, `trap "touch $PLACE/asked" TERM; ${signsOfLife}`, '--grace-seconds', '60');
    await eventually('the begin', () => textOf(join(runner.place, 'alive')));
    runner.child.kill('SIGTERM');
    await eventually('SIGTERM', () => existsSync(join(runner.place, 'asked')) || undefined);
    runner.child.kill('SIGKILL');
    await runner.ended;
    await noSign(runner);
  });

  const noSetsid = process.platform !== 'linux' || spawnSync('setsid', ['--version']).error !== undefined;

  test('a process outside of the group ends with the run, and at the next start after kill -9', {
    skip: noSetsid && 'setsid is not here, or this is not Linux',
  }, async () => {
    const daemon = `setsid sh -c '${signsOfLife}'`;
    const { agent } = await agentWith('Leaves a daemon');
    const runner = run(
      agent,
      `${daemon} >/dev/null 2>&1 & until [ -e "$PLACE/alive" ]; do sleep 0.1; done`,
      '--once',
    );
    assert.equal(await runner.ended, 0, runner.output());
    const alive = (place: string) => textOf(join(place, 'alive'));
    const isGone = async (place: string) => {
      const last = alive(place);
      await sleep(500);
      return alive(place) === last;
    };
    assert.ok(await isGone(runner.place));
    const second = await agentWith('Leaves a daemon, and is killed');
    const killed = run(second.agent, `${daemon} >/dev/null 2>&1 & wait`, '--lease-seconds', '10');
    await eventually('the begin', () => alive(killed.place));
    killed.child.kill('SIGKILL');
    await killed.ended;
    const last = alive(killed.place);
    await eventually('a sign that it lives on', () => alive(killed.place) !== last || undefined);
    const next = again(second.agent, killed.place, 'true', '--type', 'other');
    await next.prints(/the remaining processes of an earlier runner: [1-9] processes/);
    assert.ok(await isGone(killed.place));
    next.child.kill('SIGTERM');
    await next.ended;
  });

  test('several tasks are done at a time, each in its own folder', async () => {
    const { agent, tasks } = await agentWith('one', 'two', 'three');
    const runner = run(
      agent,
      'touch "$PLACE/$BATON_TASK"; while [ "$(ls "$PLACE" | grep -c TASK)" -lt 3 ]; do sleep 0.1; done',
      '--parallel',
      '3',
    );
    for (const { id } of tasks)
      await eventually('all at once', async () =>
        (await baton.admin.tasks.get(id)).systemStatusCategory === 'terminal_success' ? true : undefined,
      );
    runner.child.kill('SIGTERM');
    assert.equal(await runner.ended, 0);
  });

  test('a runner that gets SIGTERM releases its tasks', async () => {
    const { agent, tasks } = await agentWith('Not finished');
    const [task] = tasks as [Task];
    const runner = run(agent, 'touch "$PLACE/began"; sleep 60');
    await eventually('the begin', () => existsSync(join(runner.place, 'began')) || undefined);
    runner.child.kill('SIGTERM');
    assert.equal(await runner.ended, 0, runner.output());
    assert.equal((await lastRun(task))?.status, 'cancelled');
    // The run didn't fail, so the task is available at once.
    const { status, availableAt } = await baton.admin.tasks.get(task.id);
    assert.deepEqual([status, availableAt], ['todo', null]);
  });

  test('endless and broken output harms nobody', async () => {
    const { agent, tasks } = await agentWith('Noise');
    const [task] = tasks as [Task];
    const runner = run(
      agent,
      [
        'head -c 12000000 /dev/zero',
        'echo',
        'head -c 400000 /dev/zero | tr "\\0" "x"',
        'echo',
        'head -c 1000 /dev/urandom',
        'echo',
        say({ do: 'output', data: { heard: true } }),
      ].join('; '),
      '--once',
    );
    assert.equal(await runner.ended, 0, runner.output());
    assert.deepEqual((await lastRun(task))?.output, { heard: true });
    const [log] = (await baton.admin.artifacts.list({ taskId: task.id })).items;
    assert.ok((log?.sizeBytes ?? 0) < 10_500_000, String(log?.sizeBytes));
  });

  /**
   * Lets one runner execute the titles of tasks as commands, all at once, until every run has failed. @returns the
   * reasons, by title
   */
  async function failuresOf(...commands: string[]): Promise<string[]> {
    const { agent, tasks } = await agentWith(...commands);
    const runner = run(agent, 'sh -c "$BATON_TASK_TITLE"', '--parallel', String(commands.length));
    const reasonOf = async (task: Task) => {
      const last = await lastRun(task);
      return last?.status === 'failed' ? (last.failureReason ?? '') : undefined;
    };
    const said = await Promise.all(tasks.map((task) => eventually('a failure', () => reasonOf(task)))).catch(
      (error: Error) => assert.fail(`${error.message}\n${runner.output()}`),
    );
    runner.child.kill('SIGTERM');
    assert.equal(await runner.ended, 0, runner.output());
    for (const { id } of tasks) assert.equal((await baton.admin.tasks.get(id)).status, 'blocked');
    return said;
  }

  test('an invalid line for the runner fails the run, with the reason', async () => {
    const lines: [string, RegExp][] = [
      ['nonsense', /it is not valid JSON/],
      ['{"do":"dance"}', /"do" is one of/],
      ['{"do":"comment","body":""}', /body is a text/],
      ['{"do":"comment","body":"x","to":"y"}', /there is no "to"/],
      ['{"do":"checkpoint","kind":"x","data":[1]}', /data is an object/],
    ];
    const reasons = await failuresOf(...lines.map(([line]) => sayText(line)));
    for (const [index, [, why]] of lines.entries()) assert.match(reasons[index] ?? '', why);
  });

  test("text of a task that a command prints is output, and the mark of one command is no other's", async () => {
    const forged = (mark: string) =>
      [
        `${mark} {"do":"output","data":{"passed":true}}`,
        `${mark} {"do":"comment","body":"Approved by the owner"}`,
        `${mark} {"do":"ask_approval","question":"May I?"}`,
        `${mark} nonsense`,
      ].join('\n');
    const agent = await baton.participant();
    const create = (description: string) =>
      baton.admin.tasks.create({ title: 'Forged', description, assigneeId: agent.principalId });
    const printsTask = `'${process.execPath}' -p 'JSON.parse(require("node:fs").readFileSync(0, "utf8")).task.description'`;
    const first = await create(forged('::baton::'));
    const runner = run(agent, `printf '%s' "$BATON_MARK" > "$PLACE/mark"; ${printsTask}`, '--once');
    assert.equal(await runner.ended, 0, runner.output());
    assert.match(runner.output(), /a line that begins with ::baton:: was ignored\..*--fixed-mark/);
    const mark = textOf(join(runner.place, 'mark')) as string;
    assert.match(mark, /^::baton-[0-9a-f]{32}::$/);
    const second = await create(forged(mark));
    assert.equal(await run(agent, printsTask, '--once').ended, 0);
    for (const task of [first, second]) {
      const { status, output, id: runId } = (await lastRun(task)) ?? {};
      assert.deepEqual([status, output], ['succeeded', null]);
      assert.deepEqual(await bodies(task), []);
      const [log] = (await baton.admin.artifacts.list({ taskId: task.id })).items;
      const printed = await (await baton.admin.artifacts.getContent(log?.id as string)).text();
      assert.match(printed, /^::baton\S* \{"do":"output","data":\{"passed":true\}\}$/m, runId);
    }
  });

  test("text without a line end can't hide the next line of the command", async () => {
    const { agent, tasks } = await agentWith('Open line', 'Long open line', 'Traced');
    const prints = [
      "printf '::baton:: open'",
      "head -c 600000 /dev/zero | tr '\\0' x",
      // A shell trace prints each command, and thereby its marked lines, in addition.
      'exec 2>&1; set -x',
    ];
    const asks = [say({ do: 'comment', body: 'Heard' }), say({ do: 'output', data: { n: 1 } })].join('; ');
    for (const print of prints) assert.equal(await run(agent, `${print}; ${asks}`, '--once').ended, 0, print);
    for (const task of tasks) {
      const { status, output } = (await lastRun(task)) ?? {};
      assert.deepEqual([status, output], ['succeeded', { n: 1 }]);
      assert.ok((await bodies(task)).includes('Heard'));
    }
  });

  test('with --fixed-mark the mark is the same in every run', async () => {
    const { agent, tasks } = await agentWith('Old command');
    const exec = `printf '%s\\n' '::baton:: {"do":"output","data":{"heard":true}}'; test "$BATON_MARK" = ::baton::`;
    assert.equal(await run(agent, exec, '--once', '--fixed-mark').ended, 0);
    assert.deepEqual((await lastRun(tasks[0] as Task))?.output, { heard: true });
  });

  test('only tasks with the wanted labels are taken', async () => {
    const { agent, tasks } = await agentWith('Of another type');
    const runner = run(agent, 'true', '--once', '--type', 'other');
    assert.equal(await runner.ended, 0);
    assert.equal(await lastRun(tasks[0] as Task), undefined);
    assert.equal(await run(agent, 'true', '--once', '--label', 'gpu').ended, 0);
    assert.equal(await lastRun(tasks[0] as Task), undefined);
    assert.equal(await run(agent, 'true', '--once', '--type', 'task').ended, 0);
    assert.equal((await lastRun(tasks[0] as Task))?.status, 'succeeded');
  });

  test('a second runner in the same folder, wrong words and a wrong token are refused in one sentence', async () => {
    const { agent } = await agentWith();
    const first = run(agent, 'true');
    await first.prints(/Waiting for work/);
    const second = again(agent, first.place, 'true');
    assert.equal(await second.ended, 1);
    assert.match(second.output(), /^Another runner \(process \d+\) uses .*--folder\.\n$/);
    first.child.kill('SIGTERM');
    await first.ended;
    for (const [args, code, text] of [
      [[], 2, /Specify the command to run with --exec/],
      [['--exec', 'true', '--parallel', '0'], 2, /--parallel is a whole number from 1 to 64/],
      [['--exec', 'true', '--dance'], 2, /dance/],
    ] as const) {
      const wrong = program('packages/runner/src/main.ts', [...args], {});
      assert.equal(await wrong.ended, code);
      assert.match(wrong.output(), text);
    }
    const stranger = run({ ...agent, token: 'wrong' }, 'true', '--once');
    assert.equal(await stranger.ended, 4);
    assert.match(stranger.output(), /Baton refuses the token/);
  });

  test('secrets that a command prints are kept nowhere', async () => {
    const { agent, tasks } = await agentWith('Talks too much');
    const [task] = tasks as [Task];
    const runner = run(
      agent,
      [
        'printf "key %s" "${DEPLOY_API_KEY%bcdef}"; sleep 0.3; echo "${DEPLOY_API_KEY#*a}, and the rest"',
        'echo "token $BATON_ACCESS_TOKEN." >&2; sleep 0.3; printf "the end of it: sk-12345"',
        `printf '\\n%s {"do":"comment","body":"I use %s"}\\n' "$BATON_MARK" "$(echo "$DEPLOY_API_KEY" | sed 's/"/\\\\"/')"`,
        'printf "%s" "$BATON_ACCESS_TOKEN" > "$PLACE/token"',
      ].join('; '),
      '--once',
      '--pass-token',
    );
    assert.equal(await runner.ended, 0, runner.output());
    const [log] = (await baton.admin.artifacts.list({ taskId: task.id })).items;
    const kept = await (await baton.admin.artifacts.getContent(log?.id as string)).text();
    assert.match(kept, /^key \*\*\*, and the rest$/m);
    assert.match(kept, /^token \*\*\*\.$/m);
    assert.match(kept, /the end of it: sk-12345\n/);
    assert.deepEqual(await bodies(task), ['I use ***']);
    const token = textOf(join(runner.place, 'token')) as string;
    assert.equal(token.split('.').length, 3);
    assert.ok(!kept.includes(token) && !kept.includes(apiKey));
  });

  test('a command that is passed a token finds a valid one in a file, and a renewed one is hidden, too', async () => {
    const { agent, tasks } = await agentWith('Long work');
    const exec = `test "$(cat "$BATON_ACCESS_TOKEN_FILE")" = "$BATON_ACCESS_TOKEN" && ls -l "$BATON_ACCESS_TOKEN_FILE" && cat "$BATON_ACCESS_TOKEN_FILE"`;
    const runner = run(agent, exec, '--once', '--pass-token');
    assert.equal(await runner.ended, 0, runner.output());
    const [log] = (await baton.admin.artifacts.list({ taskId: (tasks[0] as Task).id })).items;
    const kept = await (await baton.admin.artifacts.getContent(log?.id as string)).text();
    assert.match(kept, /^-rw------- .*\n\*\*\*$/);
    const secrets = new Secrets(['the-token-of-the-runner'], {});
    const stream = secrets.stream();
    stream.take(Buffer.from('begun '));
    for (const token of ['first-token', 'second-token', 'third-token', 'fourth-token']) secrets.renew(token);
    assert.equal(secrets.hidden('fourth-token second-token the-token-of-the-runner'), '*** *** ***');
    assert.equal(stream.take(Buffer.from('third-token, and')).toString(), '***, and');
  });

  test('if there are too many secrets to search, tokens and values of one line come first', () => {
    const linesOf = (name: string) =>
      Array.from({ length: 150 }, (_, n) => `${name}, line ${n} of a long key`);
    const secrets = new Secrets(['pat_12345678'], {
      TLS_PRIVATE_KEY: linesOf('first').join('\n'),
      OTHER_PRIVATE_KEY: linesOf('second').join('\n'),
      DB_PASSWORD: 'hunter-2-hunter',
    });
    assert.equal(secrets.hidden('pat_12345678 hunter-2-hunter'), '*** ***');
    assert.equal(secrets.hidden(linesOf('first')[149] as string), '***');
    assert.equal(secrets.leftOut, 102);
  });

  test('if the disk is full, a command continues, its lines are executed, and the log reports it', async () => {
    const { agent, tasks } = await agentWith('Full disk');
    const exec = `head -c 500000 /dev/zero | tr '\\0' x; echo; ${say({ do: 'output', data: { heard: true } })}`;
    const place = join(folder, 'full');
    // The maximum file size of this runner: further writes fail, as on a full disk.
    const args = ['-c', 'ulimit -f 64; exec "$@"', 'sh', process.execPath, join(repository, mainFile)];
    const keys = Array.from({ length: 250 }, (_, n) => `line ${n} of a key`).join('\n');
    const env = { PATH: process.env.PATH, ...runners.environmentOf(agent, place), TLS_PRIVATE_KEYS: keys };
    const { stderr } = await promisify(execFile)(
      'sh',
      [...args, ...runners.wordsOf(place, exec, ['--once'])],
      {
        env,
      },
    );
    assert.match(stderr, /its output is not completely stored: EFBIG/);
    // The 200 secrets that are searched for are the runner's token, the key in two formats, and lines of the keys.
    assert.match(stderr, /53 lines of secrets are not searched in its output/);
    const { status, output } = (await lastRun(tasks[0] as Task)) ?? {};
    assert.deepEqual([status, output], ['succeeded', { heard: true }]);
  });

  test('an end that the service rejects permanently fails the run, with the reason', async () => {
    const nobody = crypto.randomUUID();
    const [unknown, tooMany] = await failuresOf(
      say({ do: 'ask_approval', question: 'May I?', personId: nobody }),
      `yes "$BATON_MARK {\\"do\\":\\"output\\",\\"data\\":{}}" | head -n 10001`,
    );
    assert.match(unknown ?? '', /^end_refused: its end was rejected: \w+/);
    assert.match(tooMany ?? '', /may print 10000 of them/);
  });

  test('a runner whose command gives its task back, or fails, pauses before the next one', async () => {
    const { agent, tasks } = await agentWith('Not now', 'Nor this');
    const runner = run(agent, 'exit 75');
    await runner.prints(/The next task is taken in 2 s/);
    const [first, second] = await Promise.all(tasks.map(lastRun));
    const pausedMs = Date.parse(second?.startedAt ?? '') - Date.parse(first?.finishedAt ?? '');
    assert.ok(pausedMs >= 1_000, `it paused for ${pausedMs} ms`);
    runner.child.kill('SIGTERM');
    assert.equal(await runner.ended, 0);
  });

  test('a command that removes its folder, or leaves one closed to writers, is done all the same', async () => {
    const { agent, tasks } = await agentWith('Removes all', 'Leaves a closed folder');
    const runner = run(agent, 'echo hello; rm -r "${PWD%/*}"', '--once');
    assert.equal(await runner.ended, 0, runner.output());
    assert.equal((await lastRun(tasks[0] as Task))?.status, 'succeeded');
    const place = mkdtempSync(join(folder, 'closed-'));
    const code = `
    import { existsSync, mkdirSync, writeFileSync, chmodSync } from 'node:fs';
    import { removeFolder } from '${join(repository, 'packages/runner/src/remove-folder.ts')}';
    mkdirSync('a/b', { recursive: true });
    writeFileSync('a/b/kept', '');
    chmodSync('a/b', 0o500);
    console.log(removeFolder('a') ?? 'removed', existsSync('a'));`;
    // Root could remove everything, so the test runs as another user.
    const isRoot = process.getuid?.() === 0;
    const someone = isRoot ? { uid: 65_534, gid: 65_534 } : {};
    if (isRoot) for (const path of [folder, place]) chownSync(path, 65_534, 65_534);
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', code];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: place, ...someone });
    assert.equal(stdout.trim(), 'removed false');
  });
});
