import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { createPool, isUnreachable } from './db.ts';
import { sql } from './sql.ts';

/** One message of PostgreSQL's protocol: type, length, body. */
function message(letter: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(letter), length, body]);
}

const authenticated = message('R', Buffer.alloc(4));
const ready = message('Z', Buffer.from('I'));
const ended = message('E', Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0'));

/** A server that accepts a connection and ends it in the same packet, as after `pg_terminate_backend`. */
async function serverThatEndsConnections() {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.concat([authenticated, ready, ended])));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `postgres://nobody@127.0.0.1:${(server.address() as AddressInfo).port}/nothing`,
    close: () => server.close(),
  };
}

test('a connection that the database ends while it is handed over fails its command, and not the process', async () => {
  const server = await serverThatEndsConnections();
  const pool = createPool({
    url: server.url,
    connectionsMax: 2,
    applicationName: 'handed over',
    statementTimeoutMs: 1000,
    lockTimeoutMs: 1000,
    idleInTransactionTimeoutMs: 1000,
    onError: () => undefined,
  });
  try {
    for (let round = 0; round < 3; round += 1) {
      await assert.rejects(
        pool.transaction((tx) => tx.row(sql`select 1`)),
        isUnreachable,
      );
      await assert.rejects(pool.row(sql`select 1`), isUnreachable);
      // Uses a connection directly: its listener is registered one iteration of the event loop after the error.
      await pool.connect().then((client) => client.end(), isUnreachable);
    }
  } finally {
    await pool.close();
    server.close();
  }
});
