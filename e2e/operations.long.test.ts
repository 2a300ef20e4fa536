// Runs the commands of docs/operations.md unchanged, against real servers.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { keepLog } from '@baton/kernel/testing/leaks/leaks';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { awaitReady, type BatonProcess, baton, repository, stopProgram } from '@baton/testing/baton-process';
import {
  type DebianPostgres,
  startDebianPostgres,
  withoutDebianPostgres,
} from './testing/debian-postgres.ts';

type Environment = Record<string, string>;

const page = readFileSync(join(repository, 'docs/operations.md'), 'utf8');
const blocks = new Map(
  [...page.matchAll(/^( *)```sh (\S+)\n(.*?)^ *```/gms)].map(([, , name = '', lines = '']) => [name, lines]),
);
const tried = new Set<string>();

let folder: string;
let postgres: DebianPostgres | undefined;
const started: BatonProcess[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-operations-'));
  // Servers that root starts run as another user.
  chmodSync(folder, 0o755);
  if (withoutDebianPostgres === false) postgres = await startDebianPostgres(join(folder, 'debian'));
  else console.warn(`SKIPPED: ${withoutDebianPostgres}`);
});

after(async () => {
  for (const { child } of started) child.kill('SIGTERM');
  await Promise.all(started.map(({ ended }) => ended));
  await postgres?.stop();
  for (const { output } of started) keepLog(output());
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
});

/** Runs the commands of a block in `cwd`, where `.baton` is the folder of Baton. */
async function run(name: string, cwd: string, env: Environment = {}, wait = 'false'): Promise<string> {
  const block = blocks.get(name);
  assert.ok(block !== undefined, `docs/operations.md has no block ${name}`);
  tried.add(name);
  const lines = block
    .replaceAll('npx baton', `${process.execPath} ${join(repository, 'bin/baton.mjs')}`)
    .replaceAll('sleep 60', `while ${wait}; do sleep 0.1; done`);
  const { PATH = '', HOME = '' } = process.env;
  const all = { PATH, HOME, BATON_HOME: join(cwd, '.baton'), ...env };
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', lines], {
    cwd,
    env: all,
    timeout: 120_000,
  });
  return stdout;
}

async function startBaton(cwd: string, env: Environment = {}): Promise<BatonProcess> {
  const process = baton(['start'], { BATON_HOME: join(cwd, '.baton'), PORT: '0', ...env });
  started.push(process);
  return awaitReady(process);
}

const connectionOf = (cwd: string) =>
  JSON.parse(readFileSync(join(cwd, '.baton', 'connection.json'), 'utf8')) as Environment;

async function until(isTrue: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await isTrue())) {
    assert.ok(performance.now() < deadline, `never: ${what}`);
    await sleep(50);
  }
}

async function json(url: string, init?: RequestInit): Promise<Record<string, unknown>> {
  return (await (await fetch(url, init)).json()) as Record<string, unknown>;
}

/** Exchanges the administrator's token; the response of coordination proves that the new one is accepted. */
async function whoAmI(
  cwd: string,
): Promise<{ alg: string; kid: string; status: number; authorization: string }> {
  const { identityUrl, coordinationUrl, adminToken, adminPrincipalId } = connectionOf(cwd);
  const { accessToken } = (await json(`${identityUrl}/api/v1/platform-access-tokens:exchange`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: adminToken, audience: 'control-plane' }),
  })) as { accessToken: string };
  const authorization = `Bearer ${accessToken}`;
  const { status } = await fetch(`${coordinationUrl}/api/v1/principals/${adminPrincipalId}`, {
    headers: { authorization },
  });
  const head = Buffer.from(accessToken.split('.')[0] as string, 'base64url').toString();
  return { ...(JSON.parse(head) as { alg: string; kid: string }), status, authorization };
}

function place(name: string): string {
  const path = join(folder, name);
  mkdirSync(path, { mode: 0o755 });
  return path;
}

const missing = ['bash', 'curl', 'openssl'].find(
  (tool) => spawnSync(tool, ['--version']).error !== undefined,
);
const noTool = missing === undefined ? false : `${missing} is not installed`;

test('the default run is backed up, restored and monitored, and its keys and secrets are rotated', {
  skip: noTool,
}, async () => {
  const cwd = place('default');
  const secrets = join(cwd, '.baton', 'secrets');
  const secretsFile = join(cwd, 'admin-secrets');
  writeFileSync(secretsFile, '', { mode: 0o600 });
  const env = {
    IAM_SIGNING_KEY_ID: 'thumbprint',
    IAM_SIGNING_NEXT_KEY_FILE: join(secrets, 'signing-next.pem'),
    IAM_SIGNING_PREVIOUS_KEY_FILE: join(secrets, 'signing-previous.pem'),
    IAM_BOOTSTRAP_TOKENS_FILE: secretsFile,
  };
  await run('backup', cwd, { BATON_HOME: join(cwd, 'x') }).then(
    () => assert.fail('without a Baton'),
    (error: Error) => assert.match(error.message, /No Baton data in/),
  );
  const first = await startBaton(cwd, env);
  await run('backup', cwd);
  await stopProgram(first);
  renameSync(join(cwd, '.baton'), join(cwd, 'lost'));
  await run('restore', cwd);
  assert.equal(readdirSync(join(cwd, '.baton')).filter((name) => name.startsWith('replaced-')).length, 1);

  const running = await startBaton(cwd, env);
  assert.equal((await whoAmI(cwd)).status, 200);
  const { identityUrl, coordinationUrl, tenantId } = connectionOf(cwd) as Record<string, string>;
  const urls = {
    BATON_COORDINATION_URL: coordinationUrl as string,
    BATON_IDENTITY_URL: identityUrl as string,
  };
  assert.match(await run('watch', cwd, urls), /"ready"/);
  assert.match(await run('memory', cwd), /^Delivered: 0 events\.\n[^]*retried now[^]*starts again now/);

  const before = (await whoAmI(cwd)).kid;
  const keys = `${identityUrl}/.well-known/jwks.json`;
  const isPublished = `[ "$(curl -s ${keys} | grep -o '"kid"' | wc -l)" -lt 2 ]`;
  await run('signing-key', cwd, {}, isPublished);
  await until(async () => (await whoAmI(cwd)).kid !== before, 'the new key signs');
  assert.equal((await whoAmI(cwd)).status, 200);
  const published = (await json(keys))['keys'] as { kid: string }[];
  assert.ok(
    published.some(({ kid }) => kid === before),
    'the previous key is still published',
  );

  await run('admin-secret', cwd, { IAM_BOOTSTRAP_TOKENS_FILE: secretsFile });
  const [, secret = ''] = /^maria:(.*)$/m.exec(readFileSync(secretsFile, 'utf8')) ?? [];
  const tenant = `${identityUrl}/api/v1/tenants/${tenantId}`;
  const isAdmitted = async () => (await fetch(tenant, { headers: { 'x-iam-bootstrap-token': secret } })).ok;
  await until(isAdmitted, 'the new secret is taken');

  await stopProgram(running);
  await run('audit-key', cwd);
  await run('es256-key', cwd);
  const last = await startBaton(cwd, {
    ...env,
    IAM_SIGNING_ES256_KEY_FILE: join(secrets, 'signing-es256.pem'),
    CP_IAM_ALGORITHMS: '["RS256","ES256"]',
  });
  assert.equal((await whoAmI(cwd)).alg, 'RS256');
  const audience = `${connectionOf(cwd)['identityUrl']}/api/v1/tenants/${tenantId}/audiences/control-plane`;
  const admin = { 'x-iam-bootstrap-token': secret, 'content-type': 'application/json' };
  const { allowed_scopes: allowedScopes } = await json(audience, { headers: admin });
  const changed = { allowedScopes, signingAlgorithm: 'ES256' };
  await json(audience, { method: 'PATCH', headers: admin, body: JSON.stringify(changed) });
  const { alg, status } = await whoAmI(cwd);
  assert.deepEqual({ alg, status }, { alg: 'ES256', status: 200 });
  const { iamDatabaseUrl } = connectionOf(cwd) as Record<string, string>;
  const verified = await run('audit-key-verify', cwd, { BATON_IAM_DATABASE_URL: iamDatabaseUrl as string });
  assert.match(verified, /whole/);
  await stopProgram(last);
});

const skip = withoutDebianPostgres || noTool;

/** New, empty databases of a PostgreSQL 15. */
async function databases(name: string): Promise<{ IAM_DATABASE_URL: string; CP_DATABASE_URL: string }> {
  const { url } = postgres as DebianPostgres;
  await query(url('postgres'), `create database ${name}_iam`);
  await query(url('postgres'), `create database ${name}_cp`);
  return { IAM_DATABASE_URL: url(`${name}_iam`), CP_DATABASE_URL: url(`${name}_cp`) };
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

test('a PostgreSQL 15 of our own is dumped and restored, and its audit log checked', {
  skip,
}, async () => {
  const cwd = place('own');
  const first = await databases('first');
  const running = await startBaton(cwd, first);
  const { authorization } = await whoAmI(cwd);
  const tasks = `${connectionOf(cwd)['coordinationUrl']}/api/v1/tasks`;
  const task = await json(tasks, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: '{"title":"Before the dump"}',
  });
  const head = join(cwd, '.baton', 'secrets', 'audit-key.head');
  await until(async () => existsSync(head), 'the first seal');
  await run('dump', cwd, first);
  // These events will be lost: identity seals them, and then doesn't find its seal in the older data.
  const sealed = readFileSync(head, 'utf8');
  await whoAmI(cwd);
  await until(async () => readFileSync(head, 'utf8') !== sealed, 'a further seal');
  await stopProgram(running);

  const second = await databases('second');
  const keys = { IAM_AUDIT_KEY_FILE: join(cwd, '.baton', 'secrets', 'audit-key'), IAM_AUDIT_HEAD_FILE: head };
  await run('undump', cwd, second);
  await run('reindex', cwd, second);
  const missing = (error: { stdout: string }) =>
    /the last link that identity made is missing/.test(error.stdout);
  await assert.rejects(run('audit-check', cwd, { ...second, ...keys }), missing as never);
  await run('audit-head', cwd, keys);
  const again = await startBaton(cwd, second);
  const found = await fetch(`${connectionOf(cwd)['coordinationUrl']}/api/v1/tasks/${task['id']}`, {
    headers: { authorization: (await whoAmI(cwd)).authorization },
  });
  assert.equal(found.status, 200);
  await until(async () => existsSync(head), 'it seals again');
  assert.match(await run('audit-check', cwd, { ...second, ...keys }), /whole/);
  await stopProgram(again);
});

test('history is exported, archived and pruned', async () => {
  const cwd = place('retention');
  const running = await startBaton(cwd);
  const home = { BATON_HOME: join(cwd, '.baton') };
  const operations = async (...args: string[]) => {
    const process = baton(['operations', ...args], home);
    return { code: await process.ended, output: process.output() };
  };
  // Nothing can be archived until the context adapter has a cursor.
  await until(async () => (await operations('archive')).code === 0, 'the adapter has a cursor');
  const said = await run('retention', cwd);
  assert.match(
    said,
    /^\d+ events? exported\. To continue later: --after ec1_\S+\nNothing was archived.*\nNothing was deleted.*\n$/,
  );
  const lines = () => readFileSync(join(cwd, 'journal.jsonl'), 'utf8').trimEnd().split('\n');
  const first = JSON.parse(lines()[0] as string) as { type: string };
  assert.equal(first.type, 'tenant.bootstrapped');
  await until(
    async () =>
      /^[1-9]\d* events? archived/.test((await operations('archive', '--before-seconds', '0')).output),
    'the adapter has confirmed, and all is delivered',
  );
  assert.match((await operations('prune', '--before-seconds', '0')).output, /^[1-9]\d* events? deleted/);
  const exported = lines().length;
  assert.equal((await operations('export', '--file', join(cwd, 'journal.jsonl'), '--resume')).code, 0);
  assert.ok(lines().length > exported, 'the export continues after its last line');
  await stopProgram(running);
});

test('a transaction that delays the readers is found and ended', { skip }, async () => {
  const cwd = place('horizon');
  const env = await databases('horizon');
  const running = await startBaton(cwd, env);
  const ready = `${connectionOf(cwd)['coordinationUrl']}/health/ready`;
  const holder = async () =>
    ((await json(ready))['detail'] as { horizonHolder?: { pid: number | null } } | undefined)?.horizonHolder;
  await query(env.CP_DATABASE_URL, 'create role other_role login');
  await query(env.CP_DATABASE_URL, 'create role baton_role login');
  await query(env.CP_DATABASE_URL, 'create table elsewhere (n integer)');
  await query(
    env.CP_DATABASE_URL,
    "begin; insert into elsewhere values (1); prepare transaction 'forgotten'",
  );
  const forgetful = new pg.Client({ connectionString: env.CP_DATABASE_URL });
  forgetful.on('error', () => undefined);
  await forgetful.connect();
  try {
    await forgetful.query('begin');
    const { rows } = await forgetful.query<{ pid: number }>(
      'select pg_backend_pid() as pid, pg_current_xact_id()',
    );
    await until(async () => (await holder()) !== undefined, 'the holder is named');
    const ids = { PID: String(rows[0]?.pid), GID: 'forgotten' };
    const shown = await run('horizon', cwd, { ...env, ...ids });
    assert.ok(shown.includes(ids.PID) && shown.includes(ids.GID), shown);
    await until(async () => (await holder()) === undefined, 'nobody holds the readers back');
  } finally {
    await forgetful.end().catch(() => undefined);
  }
  await run('horizon-guard', cwd, { ...env, OTHER_ROLE: 'other_role', BATON_ROLE: 'baton_role' });
  await stopProgram(running);
});

test('migrations are tried, then applied, and processes restart one after the other', { skip }, async () => {
  const cwd = place('upgrade');
  const env = await databases('upgrade');
  const said = await run('upgrade', cwd, env);
  assert.match(said, /identity, for revision \d+: would apply .* Nothing was changed/);
  assert.match(said, /coordination, for revision \d+: would apply .* Nothing was changed/);
  assert.match(said, /The database of coordination is at revision \d+: applied/);
  const serve = async () => {
    const port = await freePort();
    const process = baton(['coordination', 'serve'], { ...env, CP_PORT: port });
    started.push(process);
    await process.prints(/listens at/);
    return { process, url: `http://127.0.0.1:${port}/health/ready` };
  };
  let [one, two] = [await serve(), await serve()];
  for (let round = 0; round < 2; round += 1) {
    let isRestarted = false;
    const answers: number[] = [];
    const asking = (async () => {
      while (!isRestarted) answers.push((await fetch(two.url)).status);
    })();
    await stopProgram(one.process);
    const next = await serve();
    isRestarted = true;
    await asking;
    assert.deepEqual(new Set(answers), new Set([200]));
    [one, two] = [two, next];
  }
});

test('every block of the page is run by one of these tests', () => {
  const untried = [...blocks.keys()].filter((name) => !tried.has(name));
  if (withoutDebianPostgres === false && noTool === false) assert.deepEqual(untried, []);
  assert.equal(page.match(/^ *```sh/gm)?.length, blocks.size, 'each block has a name of its own');
});
