import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { program } from '@baton/testing/baton-process';
import { commandLine, noTerminal, runAtTerminal } from './testing/terminal.ts';

// A folder of another user, with a connection file that points to their server.

let folder: string;
let server: Server;
const asked: string[] = [];

before(async () => {
  server = createServer((req, res) => {
    asked.push(`${req.method} ${req.url}`);
    req.resume();
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ accessToken: 'a.b.c', expiresIn: 300, items: [], nextCursor: null }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  folder = mkdtempSync(join(tmpdir(), 'baton-foreign-'));
  mkdirSync(join(folder, '.baton'));
  const rest = { issuer: 'i', tenantId: 't', iamBootstrapToken: 'b', adminToken: 'theirs' };
  const path = join(folder, '.baton', 'connection.json');
  writeFileSync(path, JSON.stringify({ coordinationUrl: url, identityUrl: `${url}/iam`, ...rest }));
  // A file in a clone of a repository has this mode.
  chmodSync(path, 0o644);
});
after(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const cli = 'packages/cli/src/main.ts';
const refusal =
  /\.baton\/connection\.json can be read or changed by other users, so it is not used: .* If you trust it, set BATON_HOME=\S+\.baton\./;

test('a program without profiles rejects BATON_PROFILE, and does not act as the administrator instead', async () => {
  const env = { HOME: folder, BATON_HOME: join(folder, '.baton'), BATON_PROFILE: 'maria' };
  for (const [file, args] of [
    ['packages/runner/src/main.ts', ['--exec', 'true', '--once']],
    ['packages/mcp/src/main.ts', []],
  ] as const) {
    const running = program(file, args, env, { cwd: folder });
    assert.equal(await running.ended, 1, running.output());
    assert.match(running.output(), /^BATON_PROFILE is for commands of the command line only/m);
  }
  assert.deepEqual(asked, []);
});

test("no program connects to the address in somebody else's connection file, with or without a token of the user", async () => {
  const programs: [string, string[], number][] = [
    [cli, ['tasks', '--json'], 4],
    [cli, ['doctor'], 1],
    ['packages/runner/src/main.ts', ['--exec', 'true', '--once'], 1],
    ['packages/mcp/src/main.ts', [], 1],
  ];
  for (const [file, args, code] of programs)
    for (const token of ['', 'iam_pat_mine']) {
      const running = program(file, args, { HOME: folder, BATON_TOKEN: token }, { cwd: folder });
      assert.equal(await running.ended, code, running.output());
      assert.match(running.output(), refusal);
    }
  assert.deepEqual(asked, []);
});

test('a token of the user is never sent to another machine given in a file of the current folder', async () => {
  const away = mkdtempSync(join(tmpdir(), 'baton-away-'));
  try {
    mkdirSync(join(away, '.baton'));
    const url = 'http://baton.invalid';
    const rest = { issuer: 'i', tenantId: 't', iamBootstrapToken: 'b', adminToken: 'theirs' };
    const text = JSON.stringify({ coordinationUrl: url, identityUrl: `${url}/iam`, ...rest });
    writeFileSync(join(away, '.baton', 'connection.json'), text, { mode: 0o600 });
    for (const [file, args, code] of [
      [cli, ['task', 'list'], 4],
      ['packages/mcp/src/main.ts', [], 1],
    ] as const) {
      const running = program(file, [...args], { HOME: away, BATON_TOKEN: 'iam_pat_mine' }, { cwd: away });
      assert.equal(await running.ended, code, running.output());
      assert.match(
        running.output(),
        /connection\.json leads to another machine, which would receive your token/,
      );
    }
  } finally {
    rmSync(away, { recursive: true });
  }
});

test('at a terminal it prompts, and explicitly given files are used', {
  skip: noTerminal,
}, async () => {
  const answer = (text: string) =>
    runAtTerminal(commandLine('tasks --json'), {
      cwd: folder,
      env: { HOME: folder },
      answers: [`${text}\n`],
    });
  const no = await answer('no');
  assert.equal(no.code, 4, no.text);
  assert.match(no.text, refusal);
  assert.deepEqual(asked, []);
  const yes = await answer('yes');
  assert.equal(yes.code, 0, yes.text);
  assert.ok(asked.length > 0);
  asked.length = 0;
  const named = program(
    cli,
    ['tasks', '--json'],
    { HOME: folder, BATON_HOME: join(folder, '.baton') },
    { cwd: folder },
  );
  assert.equal(await named.ended, 0, named.output());
  assert.ok(asked.length > 0);
});
