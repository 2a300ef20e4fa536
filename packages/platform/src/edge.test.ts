import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { afterEach, beforeEach, test } from 'node:test';
import type { RunningService } from '@baton/kernel/http';
import { type Edge, openEdge } from './edge.ts';
import { StartError } from './start-error.ts';

let edge: Edge;
let release: () => void;

/** A service that answers with its name and the path it saw; `/slow` waits for `release`. */
function echo(name: string): RunningService {
  const released = new Promise<void>((resolve) => {
    const before = release;
    release = () => {
      before?.();
      resolve();
    };
  });
  return {
    async handler(req: IncomingMessage, res: ServerResponse) {
      if (req.url === '/slow') await released;
      res.end(`${name} ${req.url}`);
    },
    upgrade: (req, socket) => socket.end(`HTTP/1.1 101 ${name}${req.url}\r\n\r\n`),
    close: async () => undefined,
  };
}

beforeEach(async () => {
  release = () => undefined;
  edge = await openEdge('127.0.0.1', 0);
});

afterEach(async () => {
  await edge.drain(0);
  edge.close();
});

const get = async (path: string) => {
  const response = await fetch(`http://127.0.0.1:${edge.port}${path}`);
  return `${response.status} ${await response.text()}`;
};

test('identity gets /iam and what is below it without the prefix, coordination gets everything else', async () => {
  edge.serve({ identity: echo('identity'), coordination: echo('coordination') });
  edge.open();
  assert.equal(await get('/iam/api/v1/tenants?x=1'), '200 identity /api/v1/tenants?x=1');
  assert.equal(await get('/iam'), '200 identity /');
  assert.equal(await get('/iam?x=1'), '200 identity /?x=1');
  assert.equal(await get('/iam/iam/x'), '200 identity /iam/x');
  assert.equal(await get('/iamb/x'), '200 coordination /iamb/x');
  assert.equal(await get('/api/v1/tasks/A-1:claim'), '200 coordination /api/v1/tasks/A-1:claim');
  assert.equal(await get('/health/ready'), '200 coordination /health/ready');
});

test('what the parser refuses is answered by coordination, and is only cut off before the services are there', async () => {
  const talk = async () => {
    const socket = connect(edge.port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => (answer += String(chunk)));
    socket.write('GIBBERISH\r\n\r\n');
    await once(socket, 'close');
    return answer;
  };
  assert.equal(await talk(), '');
  const coordination: RunningService = {
    ...echo('coordination'),
    unreadable: (_error, socket) => socket.end('refused'),
  };
  edge.serve({ identity: echo('identity'), coordination });
  assert.equal(await talk(), 'refused');
});

test('upgrades go the same ways', async () => {
  edge.serve({ identity: echo('identity'), coordination: echo('coordination') });
  for (const [path, seen] of [
    ['/api/v1/events/ws', 'coordination/api/v1/events/ws'],
    ['/iam/x', 'identity/x'],
  ]) {
    const socket = connect(edge.port, '127.0.0.1');
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`);
    const [head] = (await once(socket, 'data')) as [Buffer];
    assert.equal(head.toString().split('\r\n')[0], `HTTP/1.1 101 ${seen}`);
    socket.destroy();
  }
});

test('the port answers 503 from the first moment, and is ready only when all is set up', async () => {
  const starting = '503 {"status":"unavailable","reason":"starting"}';
  assert.equal(await get('/health/ready'), starting);
  assert.equal(await get('/api/v1/tasks'), starting);
  edge.serve({ identity: echo('identity'), coordination: echo('coordination') });
  assert.equal(await get('/health/ready'), starting);
  assert.equal(await get('/health/live'), '200 coordination /health/live');
  edge.open();
  assert.equal(await get('/health/ready'), '200 coordination /health/ready');
});

test('a drain finishes the request under way and takes no new one', async () => {
  edge.serve({ identity: echo('identity'), coordination: echo('coordination') });
  await get('/warm');
  const slow = get('/slow');
  await get('/warm');
  const drained = edge.drain(5000);
  await assert.rejects(fetch(`http://127.0.0.1:${edge.port}/new`, { headers: { connection: 'close' } }));
  release();
  assert.equal(await slow, '200 coordination /slow');
  const began = performance.now();
  await drained;
  assert.ok(performance.now() - began < 1000);
});

test('a drain gives up on a request that does not end', async () => {
  edge.serve({ identity: echo('identity'), coordination: echo('coordination') });
  const slow = get('/slow').catch(() => 'cut');
  await get('/warm');
  await edge.drain(50);
  edge.close();
  assert.equal(await slow, 'cut');
});

test('a port that is taken is refused with one sentence', async () => {
  await assert.rejects(openEdge('127.0.0.1', edge.port), (error: Error) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, new RegExp(`^Port ${edge.port} on 127\\.0\\.0\\.1 is taken [^\n]+$`));
    return true;
  });
});

test('an address that is not of this machine is refused with one sentence', async () => {
  await assert.rejects(openEdge('192.0.2.1', 0), /can't listen on 192\.0\.2\.1 .*EADDRNOTAVAIL/);
});
