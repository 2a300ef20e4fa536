import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { buildProgram, runProgram } from './program.ts';

let home: string;
before(() => {
  home = mkdtempSync(join(tmpdir(), 'baton-cli-test-'));
});
after(() => rmSync(home, { recursive: true }));

/** Runs one command line in a folder of its own, and gathers what it says. */
async function run(...words: string[]) {
  const lines: string[] = [];
  const said: string[] = [];
  const output = {
    line: (text: string) => lines.push(text),
    progress: (text: string) => said.push(text),
    isTerminal: false,
    columns: 80,
  };
  const code = await runProgram(words, { config: { home, environment: {} }, output });
  process.exitCode = 0;
  return { code, lines, said: said.join('') };
}

/** A stand-in for both services that gives one answer to everything but the exchange. */
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

test('help lists every command, those of other programs too', () => {
  const output = { line: () => {}, progress: () => {}, isTerminal: false, columns: 80 };
  const help = buildProgram({ config: { home, environment: {} }, output }).helpInformation();
  const commands = ['demo', 'status', 'whoami', 'tasks', 'task create TITLE', 'events'];
  const programs = ['start', 'env', 'identity serve', 'coordination serve', 'worker'];
  for (const name of [...commands, ...programs]) assert.match(help, new RegExp(`^  ${name}  +\\w`, 'm'));
});

test('an unknown command is one sentence and code 2', async () => {
  const { code, said } = await run('dance');
  assert.equal(code, 2);
  assert.equal(said, "Unknown command 'dance': see npx baton --help.\n");
});

test('a bad option is one sentence and code 2', async () => {
  const { code, said } = await run('demo', '--agents', 'many');
  assert.equal(code, 2);
  assert.match(
    said,
    /^Option .* is invalid\. It must be a whole number from 1 to 200: see npx baton --help\.\n$/,
  );
});

test('without a Baton the command says how to get one', async () => {
  const { code, said } = await run('whoami', '--connection', join(home, 'missing.json'));
  assert.equal(code, 1);
  assert.match(said, /^There is no file .*missing\.json\.\n$/);
});

test('a Baton that does not answer is one sentence without the token', async () => {
  writeConnection({ coordinationUrl: 'http://127.0.0.1:9', identityUrl: 'http://127.0.0.1:9/iam' });
  const { code, said } = await run('tasks');
  assert.equal(code, 1);
  assert.equal(said, "http://127.0.0.1:9/iam can't be reached: nothing answers there.\n");
});

test('an answer that breaks off is one sentence', async () => {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
    response.write('{', () => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeConnection({ coordinationUrl: url, identityUrl: `${url}/iam` });
  const { code, said } = await run('tasks');
  server.close();
  assert.equal(code, 1);
  assert.match(said, /^http\S+\/iam can't be reached: aborted\.\n$/);
});

test('a connection file that lacks something names it', async () => {
  writeFileSync(join(home, 'connection.json'), '{"identityUrl":"http://127.0.0.1:9"}');
  const { said } = await run('whoami');
  assert.match(
    said,
    /lacks coordinationUrl, issuer, tenantId, iamBootstrapToken, adminToken: start Baton again .*\.\n$/,
  );
});

test('a connection file that holds no JSON object is one sentence', async () => {
  for (const text of ['{x', 'null', '[1]', '']) {
    writeFileSync(join(home, 'connection.json'), text);
    const { code, said } = await run('whoami');
    assert.equal(code, 1);
    assert.match(said, /^\S+connection\.json is not a JSON object: start Baton again .*\.\n$/);
  }
});

test('a refusal of coordination is one line, code and message', async () => {
  const error = {
    code: 'invalid_request',
    message: 'bad',
    details: { errors: [{ loc: 'query.limit', message: 'no' }] },
  };
  const { code, said } = await withAnswer(400, { error }, () => run('tasks'));
  assert.equal(code, 1);
  assert.equal(said, 'invalid_request: bad: query.limit no\n');
});

test('a refusal of identity is one line too', async () => {
  const { said } = await withAnswer(403, { detail: 'scope_not_allowed' }, () => run('whoami'));
  assert.equal(said, 'scope_not_allowed: identity answered 403\n');
});

test("another Baton's token is refused with a sentence that says what to do, and never shows it", async () => {
  const { code, said } = await withAnswer(200, {}, () => run('tasks'), 401);
  assert.equal(code, 1);
  assert.match(said, /^invalid_token: the personal access token is not valid at http\S+; .*\n$/);
  assert.doesNotMatch(said, /hush/);
});

test('--json prints the answer as it came', async () => {
  const page = { items: [], nextCursor: null };
  const { code, lines } = await withAnswer(200, page, () => run('tasks', '--json'));
  assert.equal(code, 0);
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [page],
  );
});

test('status ends with code 1 when a part is down', async () => {
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
