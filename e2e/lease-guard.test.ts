import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Claim, Task } from '@baton/sdk';
import { type BatonProcess, program, repository } from '@baton/testing/baton-process';
import { assertTookLess, longTest } from '@baton/testing/depth';
import { type Participant, type RunningBaton, startRunningBaton } from '@baton/testing/running-baton';
import { type SilentProxy, silentProxy } from '@baton/testing/silent-proxy';

// examples/lease-guard: a push and a deploy pass only with a live lease.

const example = join(repository, 'examples', 'lease-guard');

// The gateways run in parallel; the tests of one gateway share a clone and a silent proxy, so they run one after
// another.
describe('gateways that check leases', { concurrency: 2 }, () => {
  let baton: RunningBaton;
  let folder: string;
  let agent: Participant;
  /** A principal that may read every claim with its fencing token, and holds none. */
  let reader: Participant;
  let tokenFile: string;
  const proxies: SilentProxy[] = [];

  before(async () => {
    baton = await startRunningBaton();
    folder = mkdtempSync(join(tmpdir(), 'baton-guard-'));
    agent = await baton.participant();
    reader = await baton.participant(['tasks.read']);
    const gateway = await baton.participant(['tasks.read']);
    tokenFile = join(folder, 'token');
    writeFileSync(tokenFile, `${gateway.token}\n`, { mode: 0o600 });
  });
  after(async () => {
    for (const proxy of proxies) proxy.close();
    await baton?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function newTask(): Promise<Task> {
    return baton.admin.tasks.create({ title: 'Release' });
  }
  /** Claims the task; the previous lease is revoked first. */
  async function takenBy({ baton: client }: Participant, task: Task, before?: Claim): Promise<Claim> {
    if (before !== undefined) await baton.admin.claims.release(before.id, { reason: 'it stalled' });
    const session = await client.sessions.open({ clientName: 'guarded' });
    return client.tasks.claim(task.id, { sessionId: session.id });
  }
  /** The settings of a gateway that reaches Baton through a proxy, which a test can make unresponsive. */
  async function settingsOf(): Promise<{ settings: Record<string, string>; between: SilentProxy }> {
    const between = await silentProxy(baton.url);
    proxies.push(between);
    return { between, settings: { BATON_URL: between.url, BATON_TOKEN_FILE: tokenFile } };
  }
  /** The token with another principal: once with the old signature, and once without one. */
  function forgeries(token: string, principalId: string): string[] {
    const [head = '', payload = '', signature = ''] = token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
    const changed = encode({ ...claims, sub: principalId });
    return [`${head}.${changed}.${signature}`, `${encode({ alg: 'none' })}.${changed}.x`];
  }
  const accessTokenOf = async ({ baton: client }: Participant) => (await client.accessToken?.get()) ?? '';
  async function whileSilent<Value>(between: SilentProxy, work: () => Promise<Value>): Promise<Value> {
    between.isSilent = true;
    try {
      return await work();
    } finally {
      between.isSilent = false;
    }
  }

  describe('the git hook', { concurrency: false }, () => {
    let bare: string;
    let clone: string;
    let settings: Record<string, string>;
    let between: SilentProxy;

    before(async () => {
      ({ settings, between } = await settingsOf());
      bare = join(folder, 'origin.git');
      clone = join(folder, 'clone');
      execFileSync('git', ['init', '--quiet', '--bare', bare]);
      execFileSync('git', ['-C', bare, 'config', 'receive.advertisePushOptions', 'true']);
      mkdirSync(join(bare, 'baton'));
      for (const file of ['guard.mjs', 'pre-receive.mjs'])
        cpSync(join(example, file), join(bare, 'baton', file));
      symlinkSync('../baton/pre-receive.mjs', join(bare, 'hooks', 'pre-receive'));
      execFileSync('git', ['clone', '--quiet', bare, clone], { stdio: 'ignore' });
    });

    /** Commits and pushes a file. @returns undefined if it passed, otherwise the server's message */
    async function push(
      branch: string,
      claim?: Pick<Claim, 'id' | 'fencingToken'>,
      who: Participant | null = agent,
    ): Promise<string | undefined> {
      const author = ['-c', 'user.name=tests', '-c', 'user.email=tests@example.com'];
      execFileSync('git', ['-C', clone, ...author, 'commit', '--quiet', '--allow-empty', '-m', 'work']);
      const options =
        claim === undefined
          ? []
          : ['-o', `baton-claim=${claim.id}`, '-o', `baton-token=${claim.fencingToken}`];
      if (claim !== undefined && who !== null)
        options.push('-o', `baton-access-token=${await accessTokenOf(who)}`);
      const args = ['-C', clone, 'push', '--force', ...options, 'origin', `HEAD:refs/heads/${branch}`];
      return new Promise((resolve) => {
        const env = {
          ...process.env,
          ...settings,
          PATH: `${join(process.execPath, '..')}:${process.env['PATH']}`,
        };
        execFile('git', args, { env, timeout: 60_000 }, (error, _stdout, stderr) =>
          resolve(error === null ? undefined : stderr),
        );
      });
    }

    test('the holder pushes; after the task was taken over, only the successor does', async () => {
      const task = await newTask();
      const branch = `task/${task.publicId}`;
      const first = await takenBy(agent, task);
      assert.equal(await push(branch, first), undefined);
      assert.equal(await push(`${branch}-attempt`, first), undefined);
      const second = await takenBy(agent, task, first);
      assert.match((await push(branch, first)) ?? '', /This lease has ended \(superseded\)\. Stop\./);
      assert.equal(await push(branch, second), undefined);
      assert.match((await push(branch, { ...first, fencingToken: second.fencingToken })) ?? '', /has ended/);
    });

    test("a caller who can only read another holder's claim can't push", async () => {
      const task = await newTask();
      const { id } = await takenBy(agent, task);
      const read = await reader.baton.claims.get(id);
      const branch = `task/${task.publicId}`;
      assert.match((await push(branch, read, reader)) ?? '', /You don't hold this lease/);
      assert.match((await push(branch, read, null)) ?? '', /Send your access token/);
      assert.equal(await push(branch, read), undefined);
    });

    test('without a lease, or with one on another task, the push is rejected; other branches are not affected', async () => {
      const task = await newTask();
      const other = await takenBy(agent, await newTask());
      assert.match((await push(`task/${task.publicId}`)) ?? '', /Name the lease/);
      assert.match((await push(`task/${task.publicId}`, other)) ?? '', /is not a branch of TASK-/);
      assert.match((await push('task/anything', { id: 'x', fencingToken: 1 })) ?? '', /Name the lease/);
      const unknown = { id: crypto.randomUUID(), fencingToken: 1 };
      assert.match((await push(`task/${task.publicId}`, unknown)) ?? '', /has no such lease/);
      assert.equal(await push('main'), undefined);
    });

    test('no push passes while Baton does not respond', async () => {
      const task = await newTask();
      const claim = await takenBy(agent, task);
      const said = await whileSilent(between, () => push(`task/${task.publicId}`, claim));
      assert.match(said ?? '', /did not answer in time, so nobody is let through/);
      assert.equal(await push(`task/${task.publicId}`, claim), undefined);
    });
  });

  describe('the reverse proxy', { concurrency: false }, () => {
    /** The requests that the service received, by the task that the proxy named. */
    const seen = new Map<unknown, string[]>();
    const headersSeen: IncomingHttpHeaders[] = [];
    const seenOf = ({ id }: Task) => seen.get(id) ?? [];
    let between: SilentProxy;
    let service: Server;
    let proxy: BatonProcess;
    let url: string;

    before(async () => {
      service = createServer((req, res) => {
        const task = req.headers['baton-task'];
        headersSeen.push(req.headers);
        seen.set(task, [...(seen.get(task) ?? []), `${req.method} ${req.url}`]);
        if (req.url === '/slow') return;
        req.pipe(res);
      });
      await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
      const UPSTREAM = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
      const FOLDER = join(folder, 'proxy');
      const { settings, between: toBaton } = await settingsOf();
      between = toBaton;
      proxy = program(join(example, 'proxy.mjs'), [], { ...settings, UPSTREAM, FOLDER, PORT: '0' });
      [, url = ''] = await proxy.prints(/Listening on (http:\S+)/);
    });
    after(async () => {
      proxy?.child.kill('SIGTERM');
      await proxy?.ended;
      service?.closeAllConnections();
      service?.close();
    });

    type Lease = Pick<Claim, 'id' | 'fencingToken'>;
    const leaseHeaders = ({ id, fencingToken }: Lease) => ({
      'baton-claim': id,
      'baton-fencing-token': String(fencingToken),
    });
    async function deploy(claim?: Lease, path = '/deploy', accessToken?: string) {
      const answer = await fetch(url + path, {
        method: 'POST',
        body: 'version 2.4',
        ...(claim && {
          headers: {
            ...leaseHeaders(claim),
            'baton-access-token': accessToken ?? (await accessTokenOf(agent)),
          },
        }),
      });
      return [answer.status, await answer.text()] as const;
    }

    test("the holder deploys; a stale holder's request is rejected and never reaches the service", async () => {
      const task = await newTask();
      const first = await takenBy(agent, task);
      assert.deepEqual(await deploy(first), [200, 'version 2.4']);
      assert.deepEqual(seenOf(task), ['POST /deploy']);
      const second = await takenBy(agent, task, first);
      assert.deepEqual(await deploy(first), [409, 'This lease has ended (superseded). Stop.\n']);
      assert.equal((await deploy())[0], 400);
      assert.equal((await deploy({ id: first.id, fencingToken: -1 }))[0], 400);
      assert.equal(seenOf(task).length, 1);
      assert.equal((await deploy(second))[0], 200);
      assert.equal(seenOf(task).length, 2);
    });

    test("a caller who can only read another holder's claim can't deploy, and the service gets no access token", async () => {
      const task = await newTask();
      const claim = await takenBy(agent, task);
      const read = await reader.baton.claims.get(claim.id);
      const asReader = await accessTokenOf(reader);
      assert.deepEqual(await deploy(read, '/deploy', asReader), [403, "You don't hold this lease.\n"]);
      const forged = forgeries(asReader, agent.principalId);
      for (const token of ['', 'a.b.c', `${asReader}x`, 'x'.repeat(9000), reader.token, ...forged])
        assert.equal((await deploy(read, '/deploy', token))[0], 401, token.slice(0, 10));
      assert.deepEqual(seenOf(task), []);
      assert.equal((await deploy(read))[0], 200);
      assert.equal(headersSeen.at(-1)?.['baton-access-token'], undefined);
    });

    test('a body is never read as a request of another task, with any method', async () => {
      const [own, others] = [await newTask(), await newTask()];
      const claim = await takenBy(agent, own);
      const lease = Object.entries({
        ...leaseHeaders(claim),
        'baton-access-token': await accessTokenOf(agent),
      });
      const smuggled = `POST /smuggled HTTP/1.1\r\nHost: x\r\nBaton-Task: ${others.id}\r\nContent-Length: 0\r\n\r\n`;
      const sizeHex = smuggled.length.toString(16);
      const chunked = `${sizeHex}\r\n${smuggled}\r\n0\r\n\r\n`;
      const ofLength = `Content-Length: ${smuggled.length}`;
      const framings = {
        chunked: ['Transfer-Encoding: chunked', chunked],
        'chunked-with-extension': [
          'Transfer-Encoding: chunked',
          `${sizeHex};a="b"\r\n${smuggled}\r\n0;c\r\nBaton-Task: ${others.id}\r\n\r\n`,
        ],
        'chunked-of-one-connection': [
          'Transfer-Encoding: chunked\r\nConnection: transfer-encoding, baton-task',
          chunked,
        ],
        length: [ofLength, smuggled],
        'length-of-one-connection': [`${ofLength}\r\nConnection: Content-Length`, smuggled],
        upgrade: [`${ofLength}\r\nUpgrade: h2c\r\nConnection: upgrade`, smuggled],
      } as const;
      for (const method of ['GET', 'DELETE', 'OPTIONS', 'POST'])
        for (const [name, [framing, body]] of Object.entries(framings)) {
          const lines = [
            `${method} /${name} HTTP/1.1`,
            'Host: x',
            ...lease.map((pair) => pair.join(': ')),
            `Baton_Task: ${others.id}`,
            `Baton.Task: ${others.id}`,
            framing,
            'Connection: close',
          ];
          const answer = await raw(`${lines.join('\r\n')}\r\n\r\n${body}`);
          assert.match(answer, /^HTTP\/1\.1 200 /, `${method} ${name}`);
          assert.ok(answer.includes('POST /smuggled'), `${method} ${name}: the body comes as a body`);
          assert.equal(seenOf(own).at(-1), `${method} /${name}`);
          for (const name of ['baton_task', 'baton.task'])
            assert.equal(headersSeen.at(-1)?.[name], undefined);
        }
      const passed = 4 * Object.keys(framings).length;
      assert.equal(seenOf(own).length, passed);
      assert.deepEqual(seenOf(others), []);
      const rest = lease.map((pair) => `${pair.join(': ')}\r\n`).join('');
      for (const [head, status] of [
        ['GET http://other.example/ HTTP/1.1\r\n', 400],
        ['POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n', 501],
        ['POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n', 400],
        ['POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n', 400],
        ['POST / HTTP/1.1\r\nTransfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n', 400],
        ['POST / HTTP/1.1\r\nTransfer-Encoding : chunked\r\n', 400],
        ['POST / HTTP/1.1\r\nTransfer-Encoding: chunked, chunked\r\n', 400],
      ] as const)
        assert.match(
          await raw(`${head}Host: x\r\nConnection: close\r\n${rest}\r\n0\r\n\r\n`),
          new RegExp(`^HTTP/1\\.1 ${status} `),
          head,
        );
      // The next request on the same connection needs a lease of its own.
      const first = `GET /first HTTP/1.1\r\nHost: x\r\n${rest}\r\n`;
      const both = await raw(`${first}GET /second HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      assert.deepEqual(both.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 400']);
      assert.equal(await raw(`CONNECT x:80 HTTP/1.1\r\nHost: x\r\n${rest}\r\n${smuggled}`), '');
      assert.equal(seenOf(own).at(-1), 'GET /first');
      assert.equal(seenOf(own).length, passed + 1);
      assert.deepEqual(seenOf(others), []);
    });

    /** Sends these bytes to the proxy. @returns the whole response */
    async function raw(bytes: string): Promise<string> {
      const { hostname, port } = new URL(url);
      const socket = connect(Number(port), hostname);
      socket.setTimeout(20_000, () => socket.destroy());
      socket.write(bytes);
      let answer = '';
      for await (const chunk of socket) answer += chunk;
      return answer;
    }

    test("a late response doesn't let an older token through", async () => {
      const task = await newTask();
      const first = await takenBy(agent, task);
      // Simulates a successor whose request passed just before the response to the first holder's check arrived.
      mkdirSync(join(folder, 'proxy', 'fences', task.id), { recursive: true });
      writeFileSync(join(folder, 'proxy', 'fences', task.id, String(first.fencingToken + 1)), '');
      assert.deepEqual(await deploy(first), [
        409,
        'This lease has ended (superseded): somebody else holds the task.\n',
      ]);
      assert.deepEqual(seenOf(task), []);
    });

    test('no request passes while Baton does not respond', async () => {
      const task = await newTask();
      const claim = await takenBy(agent, task);
      assert.equal((await whileSilent(between, () => deploy(claim)))[0], 503);
      assert.deepEqual(seenOf(task), []);
      assert.equal((await deploy(claim))[0], 200);
    });

    longTest('a request does not outlive its lease', async () => {
      const session = await agent.baton.sessions.open({ clientName: 'guarded' });
      const { id } = await newTask();
      const claim = await agent.baton.tasks.claim(id, { sessionId: session.id, ttlSeconds: 10 });
      const began = performance.now();
      assert.equal((await deploy(claim, '/slow'))[0], 502);
      // The lease lasts 10 s; without it, the proxy would wait for a minute. On a busy machine the response took 11 s.
      assertTookLess(began, 30_000, 'the refusal');
    });
  });
});
