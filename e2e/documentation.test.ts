import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startMemoryService, type TestMemory } from '@baton/coordination/testing/memory/memory-service';
import { keepLog } from '@baton/kernel/testing/leaks/leaks';
import { createClient } from '@baton/sdk';
import { repository } from '@baton/testing/baton-process';
import { isLongProof, longTest } from '@baton/testing/depth';
import { type RunningBaton, startRunningBaton } from '@baton/testing/running-baton';
import { assertCompanyIsTold } from './testing/small-company.ts';

/**
 * `npm test` runs the commands of these pages; the long proof runs those of all pages.
 */
const usualPages = ['README.md', 'docs/access.md', 'docs/agents.md', 'docs/apply.md', 'docs/identity.md'];

/** Lines that this test doesn't run: they start Baton, don't end, or have a separate test (the demo). */
const skippedLine = /npm start|baton demo|baton worker|--follow/;

const missing = ['bash', 'curl'].find((tool) => spawnSync(tool, ['--version']).error !== undefined);
const skip = missing === undefined ? false : `${missing} is not installed`;
const baton = join(repository, 'bin', 'baton.mjs');
/**
 * Each shell runs this first: it replaces npx, which takes half of a command's time to resolve the program. Only the
 * long proof uses the real npx.
 */
const npx = `npx() { shift; '${process.execPath}' '${baton}' "$@"; }`;

let folder: string;
let running: RunningBaton;
/** The memory service to which docs/organisation.md sends knowledge. */
let memory: TestMemory;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-documentation-'));
  memory = await startMemoryService();
  running = await startRunningBaton({ CP_CONTEXT_PROVIDER: 'http', CP_CONTEXT_BASE_URL: memory.url });
});

after(async () => {
  await running?.stop();
  keepLog(running?.process.output() ?? '');
  await memory.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
});

const textOf = (page: string) => readFileSync(join(repository, page), 'utf8');

/**
 * Returns the shell lines of a page, in order; if its blocks are named, only those of the blocks with the given names.
 */
function linesOf(page: string, names = ['']): string {
  return (
    [...textOf(page).matchAll(/^( *)```sh *(\S*)\n(.*?)^ *```/gms)]
      .filter(([, , name = '']) => names.includes(name))
      .flatMap(([, , , block = '']) => block.split('\n'))
      .filter((line) => !skippedLine.test(line))
      .join('\n')
      .replaceAll('.baton/', `${running.home}/`)
      // The commands write outside the folder where the tests run.
      .replaceAll('baton agent run', `baton agent run --folder '${join(folder, 'runner')}'`)
      // No agent calls Baton while the documented command waits for a first call.
      .replaceAll('baton agent connect', 'baton agent connect --wait-seconds 1')
      .replaceAll('heads.json', join(folder, 'heads.json'))
      .replaceAll('> .mcp.json', `> ${join(folder, 'mcp.json')}`)
  );
}

interface ShellOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly isFoundByNpm?: boolean;
}

async function shell(
  lines: string,
  { cwd = repository, env = {}, isFoundByNpm = false }: ShellOptions = {},
): Promise<string> {
  const commands = isFoundByNpm ? lines : `${npx}\n${lines}`;
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], {
    cwd,
    // Without the sign-in of the person who runs the tests.
    env: { ...process.env, BATON_HOME: running.home, XDG_CONFIG_HOME: join(folder, 'config'), ...env },
  });
  return stdout;
}

// One Baton for all pages, as for a reader who tries one page after the other. docs/apply.md comes first, because its
// example must be new.
for (const page of [
  'docs/apply.md',
  'docs/access.md',
  'README.md',
  'docs/identity.md',
  'docs/coordination.md',
  'docs/organisation.md',
  'docs/processes.md',
  'docs/agents.md',
])
  (usualPages.includes(page) ? test : longTest)(
    `every command of ${page} works as written`,
    { skip },
    async () => {
      const lines = linesOf(page);
      assert.match(lines, /npx baton/);
      const stdout = await shell(lines, { isFoundByNpm: isLongProof });
      assert.ok(stdout.length > 100, stdout);
      assert.doesNotMatch(stdout, /"(detail|error)":(?!null)/);
      if (page === 'docs/apply.md') assert.match(stdout, /^0 to create, 0 to change, \d+ unchanged\.$/m);
      if (page === 'README.md') await assertWalked();
    },
  );

/** The tasks that a Baton's agents have completed so far, by their titles. */
const completed = async () => {
  const titles: string[] = [];
  const query = { systemStatusCategory: 'terminal_success', limit: 200 } as const;
  for await (const { title } of running.admin.tasks.list(query)) titles.push(title);
  return titles;
};

test('the agent registered in docs/agents.md has completed its task under the published revision', {
  skip,
}, async () => {
  // The agent, which is retired at the end of the page, is still in the registry under its key.
  const { principalId } = await running.admin.agents.get('helper');
  const { items: runs } = await running.admin.runs.list({ principalId: principalId ?? '' });
  const { revision } = await running.admin.agents.get('helper');
  assert.deepEqual(
    runs.map(({ status, agentRevisionId }) => [status, agentRevisionId]),
    [['succeeded', revision.id]],
  );
});

test('every command of docs/runner.md works as written, and so does its example of a command', {
  skip,
}, async () => {
  const place = await mkdtemp(join(folder, 'runner-page-'));
  const stdout = await shell(linesOf('docs/runner.md'), { cwd: place });
  assert.match(stdout, /^terminal_success$/m);
  const titles = await completed();
  for (const title of ['Say hello', 'Say hello once more']) assert.ok(titles.includes(title), title);
  const line = linesOf('docs/runner.md', ['command']);
  assert.match(line, /BATON_MARK/);
  const { publicId, id } = await running.admin.tasks.create({ title: 'Comments' });
  const words = `npx baton agent run --exec "$COMMAND" --task ${publicId} --folder "$PWD/runner"`;
  await shell(words, { cwd: place, env: { COMMAND: line } });
  const { items: comments } = await running.admin.tasks.listComments(id);
  assert.deepEqual(
    comments.map(({ body }) => body),
    ['Half is done.'],
  );
});

/** A currently free port. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

test('every command of examples/lease-guard/README.md works as written, for the holder of a lease', {
  skip: skip || (spawnSync('git', ['--version']).error !== undefined && 'git is not installed'),
}, async () => {
  const [server = '', push = '', proxy = '', deploy = ''] = [
    ...textOf('examples/lease-guard/README.md').matchAll(/^```sh\n(.*?)^```/gms),
  ].map(([, block]) => block);
  const place = await mkdtemp(join(folder, 'lease-guard-'));
  const [agent, gateway] = [await running.participant(), await running.participant(['tasks.read'])];
  const { id, publicId } = await running.admin.tasks.create({ title: 'Release' });
  const { id: sessionId } = await agent.baton.sessions.open({ clientName: 'guarded' });
  const claim = await agent.baton.tasks.claim(id, { sessionId });
  const files = { gateway: gateway.token, agent: (await agent.baton.accessToken?.get()) ?? '' };
  for (const [name, token] of Object.entries(files))
    await writeFile(join(place, name), `${token}\n`, { mode: 0o600 });
  const name = { GIT_AUTHOR_NAME: 'tests', GIT_AUTHOR_EMAIL: 'tests@example.com' };
  const env = {
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
    ...name,
    GIT_COMMITTER_NAME: name.GIT_AUTHOR_NAME,
    GIT_COMMITTER_EMAIL: name.GIT_AUTHOR_EMAIL,
    BATON_URL: running.url,
    BATON_TOKEN_FILE: join(place, 'gateway'),
    BATON_ACCESS_TOKEN_FILE: join(place, 'agent'),
    BATON_TASK: publicId,
    BATON_CLAIM_ID: claim.id,
    BATON_FENCING_TOKEN: String(claim.fencingToken),
  };
  const guard = join(repository, 'examples', 'lease-guard');
  const pushes = [
    'git init --quiet --bare origin.git && cd origin.git',
    server.replace('/path/to/lease-guard', guard),
    'cd .. && git clone --quiet origin.git clone && cd clone && git commit --quiet --allow-empty -m work',
    push,
    'git ls-remote origin',
  ];
  assert.match(
    await shell(pushes.join('\n'), { cwd: place, env }),
    new RegExp(`refs/heads/task/${publicId}`),
  );

  const service = createHttpServer((req, res) =>
    res.end(`${req.method} ${req.url} ${req.headers['baton-task']}`),
  );
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  const port = await freePort();
  const start = proxy
    .replace('http://localhost:8080', running.url)
    .replace('/etc/deploy/token', env.BATON_TOKEN_FILE)
    .replace('127.0.0.1:9001', `127.0.0.1:${(service.address() as AddressInfo).port}`)
    .replace('/var/lib/deploy', join(place, 'fences'))
    .replace('9000', String(port))
    .trim();
  const deploys = [
    `${start} >/dev/null &`,
    'trap "kill $!" EXIT',
    `until curl -s -o /dev/null http://127.0.0.1:${port}/; do sleep 0.1; done`,
    deploy.replace('127.0.0.1:9000', `127.0.0.1:${port}`),
  ];
  try {
    assert.equal(await shell(deploys.join('\n'), { cwd: guard, env }), `POST /deploy ${id}`);
  } finally {
    service.close();
  }
});

/**
 * Checks that the commands in README.md have completed every task that they create, and that its MCP client
 * configuration points to this Baton.
 */
async function assertWalked(): Promise<void> {
  const walked = ['My first task', 'Fix the flaky test', 'Count the words of this title'];
  const states: string[] = [];
  for await (const { title, systemStatusCategory } of running.admin.tasks.list({ limit: 200 }))
    if (walked.includes(title)) states.push(systemStatusCategory);
  assert.deepEqual(states, Array(4).fill('terminal_success'));
  const { mcpServers } = JSON.parse(readFileSync(join(folder, 'mcp.json'), 'utf8'));
  const { url, headers } = mcpServers.baton;
  assert.equal(url, `${running.connection.issuer.replace(/\/iam$/, '')}/mcp`);
  const credential = { token: headers.Authorization.replace('Bearer ', '') };
  const { principal } = await createClient({ url: running.url, credential }).harness.getContext();
  assert.deepEqual([principal.kind, principal.displayName], ['agent', 'Claude Code']);
}

for (const page of ['README.md', 'packages/sdk/README.md'])
  test(`the program of ${page} works as written`, async () => {
    const [, code = ''] = /^```(?:js|ts)\n(.*?)^```/ms.exec(textOf(page)) ?? [];
    assert.match(code, /@baton\/sdk/);
    const { adminToken } = running.connection;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], {
      cwd: repository,
      env: { ...process.env, BATON_PUBLIC_URL: running.url, BATON_ADMIN_TOKEN: adminToken },
    });
    assert.match(stdout, /is terminal_success/);
  });

/** Files in the formats of other trackers. */
const trackers = join(repository, 'packages/cli/src/import/testing/sources');
const issue = {
  number: 1,
  title: 'Mend the door',
  state: 'OPEN',
  url: 'https://github.com/acme/shop/issues/1',
};

/** Writes the files in docs/import.md into a folder, which is also the home of its shell. */
async function makeTrackers(place: string): Promise<void> {
  await mkdir(join(place, '.beads'));
  await cp(join(trackers, 'beads.jsonl'), join(place, '.beads/issues.jsonl'));
  await cp(join(trackers, 'backlog-md'), join(place, 'shop'), { recursive: true });
  await cp(join(trackers, 'taskmaster'), join(place, 'shop'), { recursive: true });
  await writeFile(join(place, 'people.yaml'), 'ann: me\n');
  await writeFile(
    join(place, 'jira.csv'),
    'Issue key,Summary,State,Blocked by\nDOOR-1,Sand the door,Shipped,\nDOOR-2,Paint the door,QA,DOOR-1\n',
  );
  await writeFile(join(place, 'issues-of-gh.json'), JSON.stringify([issue]));
}

longTest('every command of docs/import.md works as written', { skip }, async () => {
  const place = await mkdtemp(join(folder, 'import-page-'));
  await makeTrackers(place);
  const importing = await startRunningBaton();
  try {
    const env = { HOME: place, XDG_CONFIG_HOME: join(place, 'config'), BATON_HOME: importing.home };
    const signIn = `npx baton login --name elsewhere --url '${running.url}' <<< "$ELSEWHERE" && npx baton context local`;
    await shell(signIn, { cwd: place, env: { ...env, ELSEWHERE: running.connection.adminToken } });
    // There is no terminal, so an option confirms the plans; a function replaces `gh`, which would need an account.
    const lines = linesOf('docs/import.md')
      .split('\n')
      .map((line) => (/baton import/.test(line) && !/--(?:dry-run|yes)/.test(line) ? `${line} --yes` : line));
    assert.equal(lines.filter((line) => line.endsWith(' --yes')).length, 6);
    await shell(['gh() { cat issues-of-gh.json; }', ...lines].join('\n'), { cwd: place, env });
    const titles: string[] = [];
    for await (const { title } of running.admin.tasks.list({ limit: 200 })) titles.push(title);
    for (const title of ['Throw the bowls', 'Mend the door', 'Paint the door'])
      assert.ok(titles.includes(title), title);
  } finally {
    await importing.stop();
    keepLog(importing.process.output());
  }
});

test('the commands of docs/operations.md for monitoring and history work unchanged', {
  skip,
}, async () => {
  const hasCursor = async () =>
    (await running.admin.operations.getContextAdapter().catch(() => undefined))?.cursor != null;
  // Nothing can be archived until the adapter has a cursor.
  for (const deadline = performance.now() + 60_000; !(await hasCursor()); await sleep(50))
    assert.ok(performance.now() < deadline, 'the adapter has no cursor');
  const { coordinationUrl, identityUrl } = running.connection;
  const env = { BATON_COORDINATION_URL: coordinationUrl, BATON_IDENTITY_URL: identityUrl };
  const lines = linesOf('docs/operations.md', ['watch', 'memory', 'retention']);
  const stdout = await shell(lines, { cwd: folder, env });
  assert.match(stdout, /"ready"/);
  assert.match(stdout, /retried now[^]*starts again now/);
  assert.match(stdout, /events? exported/);
});

test('the small company of the demo has knowledge if a memory service is configured, until it is removed', async () => {
  const env = { ...process.env, BATON_HOME: running.home };
  const demo = async (word: string) => {
    const { stdout } = await promisify(execFile)(process.execPath, [baton, 'demo', word], { env });
    keepLog(stdout);
    return stdout;
  };
  assertCompanyIsTold(await demo('--organisation'));
  assert.match(await demo('remove'), /Removed baton-company-/);
  const { body } = memory.calls.findLast(({ path }) => path.endsWith('/reconcile')) ?? {};
  assert.match(JSON.stringify(body), /"demo-handbook-removed-/);
  assert.deepEqual(body.entities, []);
});
