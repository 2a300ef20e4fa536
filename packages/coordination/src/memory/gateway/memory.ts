import { z } from 'zod';
import { type JsonAnswer, RequestFailed, requestJson } from '@baton/kernel/outbound/json-request';
import { withoutAddresses } from '@baton/kernel/outbound/without-addresses';
import type { Json, JsonObject } from '@baton/values/wire';
import type { Settings } from '../settings.ts';
import { NoToken, openWire } from './wire.ts';

/** The subjects of an item, and its author. */
export interface MemoryRef {
  readonly type: string;
  readonly id: string;
}

/** One item for memory. See docs/reference/memory.md#context-adapter. */
export interface MemoryItem {
  readonly source: { readonly system: string; readonly stream: string; readonly external_id: string };
  readonly kind: string;
  readonly occurred_at: string;
  readonly subject: MemoryRef;
  readonly scopes: readonly MemoryRef[];
  readonly content: string;
  readonly data: JsonObject;
  readonly provenance: { readonly uri: string };
  readonly actor?: MemoryRef;
  readonly assertions?: Json;
}

/** The result of a batch. */
export type BatchResult =
  /** The items were processed individually: the reason for each refusal, or null for a confirmed item. */
  | { readonly kind: 'judged'; readonly refusals: readonly (string | null)[]; readonly duplicates: number }
  /** The whole request was refused, and a retry would also be refused. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The state of the request is unknown: retry later. */
  | { readonly kind: 'failed'; readonly reason: string; readonly retryAfterSeconds: number | undefined };

/**
 * The memory service. Never throws, whatever the response is and even if there is none. See
 * docs/reference/memory.md#memory-service.
 */
export interface Memory {
  ingest(namespace: string, items: readonly MemoryItem[], signal: AbortSignal): Promise<BatchResult>;
  /** Whether the memory service reports that it is healthy. */
  isAlive(): Promise<boolean>;
}

/** A response describes each item briefly, which bounds its size. */
const answerBytesMax = 4 * 1024 * 1024;
const probeMsMax = 3000;
const probeBytesMax = 64 * 1024;
const refusalLengthMax = 500;

/** The statuses below 500 after which the same batch may be retried. See docs/reference/memory.md#memory-service. */
const passingStatuses: readonly number[] = [401, 403, 429];

const count = z.int().nonnegative();
const BatchAnswer = z.object({
  results: z.array(z.object({ observation_id: z.unknown().optional(), error: z.unknown().optional() })),
  accepted: count,
  duplicates: count,
  failed: count,
});

/**
 * @param traceRunId identifies the calls of this process to the memory service (`X-Run-Id`)
 */
export function openMemory(settings: Settings, traceRunId: string): Memory {
  const baseUrl = settings.CP_CONTEXT_BASE_URL.replace(/\/+$/, '');
  const wire = openWire(settings);
  return {
    async ingest(namespace, observations, signal) {
      try {
        const { credential, ...answer } = await wire.request('/api/memory/observations:batch', {
          method: 'POST',
          traceRunId,
          body: { observations, scope: { namespace } },
          timeoutMs: settings.CP_CONTEXT_INGEST_TIMEOUT_SECONDS * 1000,
          answerBytesMax,
          signal,
        });
        return resultOf(answer, observations.length, credential);
      } catch (error) {
        if (!(error instanceof RequestFailed)) throw error;
        const isUnasked = error instanceof NoToken;
        return failed(isUnasked ? error.message : `the memory service is unreachable: ${error.message}`);
      }
    },
    async isAlive() {
      try {
        const { status } = await requestJson(`${baseUrl}/healthz`, {
          method: 'GET',
          timeoutMs: probeMsMax,
          answerBytesMax: probeBytesMax,
        });
        return status >= 200 && status < 300;
      } catch {
        return false;
      }
    },
  };
}

function resultOf(
  { status, json, retryAfterSeconds }: JsonAnswer,
  sent: number,
  credential: string | undefined,
): BatchResult {
  if (status >= 200 && status < 300)
    return resultsOf(json, sent, credential) ?? failed(`an unreadable response with status ${status}`);
  const isRefusal = status >= 400 && status < 500 && !passingStatuses.includes(status);
  return isRefusal
    ? { kind: 'refused', reason: `the memory service responded with ${status}` }
    : failed(`the memory service responded with ${status}`, retryAfterSeconds);
}

function failed(reason: string, retryAfterSeconds?: number): BatchResult {
  return { kind: 'failed', reason, retryAfterSeconds };
}

/** Undefined for a response that contradicts itself or the request: such a response confirms nothing. */
function resultsOf(json: unknown, sent: number, credential: string | undefined): BatchResult | undefined {
  const answer = BatchAnswer.safeParse(json);
  if (!answer.success) return undefined;
  const { results, accepted, duplicates, failed: refused } = answer.data;
  const isNamed = results.every(({ observation_id: id, error }) => isPresent(id) || isPresent(error));
  const refusals = results.map(({ error }) => (isPresent(error) ? describeRefusal(error, credential) : null));
  const refusedCount = refusals.filter((reason) => reason !== null).length;
  const isWhole =
    results.length === sent && accepted + duplicates + refused === sent && refused === refusedCount;
  return isNamed && isWhole ? { kind: 'judged', refusals, duplicates } : undefined;
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/**
 * A short reason for an item's refusal, for operators of the tenant. A response may repeat the credential of the
 * request and addresses of the operator's network, which are removed.
 */
function describeRefusal(error: unknown, credential: string | undefined): string {
  const text = typeof error === 'string' ? error : jsonOf(error);
  const result = credential === undefined ? text : withoutSecret(text, credential);
  return withoutAddresses(result).slice(0, refusalLengthMax).toWellFormed();
}

/** Handles documents that are nested too deeply to be serialized: parsing has no such limit. */
function jsonOf(document: unknown): string {
  try {
    return JSON.stringify(document);
  } catch {
    return 'a document with too many levels';
  }
}

/** Also removes the secret if it is escaped as in JSON. */
function withoutSecret(text: string, secret: string): string {
  const inJson = JSON.stringify(secret).slice(1, -1);
  return text.replaceAll(inJson, '[redacted]').replaceAll(secret, '[redacted]');
}
