import { Refusal } from '@baton/kernel/http/refusal';
import { ConcurrencyLimit, Turns } from '@baton/kernel/limits/concurrency-limit';
import { type JsonAnswer, RequestFailed } from '@baton/kernel/outbound/json-request';
import type { Counters } from '../../service/counters.ts';
import type { Settings } from '../settings.ts';
import { isFit } from './answers.ts';
import { Circuits } from './circuits.ts';
import { foreignTo } from './namespaces.ts';
import { openWire, type WireRequest } from './wire.ts';

/** What became of a question to the memory service. None of it holds a text that the service answered. */
export type Told<T> =
  | { readonly kind: 'told'; readonly status: number; readonly value: T }
  /** It answered 4xx: the same question would be refused again. */
  | { readonly kind: 'refused'; readonly status: number }
  /** It did not answer in time; what was asked may have been done. */
  | { readonly kind: 'late' }
  /** It failed, or answered what can't be read, or is not asked now. */
  | {
      readonly kind: 'away';
      readonly status: number | null;
      readonly why: 'failed' | 'unreadable' | 'circuit_open' | 'busy';
      readonly retryAfterSeconds?: number;
    };

export interface Question<T> extends Omit<WireRequest, 'answerBytesMax'> {
  /** Whose question it is: its circuit, its share of the calls, and whose namespaces may be answered. */
  readonly tenantId: string;
  readonly path: string;
  /** 1 MiB when absent. */
  readonly answerBytesMax?: number;
  /** Takes what it needs from a right answer; undefined for one that has another form. */
  read(json: unknown): T | undefined;
}

/** Asks the memory service for requests of the API. What it answers, or that it doesn't, is never thrown. */
export interface MemoryGateway {
  ask<T>(question: Question<T>): Promise<Told<T>>;
}

/** A service that trickles its answer, or a token that takes its time, ends a call so much later. */
export const graceMs = 1000;
const answerBytesUsualMax = 1_048_576;
/** Calls under way at once; each holds a socket, and none waits in line. */
const callsMax = { process: 512, tenant: 128 };
const tenantsRememberedMax = 10_000;
/** Below 500, and yet no word on the question: the credential, or too many calls. */
const passingStatuses: readonly number[] = [401, 429];

export type GatewayCounters = Pick<Counters, 'contextProviderFailures' | 'contextCircuits'>;

/** Undefined where there is no memory service. */
export function openGateway(settings: Settings, counters: GatewayCounters): MemoryGateway | undefined {
  if (settings.CP_CONTEXT_PROVIDER === 'none') return undefined;
  const wire = openWire(settings);
  const circuits = new Circuits({
    failuresMax: settings.CP_CONTEXT_CIRCUIT_FAILURES,
    pauseMs: settings.CP_CONTEXT_CIRCUIT_SECONDS * 1000,
    pauseMsMax:
      Math.max(settings.CP_CONTEXT_CIRCUIT_SECONDS, settings.CP_CONTEXT_RETRY_BACKOFF_MAX_SECONDS) * 1000,
    keysMax: tenantsRememberedMax,
  });
  counters.contextCircuits.add(() => circuits.openCount());
  const limits = limitsOfCalls();

  async function answerTo<T>(question: Question<T>): Promise<Told<T>> {
    const { tenantId, path, read, answerBytesMax = answerBytesUsualMax, ...request } = question;
    const answer = await inTime(request.timeoutMs + graceMs, (signal) =>
      wire.request(path, { ...request, answerBytesMax, signal }),
    );
    if (answer === undefined) return { kind: 'late' };
    return judge(answer, read, foreignTo(settings, tenantId));
  }

  return {
    async ask(question) {
      const { tenantId } = question;
      const turns = takeTurns(limits, tenantId);
      if (turns === undefined) return { kind: 'away', status: null, why: 'busy', retryAfterSeconds: 1 };
      try {
        const waitSeconds = circuits.enter(tenantId);
        if (waitSeconds !== undefined)
          return { kind: 'away', status: null, why: 'circuit_open', retryAfterSeconds: waitSeconds };
        const told = await answerTo(question);
        if (told.kind === 'late' || told.kind === 'away') {
          circuits.failed(tenantId);
          counters.contextProviderFailures.inc();
        } else circuits.succeeded(tenantId);
        return told;
      } catch (error) {
        circuits.abandoned(tenantId);
        throw error;
      } finally {
        turns.leave();
      }
    },
  };
}

function limitsOfCalls() {
  const limitOf = (runningMax: number) =>
    new ConcurrencyLimit('calls to the memory service', { runningMax, queuedMax: 0, waitMsMax: 0 });
  return { process: limitOf(callsMax.process), tenant: limitOf(callsMax.tenant) };
}

/** Undefined where too many calls are under way. */
function takeTurns(limits: ReturnType<typeof limitsOfCalls>, tenantId: string): Turns | undefined {
  const turns = new Turns([limits.tenant, tenantId], [limits.process, '']);
  try {
    // Never a promise: without a queue there is room or a refusal.
    void turns.enter();
    return turns;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** What `request` answers; a failure where there was none; undefined after the time, also where nothing ends it. */
async function inTime(
  timeoutMs: number,
  request: (signal: AbortSignal) => Promise<JsonAnswer>,
): Promise<JsonAnswer | RequestFailed | undefined> {
  const over = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((done) => {
    timer = setTimeout(() => done(undefined), timeoutMs);
  });
  try {
    return await Promise.race([
      late,
      request(over.signal).catch((error: unknown) => {
        if (!(error instanceof RequestFailed)) throw error;
        return error.isLate ? undefined : error;
      }),
    ]);
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}

function judge<T>(
  answer: JsonAnswer | RequestFailed,
  read: Question<T>['read'],
  isForeign: (namespace: string) => boolean,
): Told<T> {
  if (answer instanceof RequestFailed) return { kind: 'away', status: null, why: 'failed' };
  const { status, json, retryAfterSeconds } = answer;
  if (status >= 400 && status < 500 && !passingStatuses.includes(status)) return { kind: 'refused', status };
  const retryAfter = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  if (status < 200 || status >= 300) return { kind: 'away', status, why: 'failed', ...retryAfter };
  const value = isFit(json, isForeign) ? read(json) : undefined;
  return value === undefined ? { kind: 'away', status, why: 'unreadable' } : { kind: 'told', status, value };
}
