import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@baton/kernel/testing/process/free-port';

/** OpenStack Swift with its S3 interface, a real S3 server in Debian; for tests, on loopback. */
export interface S3Server {
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

const kinds = ['account', 'container', 'object'] as const;
const binaries = ['swift-ring-builder', 'swift-proxy-server', ...kinds.map((kind) => `swift-${kind}-server`)];

/** The reason why Swift isn't available; undefined if it is. */
export function swiftMissing(): string | undefined {
  const missing = binaries.filter((name) => !existsSync(join('/usr/bin', name)));
  if (missing.length === 0) return undefined;
  return `Debian's ${missing.join(', ')} not installed: apt-get install swift-proxy swift-account swift-container swift-object`;
}

const readyMsMax = 60_000;
const stopMsMax = 10_000;

/**
 * Starts Swift with its own data, and creates the bucket `artifacts`. `makeBucket` is retried until it does not throw.
 */
export async function startSwift(
  makeBucket: (env: Record<string, string>) => Promise<void>,
): Promise<S3Server> {
  const home = mkdtempSync(join(tmpdir(), 'baton-swift-'));
  const ports: number[] = [];
  for (let n = 0; n < 4; n += 1) ports.push(Number(await freePort()));
  writeConfiguration(home, ports);
  const logFile = join(home, 'log');
  const children = [...kinds, 'proxy' as const].map((kind) =>
    spawn(`/usr/bin/swift-${kind}-server`, [join(home, `${kind}.conf`)], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: '/usr/bin:/bin' },
    }),
  );
  let said = '';
  for (const { stderr } of children) stderr.on('data', (text) => (said = `${said}${text}`.slice(-2000)));
  const ended = Promise.all(children.map((child) => new Promise((done) => child.once('exit', done))));
  const close = async () => {
    for (const child of children) child.kill('SIGTERM');
    const timer = setTimeout(() => children.forEach((child) => child.kill('SIGKILL')), stopMsMax);
    await ended;
    clearTimeout(timer);
    rmSync(home, { recursive: true, force: true });
  };
  const env = {
    CP_S3_ENDPOINT_URL: `http://127.0.0.1:${ports[3]}`,
    CP_S3_ACCESS_KEY_ID: 'test:tester',
    CP_S3_SECRET_ACCESS_KEY: 'testing-of-the-tests',
  };
  const startedAt = performance.now();
  for (;;) {
    try {
      await makeBucket(env);
      return { env, close };
    } catch (error) {
      if (performance.now() - startedAt < readyMsMax) await sleep(200);
      else {
        await close();
        throw new Error(`Swift did not become ready: ${said}${readLog(logFile)}`, { cause: error });
      }
    }
  }
}

function readLog(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8').slice(-2000) : '';
}

/** One copy of everything, in one process per server. */
function writeConfiguration(home: string, ports: readonly number[]): void {
  mkdirSync(join(home, 'srv/d1'), { recursive: true });
  writeFileSync(
    join(home, 'swift.conf'),
    '[swift-hash]\nswift_hash_path_suffix = test\n[storage-policy:0]\nname = one\ndefault = yes\n',
  );
  const common = (port: number | undefined) =>
    [
      '[DEFAULT]',
      'bind_ip = 127.0.0.1',
      `bind_port = ${port}`,
      'workers = 0',
      `user = ${userInfo().username}`,
      `swift_dir = ${home}`,
      'log_address = /dev/null',
    ].join('\n');
  for (const [at, kind] of kinds.entries()) {
    const build = (...args: string[]) =>
      execFileSync('/usr/bin/swift-ring-builder', [join(home, `${kind}.builder`), ...args], {
        stdio: 'ignore',
      });
    build('create', '4', '1', '0');
    build(
      'add',
      '--region',
      '1',
      '--zone',
      '1',
      '--ip',
      '127.0.0.1',
      '--port',
      String(ports[at]),
      '--device',
      'd1',
      '--weight',
      '1',
    );
    build('rebalance');
    writeFileSync(
      join(home, `${kind}.conf`),
      `${common(ports[at])}\ndevices = ${home}/srv\nmount_check = false\nfallocate_reserve = 0\n[pipeline:main]\npipeline = ${kind}-server\n[app:${kind}-server]\nuse = egg:swift#${kind}\n`,
    );
  }
  const filter = (name: string, more = '') => `[filter:${name}]\nuse = egg:swift#${name}\n${more}`;
  writeFileSync(
    join(home, 'proxy.conf'),
    [
      common(ports[3]),
      '[pipeline:main]',
      // The pipeline requires a cache, but works even if the cache can't be reached.
      'pipeline = catch_errors gatekeeper cache s3api tempauth proxy-server',
      '[app:proxy-server]',
      'use = egg:swift#proxy',
      'allow_account_management = true',
      'account_autocreate = true',
      // On a busy machine the backend servers take longer than the default 0.5 s, and the proxy would consider them
      // down for a minute.
      'conn_timeout = 10',
      'node_timeout = 30',
      'error_suppression_limit = 1000',
      filter('tempauth', 'user_test_tester = testing-of-the-tests .admin\n'),
      filter('s3api', 'location = us-east-1\nauth_pipeline_check = false\n'),
      filter('catch_errors'),
      filter('gatekeeper'),
      '[filter:cache]\nuse = egg:swift#memcache\nmemcache_servers = 127.0.0.1:1\n',
    ].join('\n'),
  );
}
