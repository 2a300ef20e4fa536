import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { byDepth, isLongProof } from '@baton/testing/depth';
import type { Flood } from '../testing/flood.ts';
import { type Participant, type RunningBaton, shareRunningBaton } from '../testing/running-baton.ts';
import { Turns } from './turns.ts';

let baton: RunningBaton;
let flooder: Participant;
let other: Participant;

before(async () => {
  baton = await shareRunningBaton();
  [flooder, other] = await Promise.all([baton.participant(), baton.participant()]);
});
after(() => baton.stop());

const message = (method: string, params: unknown = {}) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
const call = (name: string, args: unknown) => message('tools/call', { name, arguments: args });
const many = Object.fromEntries(Array.from({ length: 150_000 }, (_, index) => [`k${index}`, 1]));

/** One caller's requests; with the `token` 'wrong', each request has a different invalid token. */
const floods: Record<string, Omit<Flood, 'url' | 'token' | 'answersMin'> & { readonly token?: 'wrong' }> = {
  'calls of tools': { body: call('task_search', {}), connections: 64 },
  'lists of tools': { body: message('tools/list'), connections: 64 },
  'bodies of 150,000 values': { body: message('tools/list', { _meta: many }), connections: 16 },
  'the longest texts': {
    body: call('artifact_put', { name: 'x', text: 'x'.repeat(2_000_000) }),
    connections: 16,
  },
  'batches of messages': { body: `[${Array(100).fill(message('tools/list')).join()}]`, connections: 16 },
  'wrong tokens': { body: message('tools/list'), connections: 200, token: 'wrong' },
  '1,000 sessions': {
    body: message('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    }),
    connections: 1000,
  },
};

/** The durations of another caller's calls in milliseconds; the calls are sent one after another. */
async function latencies(durationMs: number): Promise<number[]> {
  const taken: number[] = [];
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${other.token}`,
  };
  for (const beganMs = performance.now(); performance.now() - beganMs < durationMs; await sleep(20)) {
    const sentMs = performance.now();
    const body = call('task_search', { limit: 1 });
    const response = await fetch(`${baton.url}/mcp`, { method: 'POST', headers, body });
    assert.match(await response.text(), /found|shown|No task/);
    taken.push(performance.now() - sentMs);
  }
  return taken.sort((a, b) => a - b);
}

const middle = (sorted: number[]) => sorted[Math.floor(sorted.length / 2)] as number;

/** The long test runs every kind of flood; `npm test` runs one with a valid token and one with invalid tokens. */
const sent = Object.entries(floods).filter(
  ([name]) => isLongProof || ['calls of tools', 'wrong tokens'].includes(name),
);
/** The flood must receive this many responses before the test measures the other caller. */
const answersMin = 20;
const heardMs = byDepth(300, 1_500);

/** Returns the other caller's latencies during a flood, and the number of the flood's responses by status. */
async function heardDuring(worker: Worker) {
  await once(worker, 'message');
  await sleep(byDepth(0, 500));
  const taken = await latencies(heardMs);
  worker.postMessage('end');
  const [answers] = (await once(worker, 'message')) as [Record<string, number>];
  return { taken, answers };
}

test('one caller who sends all he can does not stop another', async (t) => {
  await latencies(byDepth(0, 1_000));
  if (isLongProof) t.diagnostic(`alone: ${middle(await latencies(1_000)).toFixed()} ms in the middle`);
  for (const [name, { token, ...flood }] of sent) {
    const workerData: Flood = {
      ...flood,
      answersMin,
      url: `${baton.url}/mcp`,
      ...(token === undefined && { token: flooder.token }),
    };
    const worker = new Worker(new URL('../testing/flood.ts', import.meta.url), { workerData });
    const { taken, answers } = await heardDuring(worker).finally(() => worker.terminate());
    const worst = taken.at(-1) as number;
    const said = `${name}: ${middle(taken).toFixed()} ms in the middle, ${worst.toFixed()} ms at worst; the caller: ${JSON.stringify(answers)}`;
    t.diagnostic(said);
    // Without scheduling and limits, the median was 600 to 27,000 ms.
    if (isLongProof) assert.ok(middle(taken) < 500 && worst < 5_000, said);
    assert.ok(Object.values(answers).reduce((sum, count) => sum + count, 0) > answersMin, said);
  }
});

test('parties go on in turn, one in each turn of the event loop', async () => {
  const turns = new Turns();
  const order: string[] = [];
  const take = async (party: string) => {
    await turns.take(party);
    order.push(party);
  };
  const all = Promise.all([...Array(4).fill('a'), 'b', 'c', 'b'].map(take));
  await turns.take('last');
  assert.deepEqual(order, ['a', 'b', 'c']);
  await all;
  assert.deepEqual(order, ['a', 'b', 'c', 'a', 'b', 'a', 'a']);
});
