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
import { repository, baton as runBaton } from '@baton/testing/baton-process';
import { byDepth, longTest } from '@baton/testing/depth';
import { type Participant, type RunningBaton, startRunningBaton } from '@baton/testing/running-baton';

// The agents of examples/, each as a program of its own against a whole Baton. In `npm test` each completes its task once.

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

/** Lets an agent's runner do its one task. @returns the exit code and what was printed */
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

// First, because it takes what anybody may.
test('the commands that the shell script is shown with work as written', {
  skip: missing('curl', 'bash'),
}, async () => {
  const [, shown = ''] =
    /^```sh\n(.*?)^```/ms.exec(readFileSync(example('agent-shell/README.md'), 'utf8')) ?? [];
  const commands = shown.replace('https://example.com/', `${page}/page`);
  assert.notEqual(commands, shown);
  // It works for the administrator of this Baton, in a folder of its own.
  const settings = { BATON_HOME: baton.home, RUNNER: join(folder, 'shown') };
  const args = ['-euc', commands.replace('--once', '--once --folder "$RUNNER"')];
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...settings };
  const { stderr } = await promisify(execFile)('bash', args, { cwd: repository, env });
  assert.match(stderr, /done after/);
});

test('the shell script measures a page, and gives back or fails what it can not do', {
  skip: missing('curl'),
}, async () => {
  const cases = [
    [`${page}/page`, 0, 'succeeded', { bytes: 1234 }],
    [`${page}/away`, 1, 'failed', 'the command gave the task back'],
    ['no address', 1, 'failed', 'the command ended with code 2'],
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
  'the shell script goes on from the step that an earlier attempt has saved',
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

/** A repository with one commit, as a server has it. */
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
  // What the agent printed as if it were a line for the runner is not in the result.
  assert.deepEqual((await lastRunOf(task.id))?.output, { branch, commit: git('rev-parse', branch) });
});

longTest('a coding agent whose work fails the check pushes nothing', { skip: missing('git') }, async () => {
  const repositoryPath = makeRepository();
  const agent = await baton.participant();
  const task = await baton.admin.tasks.create({ title: 'Broken', assigneeId: agent.principalId });
  const settings = { REPOSITORY: repositoryPath, AGENT: example('agent-coding/stand-in.sh'), CHECK: 'false' };
  assert.equal((await runOnce(agent, example('agent-coding/work.sh'), settings)).code, 1);
  assert.equal((await lastRunOf(task.id))?.status, 'failed');
  assert.equal(execFileSync('git', ['branch', '--list', 'task/*'], { cwd: repositoryPath }).toString(), '');
});

longTest(
  'a coding agent pushes under its lease, through the hook that asks for one',
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
      // The push goes to a local path, so the hook is a child of the command and needs both variables. A server sets its own.
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

test('the agent in Python does its tasks by plain HTTP', { skip: missing('python3') }, async () => {
  const agent = await baton.participant();
  const tasks: string[] = [];
  for (const description of ['one two three', 'four\nfive', ''])
    tasks.push(
      (await baton.admin.tasks.create({ title: 'Count', description, assigneeId: agent.principalId })).id,
    );
  const child = spawn('python3', [example('agent-python/agent.py'), '--once', '--mine'], {
    env: { PATH: process.env.PATH, BATON_URL: baton.url, BATON_TOKEN: agent.token },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (printed += chunk));
  const code = await new Promise((done) => child.once('exit', done));
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
