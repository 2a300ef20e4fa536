import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { buildProgram, runProgram } from './program.ts';
import { version } from './version.ts';

let home: string;
before(() => {
  home = mkdtempSync(join(tmpdir(), 'baton-cli-test-'));
});
after(() => rmSync(home, { recursive: true }));

/** Runs one command line with a temporary home and collects its output. */
async function run(...args: string[]) {
  const lines: string[] = [];
  const stderr: string[] = [];
  const output = {
    line: (text: string) => lines.push(text),
    progress: (text: string) => stderr.push(text),
    isTerminal: false,
    columns: 80,
  };
  const code = await runProgram(args, { config: { home, environment: {} }, output });
  process.exitCode = 0;
  return { code, lines, stderr: stderr.join('') };
}

/** Replaces both services: one response to every request except the exchange. */
async function withAnswer<T>(
  status: number,
  body: unknown,
  work: () => Promise<T>,
  exchangeStatus = 200,
): Promise<T> {
  const server = createServer((request, response) => {
    request.resume();
    const isExchange = request.url?.endsWith(':exchange');
    response.writeHead(isExchange ? exchangeStatus : status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isExchange ? { accessToken: 'a.b.c', expiresIn: 300 } : body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeConnection({ coordinationUrl: url, identityUrl: `${url}/iam` });
  try {
    return await work();
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(join(home, 'connection.json'));
  }
}

function writeConnection(values: Record<string, string>): void {
  const rest = { issuer: 'i', tenantId: 't', iamBootstrapToken: 'b', adminToken: 'hush' };
  writeFileSync(join(home, 'connection.json'), JSON.stringify({ ...rest, ...values }));
}

test('help lists every command below a heading, the most important first, and a noun lists its own commands', () => {
  const output = { line: () => {}, progress: () => {}, isTerminal: false, columns: 80 };
  const program = buildProgram({ config: { home, environment: {} }, output });
  const help = program.helpInformation();
  const headings = [...help.matchAll(/^(\S.*):$/gm)].map(([, heading]) => heading);
  assert.deepEqual(headings, [
    'Options',
    'Begin',
    'Work',
    'See what happens',
    'Who, where and how',
    'In and out',
    'Agents',
    'Operate',
  ]);
  for (const command of program.commands)
    assert.match(help, new RegExp(`^  ${command.name()}(?: [A-Z]+)*  +\\w`, 'm'));
  const line = (text: string) => help.split('\n').findIndex((one) => one.startsWith(`  ${text} `));
  assert.ok(line('start') < line('task') && line('task') < line('operations'));
  assert.match(help.replaceAll(/\s+/g, ' '), / task tasks: list, view, comments, create, edit, /);
  const task = program.commands.find((command) => command.name() === 'task');
  for (const name of ['task list', 'task create TITLE', 'task view REF'])
    assert.match(task?.helpInformation() ?? '', new RegExp(`^  ${name}  +\\w`, 'm'));
});

test('the version is that of the package', () => {
  const { version: said } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'));
  assert.equal(version, said);
});

test('an unknown command is one sentence and code 2, with a similar command if one exists', async () => {
  const far = await run('dance');
  assert.deepEqual([far.code, far.stderr], [2, "Unknown command 'dance': see npx baton --help.\n"]);
  const below = await run('task', 'bogus');
  assert.deepEqual([below.code, below.stderr], [2, "Unknown command 'bogus': see npx baton task --help.\n"]);
  const missing = await run('task', 'view', '--json');
  assert.match(missing.stderr, /^Missing required argument 'ref': see npx baton task view --help\.\n$/);
  const near = await run('aprove');
  assert.match(near.stderr, /^Unknown command 'aprove'/);
  assert.match((await run('approval', 'aprove', 'x')).stderr, /Did you mean approve\?/);
  assert.match((await run('taks')).stderr, /Did you mean (one of )?.*task/);
});

test('an invalid option is one sentence and code 2', async () => {
  const { code, stderr } = await run('demo', '--agents', 'many');
  assert.equal(code, 2);
  assert.match(
    stderr,
    /^Option .* is invalid\. It must be a whole number from 1 to 200: see npx baton demo --help\.\n$/,
  );
});

test('options of all commands are accepted before the command; those after it take precedence', async () => {
  const page = { items: [], nextCursor: null };
  for (const line of [
    ['--json', 'task', 'list'],
    ['--url', 'http://127.0.0.1:9', '--jq=.', 'task', 'list', '--url'],
    ['--json', 'id', '--jq', '.', 'tasks'],
  ]) {
    const { code, lines, stderr } = await withAnswer(200, page, () => {
      const { coordinationUrl } = JSON.parse(readFileSync(join(home, 'connection.json'), 'utf8'));
      return run(...line, ...(line.at(-1) === '--url' ? [coordinationUrl] : []));
    });
    assert.equal(code, 0, stderr);
    assert.ok(lines[0]?.startsWith('{"items":[]') || lines[0] === '[]', lines[0]);
  }
  const field = await run('--json', 'colour', 'task', 'list');
  assert.deepEqual([field.code, field.stderr.startsWith('There is no field colour; ')], [2, true]);
  const profile = await run('--profile', 'nobody', 'whoami');
  assert.match(profile.stderr, /^There is no profile nobody \(--profile\)/);
  const wrong = await run('--url', 'x', 'task', 'bogus');
  assert.match(wrong.stderr, /^Unknown command 'bogus': see npx baton task --help/);
  for (const words of [['mcp'], ['agent', 'run', '--exec', 'true'], ['completion', 'bash']]) {
    const { code, stderr } = await run('--profile', 'x', ...words);
    assert.equal(code, 2);
    assert.match(stderr, /^--profile can't precede .*: see npx baton \w+/);
  }
});

test('a BATON_HOME without a connection file is reported', async () => {
  const { code, stderr } = await run('whoami');
  assert.equal(code, 4);
  assert.ok(
    stderr.startsWith(`BATON_HOME (${home}) has no connection.json, so nobody is signed in: `),
    stderr,
  );
});

test('without a Baton the command explains how to start one', async () => {
  const { code, stderr } = await run('whoami', '--connection', join(home, 'missing.json'));
  assert.equal(code, 1);
  assert.match(stderr, /^There is no file .*missing\.json\.\n$/);
});

test('an unreachable Baton is reported in one sentence without the token', async () => {
  writeConnection({ coordinationUrl: 'http://127.0.0.1:9', identityUrl: 'http://127.0.0.1:9/iam' });
  const { code, stderr } = await run('tasks');
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^network_error: http:\/\/127\.0\.0\.1:9 can't be reached\nThe connection was refused\. Is Baton running there\?.*\n$/,
  );
});

test('a truncated response is reported in one sentence', async () => {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
    response.write('{', () => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeConnection({ coordinationUrl: url, identityUrl: `${url}/iam` });
  const { code, stderr } = await run('tasks');
  server.close();
  assert.equal(code, 1);
  assert.match(stderr, /^network_error: http\S+ can't be reached\nECONNRESET\. .*\n$/);
});

test('an incomplete connection file is reported with the missing settings', async () => {
  writeFileSync(join(home, 'connection.json'), '{"identityUrl":"http://127.0.0.1:9"}');
  const { stderr } = await run('whoami');
  assert.match(
    stderr,
    /lacks coordinationUrl, issuer, tenantId, iamBootstrapToken, adminToken: start Baton again .*\.\n$/,
  );
});

test('a connection file that is not a JSON object is reported in one sentence', async () => {
  for (const text of ['{x', 'null', '[1]', '']) {
    writeFileSync(join(home, 'connection.json'), text);
    const { code, stderr } = await run('whoami');
    assert.equal(code, 1);
    assert.match(stderr, /^\S+connection\.json is not a JSON object: start Baton again .*\.\n$/);
  }
});

test('an error of coordination is one line, code and message', async () => {
  const error = {
    code: 'invalid_request',
    message: 'bad',
    details: { errors: [{ loc: 'query.limit', message: 'no' }] },
  };
  const { code, stderr } = await withAnswer(400, { error }, () => run('tasks'));
  assert.equal(code, 1);
  assert.equal(stderr, 'invalid_request: bad (query.limit no)\nSee docs/errors.md#invalid_request\n');
});

test('an error of identity also contains the remedy', async () => {
  const { stderr } = await withAnswer(403, { detail: 'scope_not_allowed' }, () => run('whoami'));
  assert.equal(
    stderr,
    'scope_not_allowed: scope not allowed\nnpx baton whoami shows what you may do.\nSee docs/errors.md#scope_not_allowed\n',
  );
});

test("an error links to the page of its code: at the service's address, otherwise in this repository", async () => {
  const error = { code: 'stale_claim', message: 'Lost.', details: {} };
  const shown = async (docs?: string) =>
    (await withAnswer(409, { error: { ...error, ...(docs && { docs }) } }, () => run('tasks'))).stderr;
  assert.equal(await shown(), 'stale_claim: Lost.\nSee docs/errors.md#stale_claim\n');
  const docs = 'https://docs.example.com/errors/#stale_claim';
  assert.equal(await shown(docs), `stale_claim: Lost.\nSee ${docs}\n`);
});

test('a rejection by the port is reported with its own message', async () => {
  const reason = 'Baton does not answer under this host name: name it in BATON_ALLOWED_HOSTS.';
  const error = { code: 'misdirected_request', message: reason, details: {}, requestId: null };
  const { code, stderr } = await withAnswer(421, { status: 421, reason, error }, () => run('task', 'list'));
  assert.deepEqual([code, stderr], [1, `misdirected_request: ${reason}\n`]);
});

test('a rejected token is reported with the remedy and never shown', async () => {
  const { code, stderr } = await withAnswer(200, {}, () => run('tasks'), 401);
  assert.equal(code, 4);
  assert.match(stderr, /\nThe token is not valid there: npx baton login signs in with another\./);
  assert.doesNotMatch(stderr, /hush/);
});

test('--json prints the response unchanged', async () => {
  const page = { items: [], nextCursor: null };
  const { code, lines } = await withAnswer(200, page, () => run('tasks', '--json'));
  assert.equal(code, 0);
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [page],
  );
});

test('status exits with 1 if a part is down', async () => {
  const { code, lines } = await withAnswer(503, { status: 'unavailable', reason: 'migrations_pending' }, () =>
    run('status', '--json'),
  );
  assert.equal(code, 1);
  assert.deepEqual(
    (JSON.parse(lines[0] as string) as { ready: boolean; says: string }[]).map(({ ready, says }) => ({
      ready,
      says,
    })),
    [
      { ready: false, says: 'migrations_pending' },
      { ready: false, says: 'migrations_pending' },
    ],
  );
});
