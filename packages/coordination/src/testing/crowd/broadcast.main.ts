// A bare broadcast with `ws`, for comparison: it sends the messages from its parent to all of its clients.
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
server.on('listening', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('message', (texts: readonly string[]) => {
  for (const text of texts) {
    const bytes = Buffer.from(text);
    for (const client of server.clients) client.send(bytes, { binary: false });
  }
});
process.on('disconnect', () => process.exit());
