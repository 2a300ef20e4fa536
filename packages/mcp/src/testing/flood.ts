// A separate thread that sends requests as fast as it gets responses, so that it doesn't distort the clock of the
// tests.
import { Agent, request } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

export interface Flood {
  readonly url: string;
  /** The token of every request; if absent, each request has a different invalid token. */
  readonly token?: string;
  readonly body: string;
  readonly connections: number;
  /** After this many responses the thread sends its first message. Its last message counts the responses by status. */
  readonly answersMin: number;
}

const { url, token, body, connections, answersMin } = workerData as Flood;
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const answers: Record<string, number> = {};
const pauseMs = 2;
let isOn = true;
let count = 0;

const sent = (): Promise<string> =>
  new Promise((resolve) => {
    const authorization = `Bearer ${token ?? `wrong${Math.random()}`}`;
    const accept = 'application/json, text/event-stream';
    const headers = { 'content-type': 'application/json', accept, authorization };
    const out = request(url, { agent, method: 'POST', headers }, (response) => {
      response.resume();
      response.on('close', () => resolve(String(response.statusCode)));
    });
    out.on('error', () => resolve('broken'));
    out.end(body);
  });

async function loop(): Promise<void> {
  while (isOn) {
    const answer = await sent();
    answers[answer] = (answers[answer] ?? 0) + 1;
    count += 1;
    if (count === answersMin + 1) parentPort?.postMessage('begun');
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

parentPort?.once('message', () => {
  isOn = false;
  parentPort?.postMessage(answers);
});
for (let index = 0; index < connections; index += 1) void loop();
