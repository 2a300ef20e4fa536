import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, test } from 'node:test';
import { dataVersion, openHome } from './home.ts';
import { writePrivateFile } from './private-files.ts';
import { ensureSecrets } from './secrets.ts';
import { StartError } from './start-error.ts';
import { privateFolder } from './testing/private-folder.ts';

let folder: ReturnType<typeof privateFolder>;

beforeEach(() => {
  folder = privateFolder();
});

afterEach(() => folder.remove());

/** One plain sentence that ends with a full stop, has one line, and contains no stack. */
const sentence = (pattern: RegExp) => (error: Error) => {
  assert.ok(error instanceof StartError);
  assert.match(error.message, pattern);
  assert.match(error.message, /^[^\n]+\.$/);
  return true;
};

test('a new home is private to its owner and records its version', () => {
  const directory = join(folder.path, 'deep', 'home');
  const home = openHome(directory);
  assert.equal(home.isNew, true);
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  assert.deepEqual(JSON.parse(readFileSync(home.path('version.json'), 'utf8')), { dataVersion });
  home.release();
  assert.equal(openHome(directory).isNew, false);
});

test('a folder that was open to others is closed to them, unless it holds things that are not ours', () => {
  const modeOf = (directory: string) => statSync(directory).mode & 0o7777;
  const volume = join(folder.path, 'volume');
  mkdirSync(volume);
  for (const mode of [0o777, 0o755]) {
    chmodSync(volume, mode);
    openHome(volume).release();
    assert.equal(modeOf(volume), 0o700);
  }
  const shared = join(folder.path, 'shared');
  mkdirSync(shared);
  writeFileSync(join(shared, 'other'), '');
  chmodSync(shared, 0o1777);
  openHome(shared).release();
  assert.equal(modeOf(shared), 0o1777);
});

test('the folder of the secrets is private, even if it was open before', () => {
  const secrets = join(folder.path, 'secrets');
  mkdirSync(secrets);
  for (const mode of [0o777, 0o750, 0o710]) {
    chmodSync(secrets, mode);
    openHome(folder.path).release();
    assert.equal(statSync(secrets).mode & 0o7777, 0o700);
  }
  // As for a running database server: the home itself can be traversed.
  writePrivateFile(join(secrets, 'key'), 'x');
  chmodSync(folder.path, 0o755);
  if (process.getuid?.() === 0)
    asOrdinaryUser(() => assert.throws(() => readFileSync(join(secrets, 'key')), { code: 'EACCES' }));
});

test('a home that another Baton uses is refused with its process id', () => {
  const home = openHome(folder.path);
  assert.throws(() => openHome(folder.path), sentence(new RegExp(`process ${process.pid}`)));
  home.release();
  openHome(folder.path).release();
});

/** A process that opens the home, prints whether it got the lock, and then runs `after`. */
function spawnOpener(after: string) {
  const script = `
    import { openHome } from ${JSON.stringify(join(import.meta.dirname, 'home.ts'))};
    try { openHome(${JSON.stringify(folder.path)}); console.log('got it'); ${after} }
    catch (error) { console.log(error.name); }`;
  return spawn(process.execPath, ['--input-type=module-typescript', '-e', script]);
}

/** Runs a process that opens the home, waits until it exits, and returns its output. */
async function runOpener(after: string): Promise<string> {
  const child = spawnOpener(after);
  const [printed] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return printed;
}

test('the lock of a killed Baton is taken over', async () => {
  assert.equal(await runOpener("process.kill(process.pid, 'SIGKILL');"), 'got it\n');
  openHome(folder.path).release();
});

test('of several concurrent starts on a home whose Baton was killed, exactly one gets the lock', async () => {
  await runOpener("process.kill(process.pid, 'SIGKILL');");
  // Each process holds the lock until all have printed, because on a busy machine they may start at very different
  // times.
  const openers = Array.from({ length: 8 }, () => spawnOpener('process.stdin.resume();'));
  const answers = await Promise.all(
    openers.map(async ({ stdout }) => String((await once(stdout, 'data'))[0])),
  );
  for (const opener of openers) opener.kill('SIGKILL');
  assert.deepEqual(answers.sort(), [...Array(7).fill('StartError\n'), 'got it\n']);
});

test('a home that a newer Baton wrote is refused', () => {
  writePrivateFile(join(folder.path, 'version.json'), JSON.stringify({ dataVersion: dataVersion + 1 }));
  assert.throws(() => openHome(folder.path), sentence(/newer version of Baton/));
  assert.throws(
    () => openHome(folder.path),
    sentence(/newer version of Baton/),
    'and the refusal leaves no lock',
  );
});

test('a home whose path is a file is refused', () => {
  const path = join(folder.path, 'file');
  writeFileSync(path, '');
  assert.throws(() => openHome(path), sentence(/it is a file/));
});

test("a home that can't be created is rejected immediately", () => {
  for (const place of ['/proc/baton', '/proc/baton/below'])
    assert.throws(() => openHome(place), sentence(/Cannot use \S+ as the data folder/));
});

test('a home that can not be written is refused', () => {
  const path = join(folder.path, 'closed');
  mkdirSync(path, { mode: 0o500 });
  chmodSync(folder.path, 0o755);
  asOrdinaryUser(() => {
    for (const place of [path, join(path, 'below')])
      assert.throws(() => openHome(place), sentence(/it is not writable \(EACCES\)/));
  });
});

/** Root can write anywhere, so as root the work runs as nobody. */
function asOrdinaryUser(work: () => void): void {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(65534);
  try {
    work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

test('secrets and the signing key are generated once and readable by their owner only', async () => {
  const home = openHome(folder.path);
  const first = await ensureSecrets(home);
  assert.deepEqual(await ensureSecrets(home), first);
  for (const name of [
    'iam-bootstrap-token',
    'cp-bootstrap-token',
    'signing-key.pem',
    'audit-key',
    'secret-store-keys',
    'delegation-credential',
  ])
    assert.equal(statSync(home.path('secrets', name)).mode & 0o777, 0o600, name);
  assert.notEqual(first.iamBootstrapToken, first.cpBootstrapToken);
  assert.match(readFileSync(first.signingKeyFile, 'utf8'), /^-----BEGIN PRIVATE KEY-----/);
  // A folder from an earlier version lacks the secret that was added last.
  rmSync(first.delegationCredentialFile);
  assert.deepEqual(await ensureSecrets(home), first);
  for (const file of [first.auditKeyFile, first.sealingKeyFile, first.delegationCredentialFile])
    assert.match(readFileSync(file, 'utf8'), /^[\w-]{43}\n$/);
});
