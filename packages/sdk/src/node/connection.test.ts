import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { findAccess } from './access.ts';
import { ForeignConnectionError, findConnection } from './connection.ts';

const connection = {
  identityUrl: 'http://127.0.0.1:1/iam',
  coordinationUrl: 'http://127.0.0.1:1',
  issuer: 'i',
  tenantId: 't',
  iamBootstrapToken: 'b',
  adminToken: 'a',
};

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'baton-connection-'));
  mkdirSync(join(folder, '.baton'));
  path = join(folder, '.baton', 'connection.json');
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(mode: number, at = path): void {
  writeFileSync(at, JSON.stringify(connection));
  chmodSync(at, mode);
}

const foreign = (why: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ForeignConnectionError, String(error));
  assert.equal(error.path, path);
  assert.match(error.message, why);
  assert.match(error.message, /, so it is not used: .* If you trust it, set BATON_HOME=\S+\.baton\.$/);
  return true;
};

test("a connection file of the current folder is used where it is the user's own and nobody else's to read", () => {
  for (const mode of [0o600, 0o400]) {
    write(mode);
    // Others may write to the folder, because a file that they create there would not be the user's own.
    chmodSync(join(folder, '.baton'), mode === 0o600 ? 0o770 : 0o700);
    assert.deepEqual(findConnection({ folders: [folder] }), connection);
    rmSync(path);
  }
  assert.equal(findConnection({ folders: [folder] }), undefined);
});

test('one that came with a checkout, or that others can write, is refused unless it is named or agreed to', () => {
  for (const mode of [0o644, 0o640, 0o602, 0o660]) {
    write(mode);
    assert.throws(
      () => findConnection({ folders: [folder] }),
      foreign(/can be read or changed by other users/),
    );
    assert.deepEqual(findConnection({ home: join(folder, '.baton'), folders: [] }), connection);
    assert.deepEqual(findConnection({ file: path, folders: [] }), connection);
    assert.deepEqual(findConnection({ folders: [folder], agreed: path }), connection);
    assert.throws(() => findConnection({ folders: [folder], agreed: folder }), ForeignConnectionError);
  }
});

test("one that leads to another machine gets no token of the user's own unless it is named or agreed to", () => {
  const own = { folders: [folder], sendsOwnToken: true };
  const away = { BATON_TOKEN: 'mine' };
  write(0o600);
  assert.deepEqual(findConnection(own), connection);
  assert.equal(findAccess(away, [folder]).token, 'mine');
  // A file unpacked from an archive belongs to the user and is readable only by the user.
  for (const field of ['coordinationUrl', 'identityUrl']) {
    const hostile = { ...connection, [field]: 'https://127.0.0.1.baton.example' };
    writeFileSync(path, JSON.stringify(hostile));
    for (const find of [() => findConnection(own), () => findAccess(away, [folder])])
      assert.throws(find, foreign(/leads to another machine, which would receive your token/));
    assert.deepEqual(findConnection({ folders: [folder] }), hostile);
    assert.deepEqual(findConnection({ ...own, agreed: path }), hostile);
    assert.deepEqual(findConnection({ ...own, home: join(folder, '.baton') }), hostile);
  }
});

test('one of another user is refused, and so is one behind a link', {
  skip: process.geteuid?.() !== 0,
}, () => {
  write(0o600);
  chownSync(path, 65_534, 65_534);
  assert.throws(() => findConnection({ folders: [folder] }), foreign(/belongs to user 65534 and not to you/));
  const elsewhere = join(folder, 'elsewhere');
  rmSync(path);
  write(0o644, elsewhere);
  symlinkSync(elsewhere, path);
  assert.throws(() => findConnection({ folders: [folder] }), foreign(/can be read or changed/));
});

test('a pipe in its place is refused and not waited for', { skip: process.platform === 'win32' }, () => {
  execFileSync('mkfifo', ['-m', '600', path]);
  assert.throws(() => findConnection({ folders: [folder] }), foreign(/is no file/));
});

test('the message names a folder so that neither a terminal nor a shell obeys its name', () => {
  const hostile = join(folder, "a'$(touch x)\u001b[2J");
  mkdirSync(join(hostile, '.baton'), { recursive: true });
  write(0o644, join(hostile, '.baton', 'connection.json'));
  assert.throws(
    () => findConnection({ folders: [hostile] }),
    ({ message }: Error) => {
      const [, word = ''] = /BATON_HOME=(.*)\.$/.exec(message) ?? [];
      assert.ok(!message.includes('\u001b'));
      const printed = execFileSync('sh', ['-c', `printf %s ${word}`], { encoding: 'utf8', cwd: folder });
      assert.match(printed, /\/a'\$\(touch x\) \[2J\/\.baton$/);
      assert.ok(!existsSync(join(folder, 'x')));
      return true;
    },
  );
});

test('a file that only another user can read is refused with what to do', {
  skip: process.geteuid?.() !== 0,
}, () => {
  write(0o600);
  const script = `import { findConnection } from ${JSON.stringify(new URL('connection.ts', import.meta.url))};
    try { findConnection({ folders: [${JSON.stringify(folder)}] }); } catch (error) { console.log(error.message); }`;
  chmodSync(folder, 0o755);
  chmodSync(join(folder, '.baton'), 0o755);
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    uid: 65_534,
    encoding: 'utf8',
    cwd: '/',
  });
  assert.match(
    printed,
    /can't be read \(EACCES\): it belongs to another user, .* set BATON_URL and BATON_TOKEN/,
  );
});
