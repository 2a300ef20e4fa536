import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createNetServer } from 'node:net';
import { test } from 'node:test';
import { localhostUrl, openTwin } from './localhost-twin.ts';

test('a loopback address becomes localhost; any other address stays', () => {
  for (const [url, expected] of [
    ['http://127.0.0.1:8080', 'http://localhost:8080'],
    ['http://127.0.0.2/x', 'http://localhost/x'],
    ['http://[::1]:8080', 'http://localhost:8080'],
    ['https://baton.example.com', 'https://baton.example.com'],
    ['http://127.0.0.1.example.com', 'http://127.0.0.1.example.com'],
    ['http://192.168.1.2:8080', 'http://192.168.1.2:8080'],
  ] as const)
    assert.equal(localhostUrl(url), expected);
});

test('the port of ::1 has the same service, unless another program listens there', async () => {
  const http = createServer((req, res) => res.end(req.socket.remoteAddress));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  const twin = await openTwin(http, port);
  assert.equal(twin.isTaken, false);
  // A machine without IPv6 doesn't have a ::1 on which another program could listen.
  if (twin.server !== undefined) {
    assert.equal(await (await fetch(`http://[::1]:${port}/`)).text(), '::1');
    assert.equal((await openTwin(http, port)).isTaken, true);
  }
  twin.server?.close();
  http.close();
  http.closeAllConnections();
});

test('a port of ::1 that another program has is taken', async () => {
  const other = createNetServer();
  other.listen({ port: 0, host: '::1' });
  const isThere = await Promise.race([
    once(other, 'listening').then(() => true),
    once(other, 'error').then(() => false),
  ]);
  if (!isThere) return;
  const { port } = other.address() as AddressInfo;
  const twin = await openTwin(createServer(), port);
  assert.deepEqual([twin.isTaken, twin.server], [true, undefined]);
  other.close();
});
