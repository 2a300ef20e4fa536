import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { repository } from '@baton/testing/baton-process';
import { privateFolder } from './testing/private-folder.ts';

// A checkout without installed packages, with one package in its lockfile.

let folder: ReturnType<typeof privateFolder>;

beforeEach(() => {
  folder = privateFolder();
  cpSync(join(repository, 'bin'), join(folder.path, 'bin'), { recursive: true });
  const version = { version: '1.0.0' };
  const write = (name: string, value: object) =>
    writeFileSync(join(folder.path, name), JSON.stringify(value));
  write('tsconfig.json', {});
  write('package.json', { name: 'small', ...version, dependencies: { 'baton-no-such-package': '1.0.0' } });
  write('package-lock.json', {
    name: 'small',
    ...version,
    lockfileVersion: 3,
    packages: {
      '': { name: 'small', ...version, dependencies: { 'baton-no-such-package': '1.0.0' } },
      'node_modules/baton-no-such-package': {
        ...version,
        resolved: 'https://registry.npmjs.org/baton-no-such-package/-/baton-no-such-package-1.0.0.tgz',
        integrity: `sha512-${Buffer.alloc(64).toString('base64')}`,
      },
    },
  });
});

afterEach(() => folder.remove());

function run(env: Record<string, string>, uid?: number) {
  const child = spawn(process.execPath, ['bin/baton.mjs', 'start'], {
    cwd: folder.path,
    env: { PATH: process.env.PATH, HOME: folder.path, npm_config_cache: join(folder.path, 'cache'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Runs in a process group of its own, so that npm can be stopped together with it.
    detached: true,
    ...(uid !== undefined && { uid }),
  });
  let text = '';
  const ended = once(child, 'close');
  const prints = (pattern: RegExp) =>
    new Promise<string>((done, failed) => {
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => {
          text += chunk.toString();
          if (pattern.test(text)) done(text);
        });
      void ended.then(() => failed(new Error(`It never printed ${pattern}:\n${text}`)));
    });
  return {
    prints,
    ended,
    output: () => text,
    async stop() {
      if (child.exitCode === null) process.kill(-(child.pid as number), 'SIGKILL');
      await ended;
    },
  };
}

test('without a network the first start names the registry that it waits for, long before npm gives up', async () => {
  const registry = `http://user:hidden@127.0.0.1:${await freePort()}/`;
  const running = run({ npm_config_registry: registry });
  try {
    const shown = registry.replace('user:hidden@', '');
    const printed = await running.prints(/can't be reached/);
    assert.ok(printed.includes(`npm waits for ${shown}, which can't be reached (ECONNREFUSED)`), printed);
    assert.ok(!printed.includes('hidden'));
    assert.doesNotMatch(printed, /npm ci failed/);
  } finally {
    await running.stop();
  }
});

test('a registry that is slow is named, too, and so is a proxy that is set', async () => {
  const server = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const running = run({ npm_config_registry: 'https://registry.example/npm/', HTTPS_PROXY: proxy });
  try {
    const expected = `npm gets the packages from https://registry.example/npm/ through the proxy ${proxy}; waiting for it ...`;
    const printed = await running.prints(/waiting for it/);
    assert.ok(printed.includes(expected), printed);
  } finally {
    await running.stop();
    server.closeAllConnections();
    server.close();
  }
});

test("another user in somebody's checkout gets a one-line message", {
  skip: process.getuid?.() !== 0 && 'only root can run programs as other users',
}, async () => {
  const daemon = 1;
  chmodSync(folder.path, 0o755);
  const refused = async (pattern: RegExp) => {
    const running = run({}, daemon);
    running.prints(pattern).catch(() => undefined);
    await running.ended;
    assert.match(running.output(), pattern);
    assert.match(running.output(), /^[^\n]+\.\n$/);
  };
  await refused(/Packages must be installed in \S+, but you may not write there/);
  chmodSync(join(folder.path, 'package-lock.json'), 0o600);
  await refused(/This user may not use \S+package-lock\.json \(EACCES\)/);
  // The packages are installed, but other users can't read the programs.
  chmodSync(join(folder.path, 'package-lock.json'), 0o644);
  mkdirSync(join(folder.path, 'node_modules'));
  cpSync(join(folder.path, 'package-lock.json'), join(folder.path, 'node_modules', '.package-lock.json'));
  const program = join(folder.path, 'packages', 'platform', 'src');
  mkdirSync(program, { recursive: true });
  writeFileSync(join(program, 'start.main.ts'), '', { mode: 0o600 });
  await refused(/This user may not use \S+start\.main\.ts \(EACCES\)/);
});
