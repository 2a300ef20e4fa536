import { Refusal } from '@baton/kernel/http/refusal';
import { ConcurrencyLimit, Turns } from '@baton/kernel/limits/concurrency-limit';
import { type JsonAnswer, RequestFailed } from '@baton/kernel/outbound/json-request';
import type { Counters } from '../../service/counters.ts';
import type { Settings } from '../settings.ts';
import { Circuits } from './circuits.ts';
import { foreignTo } from './namespaces.ts';
import { isUsableResponse } from './usable-response.ts';
import { openWire, type WireRequest } from './wire.ts';

/** The result of a request to the memory service, without any text from its response. */
export type MemoryResult<T> =
  | { readonly kind: 'ok'; readonly status: number; readonly value: T }
  /** The service responded with 4xx: the same request would be refused again. */
  | { readonly kind: 'refused'; readonly status: number }
  /** The service did not respond in time; the request may have taken effect. */
  | { readonly kind: 'timeout' }
  /** The service failed, sent an unreadable response, or is not called at present. */
  | {
      readonly kind: 'unavailable';
      readonly status: number | null;
      readonly why: 'failed' | 'unreadable' | 'circuit_open' | 'busy';
      readonly retryAfterSeconds?: number;
    };

export interface MemoryRequest<T> extends Omit<WireRequest, 'answerBytesMax'> {
  /**
   * The tenant of the request, which determines its circuit, its share of the calls, and the namespaces that a response
   * may contain.
   */
  readonly tenantId: string;
  readonly path: string;
  /** 1 MiB when absent. */
  readonly answerBytesMax?: number;
  /** Extracts the required part from a valid response; undefined if it has another form. */
  read(json: unknown): T | undefined;
}

/** Calls the memory service for API requests. Never throws, whatever the response is and even if there is none. */
export interface MemoryGateway {
  send<T>(request: MemoryRequest<T>): Promise<MemoryResult<T>>;
}

/** Extra time for a service that trickles its response, or for a token request that takes long. */
export const graceMs = 1000;
const answerBytesUsualMax = 1_048_576;
/** The maximum number of concurrent calls; each holds a socket, and none is queued. */
const callsMax = { process: 512, tenant: 128 };
const tenantsRememberedMax = 10_000;
/**
 * Statuses below 500 that aren't about the request itself: the credential was rejected, or the rate limit was exceeded.
 */
const passingStatuses: readonly number[] = [401, 429];

export type GatewayCounters = Pick<Counters, 'contextProviderFailures' | 'contextCircuits'>;

/** Undefined without a memory service. */
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

  async function resultFor<T>(request: MemoryRequest<T>): Promise<MemoryResult<T>> {
    const { tenantId, path, read, answerBytesMax = answerBytesUsualMax, ...wireRequest } = request;
    const answer = await inTime(request.timeoutMs + graceMs, (signal) =>
      wire.request(path, { ...wireRequest, answerBytesMax, signal }),
    );
    if (answer === undefined) return { kind: 'timeout' };
    return readResponse(answer, read, foreignTo(settings, tenantId));
  }

  return {
    async send(request) {
      const { tenantId } = request;
      const turns = takeTurns(limits, tenantId);
      if (turns === undefined)
        return { kind: 'unavailable', status: null, why: 'busy', retryAfterSeconds: 1 };
      try {
        const waitSeconds = circuits.enter(tenantId);
        if (waitSeconds !== undefined)
          return { kind: 'unavailable', status: null, why: 'circuit_open', retryAfterSeconds: waitSeconds };
        const result = await resultFor(request);
        if (result.kind === 'timeout' || result.kind === 'unavailable') {
          circuits.failed(tenantId);
          counters.contextProviderFailures.inc();
        } else circuits.succeeded(tenantId);
        return result;
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

/** Undefined if too many calls are running. */
function takeTurns(limits: ReturnType<typeof limitsOfCalls>, tenantId: string): Turns | undefined {
  const turns = new Turns([limits.tenant, tenantId], [limits.process, '']);
  try {
    // Never a promise: without a queue, it either returns a slot or fails immediately.
    void turns.enter();
    return turns;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/**
 * The response to `request`; a failure if no response arrived; undefined after the timeout, even if nothing aborts the
 * request.
 */
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

function readResponse<T>(
  answer: JsonAnswer | RequestFailed,
  read: MemoryRequest<T>['read'],
  isForeign: (namespace: string) => boolean,
): MemoryResult<T> {
  if (answer instanceof RequestFailed) return { kind: 'unavailable', status: null, why: 'failed' };
  const { status, json, retryAfterSeconds } = answer;
  if (status >= 400 && status < 500 && !passingStatuses.includes(status)) return { kind: 'refused', status };
  const retryAfter = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  if (status < 200 || status >= 300) return { kind: 'unavailable', status, why: 'failed', ...retryAfter };
  const value = isUsableResponse(json, isForeign) ? read(json) : undefined;
  return value === undefined
    ? { kind: 'unavailable', status, why: 'unreadable' }
    : { kind: 'ok', status, value };
}
