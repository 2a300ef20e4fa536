import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isLongProof } from '@baton/testing/depth';
import { endpointName, type Operation } from '../../http/service.ts';
import { type MatrixSetup, makeSampleRequest } from '../matrix/matrix.ts';
import { createClient, type Sent } from '../matrix/matrix-client.ts';
import {
  type MatrixService,
  type MatrixTarget,
  pathOf,
  type SampleRequest,
} from '../matrix/matrix-service.ts';
import { type Hostile, worstRequests } from './liveness-bodies.ts';
import type { Calls } from './liveness-calls.ts';
import { percentile, runLoad } from './liveness-load.ts';
import { heapMiB, type ProbedProcess, type ServiceProgram, startProbed } from './liveness-process.ts';

export interface LivenessSetup<Tenant extends object> extends MatrixSetup<Tenant> {
  readonly program: Omit<ServiceProgram, 'env'>;
  /** The concurrent requests of another tenant: valid ones that can be repeated. */
  ordinary(service: MatrixService<Tenant>): Promise<readonly Sent[]>;
  /** Connections of the hostile caller; 24 when absent, 12 in the short form. */
  readonly parallel?: number;
  /** Requests that are worse than those derived from the declaration. */
  worse?(endpoint: Operation): readonly Hostile[];
}

/** The limits that apply to all other callers while one caller sends its worst requests. */
export const livenessBounds = {
  /**
   * The maximum factor by which the bystander's p99 may exceed its quiet p99. On a busy machine, a p99 below
   * `p99MsFloor` proves nothing.
   */
  p99TimesMax: 5,
  p99MsFloor: 250,
  /**
   * The maximum CPU time of an iteration of the event loop. Of 650 kinds of requests on two cores, 19 took 100 to 236
   * ms, because a step of a 1 MiB body and a garbage collection fell into the same iteration. A body that is read at
   * once would take 400 ms.
   */
  blockedMsMax: 250,
  /**
   * The maximum growth of the process since before the first hostile request: its heap, and the memory outside of
   * it.
   */
  growthBytesMax: (heapMiB + 256) * 1024 * 1024,
};

interface Figures {
  readonly name: string;
  readonly quietP99Ms: number;
  readonly p99Ms: number;
  readonly calls: number;
  readonly hostileCalls: number;
  readonly blockedMs: number;
  readonly delayP99Ms: number;
  readonly growthBytes: number;
  readonly problems: readonly string[];
}

/**
 * The file for the figures; `npm run liveness` sets it. That run is longer, sends each kind of request alone and needs
 * a quiet machine. The long test runs the short form below. `npm test` sends each request once and measures nothing.
 */
const reportFile = process.env['BATON_LIVENESS_REPORT'];
const isLong = reportFile !== undefined;
/** The long form sends about 600 kinds of requests and should finish within ten minutes. */
const lastsMs = isLong ? 200 : 150;
/** Endpoints per test in the short form: a single endpoint takes 0.7 s, and a service has up to 200 of them. */
const endpointsTogether = isLong ? 1 : 4;
const togetherLastsMs = 300;
const quietLastsMs = 500;
/**
 * A request that exceeded a limit is retried until the bystander has made this many calls, because the p99 of only
 * twelve calls is simply the slowest one.
 */
const secondSamplesMin = 100;
/**
 * In the short form other tests run at the same time. In a run of 260 endpoints, this once made two attempts exceed the
 * limit by a tenth.
 */
const attemptsMax = isLong ? 2 : 3;
/**
 * Tokens live for 300 s. In the long form an endpoint takes up to 4 s, so the service is restarted, with new tokens,
 * after this many endpoints.
 */
const endpointsPerRig = isLong ? 40 : 1000;
/** Connections of the hostile caller. */
const usualParallel = isLong ? 24 : 12;
const calmMs = 40;
const calmMsMax = 30_000;

/**
 * Registers `answerTest` in `npm test`. Otherwise it registers a test per endpoint, or per four endpoints in the short
 * form: while one caller sends the worst requests that the declaration allows, on many connections, another tenant's
 * calls stay fast and free of errors, and the service's event loop and memory bounded. The service is a separate
 * process. Endpoints that exceed a limit together are retried one by one, and an endpoint that exceeds it alone is
 * retried before it fails.
 */
export function livenessTests<Tenant extends object>(setup: LivenessSetup<Tenant>): void {
  if (!isLongProof && !isLong) return answerTest(setup);
  for (const endpoints of cut(setup.endpoints, endpointsPerRig))
    describe(`liveness of ${setup.service}, from ${endpointName(endpoints[0] as Operation)}`, () => {
      let rig: Rig<Tenant>;
      before(async () => {
        rig = await openRig(setup);
      });
      after(() => rig?.close());
      for (const together of cut(endpoints, endpointsTogether))
        test(`nobody else notices the worst requests of ${together.map(endpointName).join(', ')}`, async () => {
          assert.deepEqual(await tryEndpoints(setup, rig, together), []);
        });
    });
}

/**
 * Registers one test: every endpoint responds to its worst requests, and never with 500. The service runs in this
 * process, and the test measures no time.
 */
function answerTest<Tenant extends object>(setup: LivenessSetup<Tenant>): void {
  test(`the worst requests of every endpoint of ${setup.service} are answered`, async () => {
    const service = await setup.start();
    const client = createClient(service.url);
    const target = { adapter: setup, service, client };
    try {
      assert.deepEqual(await findUnanswered(setup, target), []);
    } finally {
      client.close();
      await service.close();
    }
  });
}

/** Sends each worst request once. @returns those that receive 500 or no response */
export async function findUnanswered<Tenant extends object>(
  setup: LivenessSetup<Tenant>,
  target: Target<Tenant>,
): Promise<readonly string[]> {
  const problems: string[] = [];
  const read = new Set<string>();
  for (const endpoint of setup.endpoints) {
    const { sample, worst } = await worstOf(setup, target, endpoint);
    for (const one of worst) {
      // All endpoints share the code that reads full-size bodies, and sending a megabyte to each would take longer than
      // all other requests.
      const text = one.name === 'full size' ? `${endpoint.auth} ${one.text}` : undefined;
      if (text !== undefined && read.has(text)) continue;
      if (text !== undefined) read.add(text);
      const problem = await target.client.send(sentOf(target, endpoint, sample, one)).then(
        ({ status }) => (status === 500 ? '500' : undefined),
        (error: unknown) => String(error),
      );
      if (problem !== undefined) problems.push(`${endpointName(endpoint)}, ${one.name}: ${problem}`);
    }
  }
  return problems;
}

function cut<Item>(items: readonly Item[], size: number): Item[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, at) => items.slice(at * size, (at + 1) * size));
}

type Target<Tenant extends object> = MatrixTarget & { readonly service: MatrixService<Tenant> };

/** The service under load, and the measuring instruments. */
export interface Rig<Tenant extends object> {
  readonly target: Target<Tenant>;
  readonly process: ProbedProcess;
  readonly ordinary: readonly Sent[];
  readonly startBytes: number;
  readonly parallel: number;
  readonly quietP99Ms: number;
  close(): Promise<void>;
}

export async function openRig<Tenant extends object>(setup: LivenessSetup<Tenant>): Promise<Rig<Tenant>> {
  const service = await setup.start();
  const client = createClient(service.url);
  const closers: (() => Promise<void> | void)[] = [() => service.close(), () => client.close()];
  const close = async () => {
    for (const closeOne of closers.reverse()) await closeOne();
  };
  try {
    const child = await startProbed({ ...setup.program, env: service.env ?? {} });
    closers.push(() => child.stop());
    const ordinary = await setup.ordinary(service);
    // The first calls are not measured: they compile the code.
    await quietP99Of(child, ordinary);
    const { rssBytes } = await child.measure();
    const quietP99Ms = await quietP99Of(child, ordinary);
    const target = { adapter: setup, service, client };
    const { parallel = usualParallel } = setup;
    return { target, parallel, process: child, ordinary, startBytes: rssBytes, quietP99Ms, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function quietP99Of({ url }: ProbedProcess, ordinary: readonly Sent[]): Promise<number> {
  const { bystander } = await runLoad({ url, hostile: [], parallel: 0, ordinary, lastsMs: quietLastsMs });
  return percentile(bystander.ms, 0.99);
}

/**
 * @returns the limits that the worst requests of endpoints exceeded, individually and in each attempt; empty if none
 */
async function tryEndpoints<Tenant extends object>(
  setup: LivenessSetup<Tenant>,
  rig: Rig<Tenant>,
  endpoints: readonly Operation[],
): Promise<readonly string[]> {
  if (endpoints.length > 1) {
    const hostile: Sent[] = [];
    for (const endpoint of endpoints) {
      const { sample, worst } = await worstOf(setup, rig.target, endpoint);
      hostile.push(...worst.map((one) => sentOf(rig.target, endpoint, sample, one)));
    }
    const together = await measure(rig, '', hostile, { durationMs: togetherLastsMs });
    if (together.problems.length === 0) return [];
  }
  const problems: string[] = [];
  for (const endpoint of endpoints) problems.push(...(await tryEndpoint(setup, rig, endpoint)));
  return problems;
}

async function worstOf<Tenant extends object>(
  setup: LivenessSetup<Tenant>,
  target: Target<Tenant>,
  endpoint: Operation,
): Promise<{ sample: SampleRequest; worst: readonly Hostile[] }> {
  const sample = (await makeSampleRequest(setup, target, endpoint)) ?? { params: {} };
  const made = worstRequests(endpoint, sample, setup.bodyBytesMax(endpoint));
  return { sample, worst: [...made, ...(setup.worse?.(endpoint) ?? [])] };
}

/** @returns the limits that the endpoint's worst requests exceeded in each attempt; empty if none */
export async function tryEndpoint<Tenant extends object>(
  setup: LivenessSetup<Tenant>,
  rig: Rig<Tenant>,
  endpoint: Operation,
): Promise<readonly string[]> {
  const { sample, worst } = await worstOf(setup, rig.target, endpoint);
  // Individually, each has its own measurements; together, they take a fifth of the time.
  const groups = isLong ? groupsOf(worst) : [worst];
  const problems: string[] = [];
  for (const group of groups) {
    const hostile = group.map((one) => sentOf(rig.target, endpoint, sample, one));
    const name = `${endpointName(endpoint)}${isLong ? `, ${group[0]?.name}` : ''}`;
    let figures = await measure(rig, name, hostile);
    for (let attempt = 2; figures.problems.length > 0 && attempt <= attemptsMax; attempt += 1) {
      await untilCalm(rig.process, rig.ordinary);
      const quietP99Ms = Math.max(rig.quietP99Ms, await quietP99Of(rig.process, rig.ordinary));
      figures = await measure({ ...rig, quietP99Ms }, name, hostile, { samplesMin: secondSamplesMin });
    }
    if (reportFile !== undefined)
      appendFileSync(reportFile, `${JSON.stringify({ service: setup.service, ...figures })}\n`);
    problems.push(...figures.problems.map((problem) => `${name}: ${problem}`));
  }
  return problems;
}

/** Groups the requests by name. */
function groupsOf(worst: readonly Hostile[]): Hostile[][] {
  const groups = new Map<string, Hostile[]>();
  for (const one of worst) groups.set(one.name, [...(groups.get(one.name) ?? []), one]);
  return [...groups.values()];
}

function sentOf<Tenant extends object>(
  { adapter, service }: Target<Tenant>,
  endpoint: Operation,
  sample: SampleRequest,
  { text, query }: Hostile,
): Sent {
  const body = text ?? bodyOf(endpoint, sample);
  const type = endpoint.form ? 'application/x-www-form-urlencoded' : 'application/json';
  return {
    method: endpoint.method,
    path: `${pathOf(endpoint, adapter, sample.params)}${query ?? sample.query ?? ''}`,
    headers: {
      ...(body === undefined ? {} : { 'content-type': type }),
      ...sample.headers,
      ...service.headersOf(endpoint, 'allowed'),
      ...('idempotency-key' in (sample.headers ?? {}) ? { 'idempotency-key': randomUUID() } : {}),
    },
    ...(body === undefined ? {} : { body }),
  };
}

function bodyOf(endpoint: Operation, { body }: SampleRequest): string | undefined {
  if (body === undefined) return undefined;
  return endpoint.form
    ? new URLSearchParams(body as Record<string, string>).toString()
    : JSON.stringify(body);
}

async function measure<Tenant extends object>(
  rig: Rig<Tenant>,
  name: string,
  hostile: readonly Sent[],
  { durationMs = lastsMs, samplesMin }: { durationMs?: number; samplesMin?: number } = {},
): Promise<Figures> {
  const { process: child, ordinary, parallel, startBytes, quietP99Ms } = rig;
  await untilCalm(child, ordinary);
  await child.measure();
  const { bystander, hostile: theirs } = await runLoad({
    url: child.url,
    hostile,
    parallel,
    ordinary,
    lastsMs: durationMs,
    ...(samplesMin !== undefined && { samplesMin }),
  });
  const { blockedMs, delayP99Ms, rssMaxBytes } = await child.measure();
  const figures = {
    name,
    quietP99Ms,
    p99Ms: percentile(bystander.ms, 0.99),
    calls: bystander.ms.length,
    hostileCalls: theirs.ms.length,
    blockedMs,
    delayP99Ms,
    growthBytes: rssMaxBytes - startBytes,
  };
  return { ...figures, problems: problemsOf(figures, bystander, theirs) };
}

/** Waits until the previous load's work has finished and a call takes its usual time again. */
async function untilCalm({ url }: ProbedProcess, [call]: readonly Sent[]): Promise<void> {
  const startedAt = performance.now();
  for (let calm = 0; calm < 2 && performance.now() - startedAt < calmMsMax; ) {
    const calledAt = performance.now();
    await fetch(`${url}${call?.path}`, {
      method: call?.method ?? 'GET',
      headers: { ...call?.headers },
      ...(call?.body === undefined ? {} : { body: call.body }),
    }).then((answer) => answer.arrayBuffer());
    const isCalm = performance.now() - calledAt < calmMs;
    calm = isCalm ? calm + 1 : 0;
    if (!isCalm) await sleep(calmMs);
  }
}

function problemsOf(
  { quietP99Ms, p99Ms, blockedMs, growthBytes }: Omit<Figures, 'problems'>,
  bystander: Calls,
  theirs: Calls,
): string[] {
  const { p99TimesMax, p99MsFloor, growthBytesMax, blockedMsMax } = livenessBounds;
  const p99MsMax = Math.max(p99TimesMax * quietP99Ms, p99MsFloor);
  const failed = [...bystander.statuses].filter(([status]) => status < 200 || status >= 400);
  const broken = [...theirs.statuses].filter(([status]) => status === 500);
  return [
    ...failed.map(([status, count]) => `the bystander got ${status || 'no answer'} ${count} times`),
    ...broken.map(([status, count]) => `the hostile caller got ${status} ${count} times`),
    ...(p99Ms > p99MsMax
      ? [
          `the bystander's p99 was ${p99Ms.toFixed(0)} ms, quiet ${quietP99Ms.toFixed(0)}, at most ${p99MsMax.toFixed(0)}`,
        ]
      : []),
    ...(blockedMs > blockedMsMax
      ? [`the event loop computed ${blockedMs.toFixed(0)} ms in one turn, at most ${blockedMsMax}`]
      : []),
    ...(growthBytes > growthBytesMax
      ? [`the process grew by ${(growthBytes / 2 ** 20).toFixed(0)} MiB, at most ${growthBytesMax / 2 ** 20}`]
      : []),
  ];
}
