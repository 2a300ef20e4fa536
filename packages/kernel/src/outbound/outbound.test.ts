import assert from 'node:assert/strict';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { OutboundClient, type OutboundOptions, type Resolver } from './outbound.ts';
import { isPublicAddress } from './public-addresses.ts';

const loopback: Resolver = async () => [{ address: '127.0.0.1', family: 4 }];

let server: Server;
let port: number;
let answer: RequestListener;
let hits: number;
before(async () => {
  server = createServer((req, res) => {
    hits += 1;
    answer(req, res);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  port = (server.address() as AddressInfo).port;
});
after(() => {
  server.closeAllConnections();
  server.close();
});

/** A client that may call `idp.test`, which is on loopback. */
function clientOf(options: Partial<OutboundOptions> = {}) {
  hits = 0;
  return new OutboundClient({ allowedHosts: [`idp.test:${port}`], resolve: loopback, ...options });
}

const address = () => `http://idp.test:${port}/keys`;
const fails = (failure: string) => (error: unknown) => (error as { failure?: string }).failure === failure;

describe('an outgoing request', () => {
  test('goes to the address that was checked, with the name in Host, and reads JSON', async () => {
    const hosts: (string | undefined)[] = [];
    answer = (req, res) => {
      hosts.push(req.headers.host);
      res.end('{"keys":[]}');
    };
    let resolved = 0;
    const resolve: Resolver = async (host) => {
      resolved += 1;
      assert.equal(host, 'idp.test');
      return loopback(host);
    };
    assert.deepEqual(await clientOf({ resolve }).readJson(address()), { keys: [] });
    assert.deepEqual(await clientOf({ resolve, allowedHosts: ['IDP.test'] }).readJson(address()), {
      keys: [],
    });
    assert.deepEqual([hosts, resolved], [[`idp.test:${port}`, `idp.test:${port}`], 2]);
  });

  test('goes over https only, unless the setting names the host', async () => {
    await assert.rejects(clientOf({ allowedHosts: [] }).readJson(address()), fails('not_https'));
    const otherPort = clientOf({ allowedHosts: [`idp.test:${port + 1}`, '127.0.0.1:1'] });
    await assert.rejects(otherPort.readJson(address()), fails('not_https'));
    await assert.rejects(otherPort.readJson(`http://127.0.0.1:${port}/`), fails('not_https'));
    assert.equal(hits, 0);
  });

  test('goes to public hosts only, whatever form the address has', async () => {
    const client = clientOf();
    for (const host of [
      'other.test',
      'localhost',
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      '0177.0.0.1',
      '0',
      '10.1.2.3',
      '100.64.0.1',
      '169.254.169.254',
      '172.31.255.255',
      '192.168.0.1',
      '224.0.0.1',
      '255.255.255.255',
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:8.8.8.8]',
      '[64:ff9b::7f00:1]',
      '[fe80::1]',
      '[fd00::1]',
      '[ff02::1]',
      '[2002:7f00:1::]',
    ])
      await assert.rejects(client.readJson(`https://${host}:${port}/`), fails('not_public'), host);
    assert.equal(hits, 0);
  });

  test('one private address among public ones is refused', async () => {
    const resolve: Resolver = async () => [
      { address: '8.8.8.8', family: 4 },
      { address: '10.0.0.1', family: 4 },
    ];
    await assert.rejects(clientOf({ resolve }).readJson('https://mixed.test/'), fails('not_public'));
  });

  test('a name that is not found, or is resolved too slowly, fails', async () => {
    const unknown: Resolver = async () => {
      throw new Error('ENOTFOUND');
    };
    await assert.rejects(clientOf({ resolve: unknown }).readJson(address()), fails('name_not_found'));
    const empty: Resolver = async () => [];
    await assert.rejects(clientOf({ resolve: empty }).readJson(address()), fails('name_not_found'));
    const never: Resolver = () => new Promise(() => undefined);
    await assert.rejects(clientOf({ resolve: never, timeoutMs: 50 }).readJson(address()), fails('too_late'));
  });

  test('follows no redirect and takes no other status than 200', async () => {
    for (const [status, headers] of [
      [302, { location: '/elsewhere' }],
      [308, { location: 'https://idp.example/' }],
      [204, {}],
      [404, {}],
      [500, {}],
    ] as const) {
      answer = (_req, res) => res.writeHead(status, headers).end(status === 204 ? undefined : '{}');
      await assert.rejects(clientOf().readJson(address()), fails('bad_status'));
      assert.equal(hits, 1);
    }
  });

  test('reads 256 KiB and not a byte more, declared or not', async () => {
    const text = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`;
    answer = (_req, res) => res.end(text(262_144));
    assert.equal(((await clientOf().readJson(address())) as string).length, 262_142);
    answer = (_req, res) => res.end(text(262_145));
    await assert.rejects(clientOf().readJson(address()), fails('too_large'));
    let written = 0;
    answer = (_req, res) => {
      const pour = () => {
        while (!res.destroyed && written < 1e9) {
          written += 65_536;
          if (!res.write('x'.repeat(65_536))) return res.once('drain', pour);
        }
        return undefined;
      };
      pour();
    };
    await assert.rejects(clientOf().readJson(address()), fails('too_large'));
    assert.ok(written < 1e8, `${written} bytes were sent`);
  });

  test('ends at its timeout, whether nothing arrives or the body trickles in', async () => {
    answer = () => undefined;
    await assert.rejects(clientOf({ timeoutMs: 50 }).readJson(address()), fails('too_late'));
    answer = (_req, res) => {
      const drops = setInterval(() => res.write(' '), 10);
      res.on('close', () => clearInterval(drops));
    };
    await assert.rejects(clientOf({ timeoutMs: 80 }).readJson(address()), fails('too_late'));
    const late = AbortSignal.abort();
    await assert.rejects(clientOf().readJson(address(), late), fails('too_late'));
    assert.equal(new OutboundClient({ allowedHosts: [] }).timeoutMs, 5000);
  });

  test('a body that is not JSON, not UTF-8, compressed, truncated or missing fails', async () => {
    answer = (_req, res) => res.end('<html>');
    await assert.rejects(clientOf().readJson(address()), fails('not_json'));
    answer = (_req, res) => res.end(Buffer.from([0x22, 0xff, 0x22]));
    await assert.rejects(clientOf().readJson(address()), fails('not_json'));
    answer = (_req, res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end('{}');
    await assert.rejects(clientOf().readJson(address()), fails('bad_encoding'));
    answer = (_req, res) => {
      res.writeHead(200, { 'content-length': '10' }).write('{');
      setTimeout(() => res.destroy(), 20);
    };
    await assert.rejects(clientOf().readJson(address()), fails('unreachable'));
    const nobody = clientOf({ allowedHosts: ['idp.test'] });
    await assert.rejects(nobody.readJson('http://idp.test:1/'), fails('unreachable'));
  });

  test('can send a body, and returns any status with its Location', async () => {
    let received = '';
    answer = async (req, res) => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk);
      received = `${req.method} ${req.headers['content-type']} ${Buffer.concat(chunks)}`;
      res.writeHead(201, { location: '/users/1' }).end();
    };
    const request = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'Adé' } as const;
    const send = (allowedHosts = [`idp.test:${port}`]) =>
      clientOf({ allowedHosts }).send(address(), request, AbortSignal.timeout(5000));
    assert.deepEqual(await send(), { status: 201, location: '/users/1', json: undefined });
    assert.equal(received, 'POST text/plain Adé');
    answer = (_req, res) => res.end('{"id":"1"}');
    assert.deepEqual((await send()).json, { id: '1' });
    for (const status of [302, 401, 500]) {
      answer = (_req, res) => res.writeHead(status, { location: '/elsewhere' }).end('<html>');
      assert.deepEqual(await send(), { status, location: '/elsewhere', json: undefined });
      assert.equal(hits, 1);
    }
    answer = (_req, res) => res.end('x'.repeat(262_145));
    await assert.rejects(send(), fails('too_large'));
    await assert.rejects(send([]), fails('not_https'));
    assert.equal(hits, 0);
  });

  test('carries no credentials and speaks http only', async () => {
    for (const wrong of [
      'no address',
      '',
      'file:///etc/passwd',
      'ftp://idp.test/',
      'data:application/json,{}',
      `http://user:password@idp.test:${port}/`,
    ])
      await assert.rejects(clientOf().readJson(wrong), fails('bad_address'), wrong);
  });
});

test('an address is public when the internet reaches it', () => {
  for (const address of [
    '8.8.8.8',
    '1.1.1.1',
    '100.63.255.255',
    '172.32.0.1',
    '2606:4700::1111',
    '2a00:1450::1',
  ])
    assert.ok(isPublicAddress(address), address);
  for (const address of [
    '',
    'name',
    '1.2.3',
    '2606:4700::1111%eth0',
    '::ffff:1.1.1.1',
    '3fff::1',
    '2001:db8::1',
  ])
    assert.ok(!isPublicAddress(address), address);
});
