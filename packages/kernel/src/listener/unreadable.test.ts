import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { InvalidRequest } from '../http/refusal.ts';
import { createListener, openPort } from './listener.ts';
import { answerUnreadable } from './unreadable.ts';

const server = createListener({
  handler(req, res) {
    res.write('half');
    req.resume();
  },
  unreadable: answerUnreadable((error, requestId) => {
    assert.ok(error instanceof InvalidRequest);
    return { status: 400, body: { message: error.problems[0]?.message, requestId } };
  }),
});
before(() => openPort(server, '127.0.0.1', 0));
after(() => {
  server.closeAllConnections();
  server.close();
});

/** Sends text unchanged, and reads until the server ends the connection. */
async function talk(text: string): Promise<string> {
  const socket = connect((server.address() as { port: number }).port, '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk) => (answer += String(chunk)));
  socket.on('error', () => undefined);
  socket.write(text);
  await new Promise((done) => socket.once('close', done));
  return answer;
}

test('headers that are too large, and text that is not HTTP, are answered in the envelope of the service', async () => {
  for (const [text, message] of [
    [`GET / HTTP/1.1\r\nhost: x\r\nx-big: ${'a'.repeat(20_000)}\r\n\r\n`, 'The headers are too large'],
    ['GIBBERISH\r\n\r\n', 'The request is not valid HTTP'],
  ] as const) {
    const answer = await talk(text);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    assert.match(head, /^HTTP\/1\.1 400 Bad Request\r\n/);
    assert.match(head, /connection: close/);
    const told = JSON.parse(body) as { message: string; requestId: string };
    assert.equal(told.message, message);
    assert.match(head, new RegExp(`x-request-id: ${told.requestId}`));
    assert.ok(!answer.includes('aaaa') && !answer.includes('GIBBERISH'));
  }
});

test('a connection with an answer half sent is cut, and no second answer follows', async () => {
  const answer = await talk('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n');
  assert.ok(!answer.includes('400'), answer);
});
