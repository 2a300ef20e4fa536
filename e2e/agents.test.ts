import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { etagOf } from '@baton/sdk';
import { repository, baton as runBaton } from '@baton/testing/baton-process';
import { byDepth, longTest } from '@baton/testing/depth';
import { registerAgent } from '@baton/testing/registered-agent';
import { type Participant, type RunningBaton, startRunningBaton } from '@baton/testing/running-baton';

// The agents of examples/, each as a separate program against a whole Baton. In `npm test` each completes its task
// once.

let baton: RunningBaton;
let folder: string;
let pages: Server;
let page: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'baton-agents-test-'));
  pages = createServer((req, res) => res.writeHead(req.url === '/page' ? 200 : 503).end('x'.repeat(1234)));
  await new Promise<void>((done) => pages.listen(0, '127.0.0.1', done));
  page = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  baton = await startRunningBaton();
});
after(async () => {
  await baton?.stop();
  pages.close();
  rmSync(folder, { recursive: true, force: true });
});

const missing = (...tools: string[]): string | false => {
  const tool = tools.find((name) => spawnSync(name, ['--version']).error !== undefined);
  return tool === undefined ? false : `${tool} is not installed`;
};
const example = (path: string) => join(repository, 'examples', path);
const lastRunOf = async (taskId: string) => (await baton.admin.runs.list({ taskId })).items[0];

/** Lets an agent's runner do its one task. @returns the exit code and the output */
async function runOnce(
  agent: Participant,
  exec: string,
  environment: Record<string, string> = {},
  more: readonly string[] = [],
) {
  const place = join(folder, agent.principalId);
  const args = ['agent', 'run', '--exec', exec, '--once', '--mine', '--folder', place, ...more];
  const settings = { BATON_URL: baton.url, BATON_TOKEN: agent.token, ...environment };
  const runner = runBaton(args, settings);
  return { code: await runner.ended, output: runner.output() };
}

/** Runs the commands of an example's README, with `changes`, in a shell that finds this Baton as `npx baton`. */
async function runShown(page: string, changes: readonly (readonly [string, string])[]): Promise<string> {
  const [, shown = ''] = /^```sh\n(.*?)^```/ms.exec(readFileSync(example(page), 'utf8')) ?? [];
  const commands = changes.reduce((text, [from, to]) => {
    assert.ok(text.includes(from), `${from} is not in ${page}`);
    return text.replaceAll(from, to);
  }, shown);
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, BATON_HOME: baton.home };
  const args = ['-euo', 'pipefail', '-c', commands];
  const { stdout, stderr } = await promisify(execFile)('bash', args, { cwd: repository, env });
  return stdout + stderr;
}

/** An open task outside of all examples. */
async function createStrangersTasks(): Promise<() => Promise<void>> {
  const tasks = [
    await baton.admin.tasks.create({ title: `${page}/page`, priority: 'critical' }),
    await baton.admin.tasks.create({ title: 'Labelled', priority: 'critical', customFields: { labels } }),
  ];
  return async () => {
    for (const { id } of tasks) {
      assert.equal(await lastRunOf(id), undefined, 'an example took what it found');
      // Otherwise it would be offered to the next example before that example's own task.
      const ifMatch = etagOf(await baton.admin.tasks.get(id));
      await baton.admin.tasks.update(id, { status: 'cancelled' }, { ifMatch });
    }
  };
}
const labels = ['measure', 'count-words', 'code'];
/** A replacement that moves the runner's folder outside the folder where the tests run. */
const apart = (name: string) => ['agent run', `agent run --folder "${join(folder, name)}"`] as const;

longTest(
  "the commands in the shell script's README work as written, on its own tasks only",
  {
    skip: missing('curl', 'bash'),
  },
  async () => {
    const assertUntouched = await createStrangersTasks();
    const printed = await runShown('agent-shell/README.md', [
      ['https://example.com/', `${page}/page`],
      apart('shown-shell'),
    ]);
    assert.match(printed, /done after/);
    await assertUntouched();
  },
);

test("the commands in the coding agent's README work as written, on its own tasks only", {
  skip: missing('git', 'bash'),
}, async () => {
  const assertUntouched = await createStrangersTasks();
  const repositoryPath = makeRepository();
  const printed = await runShown('agent-coding/README.md', [
    ['git@example.com:shop.git', repositoryPath],
    ["'npm test'", "'test -s CHANGES'"],
    ["'claude -p --permission-mode acceptEdits'", `'${example('agent-coding/stand-in.sh')}'`],
    ['--parallel 2', '--once'],
    apart('shown-coding'),
  ]);
  assert.match(printed, /done after/);
  const branches = execFileSync('git', ['branch', '--list', 'task/*'], { cwd: repositoryPath }).toString();
  assert.match(branches, /task\/TASK-\d+/);
  await assertUntouched();
});

longTest(
  "the commands in the Python agent's README work as written, on its own tasks only",
  {
    skip: missing('python3', 'bash'),
  },
  async () => {
    const assertUntouched = await createStrangersTasks();
    assert.match(await runShown('agent-python/README.md', []), /TASK-\d+ done: 3 words/);
    await assertUntouched();
  },
);

test("the shell script measures a page, and releases or fails a task that it can't do", {
  skip: missing('curl'),
}, async () => {
  const cases = [
    [`${page}/page`, 0, 'succeeded', { bytes: 1234 }],
    [`${page}/away`, 1, 'failed', 'exit_75: the command released the task'],
    ['no address', 1, 'failed', 'exit_2: the command ended with code 2'],
  ] as const;
  for (const [title, code, status, said] of cases.slice(0, byDepth(1, cases.length))) {
    const agent = await baton.participant();
    const task = await baton.admin.tasks.create({ title, assigneeId: agent.principalId });
    const ended = await runOnce(agent, example('agent-shell/measure.sh'));
    assert.equal(ended.code, code, ended.output);
    const run = await lastRunOf(task.id);
    assert.deepEqual(
      [run?.status, status === 'succeeded' ? run?.output : run?.failureReason],
      [status, said],
    );
  }
});

longTest(
  'the shell script continues from the step that an earlier attempt saved',
  {
    skip: missing('curl'),
  },
  async () => {
    const agent = await baton.participant();
    const task = await baton.admin.tasks.create({ title: `${page}/away`, assigneeId: agent.principalId });
    await using harness = await agent.baton.harness.open({ name: 'the attempt before' });
    for await (const lease of harness.work({ filter: { assignedToMe: true } })) {
      await lease.checkpoint('loaded', { bytes: 77 });
      break;
    }
    const ended = await runOnce(agent, example('agent-shell/measure.sh'));
    assert.equal(ended.code, 0, ended.output);
    assert.deepEqual((await lastRunOf(task.id))?.output, { bytes: 77 });
  },
);

/** A bare repository with one commit. */
function makeRepository(): string {
  const path = join(folder, `repository-${Date.now()}.git`);
  mkdirSync(path);
  const git = (...args: string[]) => execFileSync('git', args, { cwd: path, stdio: 'pipe' });
  git('init', '--quiet', '--bare', '--initial-branch', 'main');
  const tree = git('hash-object', '-t', 'tree', '-w', '--stdin').toString().trim();
  const who = ['-c', 'user.name=test', '-c', 'user.email=test@localhost'];
  const commit = git(...who, 'commit-tree', tree, '-m', 'begin')
    .toString()
    .trim();
  git('update-ref', 'refs/heads/main', commit);
  return path;
}

test('a coding agent changes a repository, and its work is on a branch of the task', {
  skip: missing('git'),
}, async () => {
  const repositoryPath = makeRepository();
  const agent = await baton.participant();
  const title = 'Say hello in French';
  const planted = join(folder, 'planted');
  const hook = `printf '#!/bin/sh\\ntouch ${planted}\\n'`;
  const plants = `${hook} | tee .git/hooks/pre-commit > .git/hooks/pre-push && chmod +x .git/hooks/pre-*`;
  const task = await baton.admin.tasks.create({ title, assigneeId: agent.principalId });
  const ended = await runOnce(agent, example('agent-coding/work.sh'), {
    REPOSITORY: repositoryPath,
    AGENT: `${example('agent-coding/stand-in.sh')} && ${plants}`,
    CHECK: 'test "$(wc -l < CHANGES)" -eq 1',
  });
  assert.equal(ended.code, 0, ended.output);
  assert.ok(!existsSync(planted), 'a hook that the agent wrote ran');
  const branch = `task/${task.publicId}`;
  const git = (...args: string[]) => execFileSync('git', args, { cwd: repositoryPath }).toString().trim();
  assert.equal(git('show', `${branch}:CHANGES`), title);
  assert.equal(git('log', '-1', '--format=%s', branch), `${task.publicId}: ${title}`);
  // The agent's output also imitates a line for the runner, which must not end up in the result.
  assert.deepEqual((await lastRunOf(task.id))?.output, { branch, commit: git('rev-parse', branch) });
});

longTest("a coding agent whose work fails the check doesn't push", { skip: missing('git') }, async () => {
  const repositoryPath = makeRepository();
  const agent = await baton.participant();
  const task = await baton.admin.tasks.create({ title: 'Broken', assigneeId: agent.principalId });
  const settings = { REPOSITORY: repositoryPath, AGENT: example('agent-coding/stand-in.sh'), CHECK: 'false' };
  assert.equal((await runOnce(agent, example('agent-coding/work.sh'), settings)).code, 1);
  assert.equal((await lastRunOf(task.id))?.status, 'failed');
  assert.equal(execFileSync('git', ['branch', '--list', 'task/*'], { cwd: repositoryPath }).toString(), '');
});

longTest(
  'a coding agent pushes under its lease, through the hook that requires one',
  {
    skip: missing('git'),
  },
  async () => {
    const repositoryPath = makeRepository();
    cpSync(example('lease-guard'), join(repositoryPath, 'baton'), { recursive: true });
    symlinkSync('../baton/pre-receive.mjs', join(repositoryPath, 'hooks', 'pre-receive'));
    execFileSync('git', ['config', 'receive.advertisePushOptions', 'true'], { cwd: repositoryPath });
    const gateway = await baton.participant(['tasks.read']);
    const tokenFile = join(folder, 'gateway-token');
    writeFileSync(tokenFile, gateway.token, { mode: 0o600 });
    for (const [lease, status] of [
      ['', 'failed'],
      ['1', 'succeeded'],
    ] as const) {
      const agent = await baton.participant();
      const task = await baton.admin.tasks.create({ title: 'Guarded', assigneeId: agent.principalId });
      // The push goes to a local path, so the hook is a child of the command and needs both variables. A real server
      // sets its own.
      const server = `BATON_URL='${baton.url}' BATON_TOKEN_FILE='${tokenFile}'`;
      const exec = `${server} ${example('agent-coding/work.sh')}`;
      const environment = {
        REPOSITORY: repositoryPath,
        AGENT: example('agent-coding/stand-in.sh'),
        PUSH_WITH_LEASE: lease,
      };
      const { output } = await runOnce(agent, exec, environment, ['--pass-token']);
      assert.equal((await lastRunOf(task.id))?.status, status, output);
    }
  },
);

async function makeWorkspace(): Promise<string> {
  const slug = `texts-${crypto.randomUUID().slice(0, 8)}`;
  return (await baton.admin.workspaces.create({ slug, name: 'Texts' })).id;
}

async function runPython(token: string, workspaceId: string, ...words: string[]) {
  const child = spawn('python3', [example('agent-python/agent.py'), '--once', ...words], {
    env: {
      PATH: process.env.PATH,
      BATON_URL: baton.url,
      BATON_TOKEN: token,
      BATON_WORKSPACE: workspaceId,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (printed += chunk));
  const code = await new Promise((done) => child.once('exit', done));
  return { code, printed };
}

test('a registered agent in Python sends the revision that is current when it takes a task', {
  skip: missing('python3'),
}, async () => {
  const agent = await registerAgent(baton);
  const workspaceId = await makeWorkspace();
  const done: unknown[] = [];
  const published: string[] = [];
  for (const instructions of ['Be quick.', 'Be thorough.']) {
    published.push(await agent.publish(instructions));
    const task = await baton.admin.tasks.create({ title: 'Count', workspaceId, customFields: { labels } });
    const { code, printed } = await runPython(agent.token, workspaceId);
    assert.equal(code, 0, printed);
    done.push((await lastRunOf(task.id))?.agentRevisionId);
  }
  assert.deepEqual(done, published);
});

test('the agent in Python does its tasks by plain HTTP', { skip: missing('python3') }, async () => {
  const agent = await baton.participant();
  const workspaceId = await makeWorkspace();
  const tasks: string[] = [];
  for (const description of ['one two three', 'four\nfive', '']) {
    const body = { title: 'Count', description, assigneeId: agent.principalId, workspaceId };
    tasks.push((await baton.admin.tasks.create({ ...body, customFields: { labels } })).id);
  }
  const { code, printed } = await runPython(agent.token, workspaceId, '--mine');
  assert.equal(code, 0, printed);
  const words: unknown[] = [];
  for (const id of tasks) {
    const run = await lastRunOf(id);
    assert.equal(run?.status, 'succeeded', printed);
    words.push(run?.output?.['words']);
  }
  assert.deepEqual(words, [3, 2, 0]);
  const { sessionId = '' } = (await lastRunOf(tasks[0] as string)) ?? {};
  assert.equal((await agent.baton.sessions.get(sessionId)).status, 'closed');
});
