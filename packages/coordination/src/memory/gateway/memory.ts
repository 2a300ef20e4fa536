import { z } from 'zod';
import { type JsonAnswer, RequestFailed, requestJson } from '@baton/kernel/outbound/json-request';
import { withoutAddresses } from '@baton/kernel/outbound/without-addresses';
import type { Json, JsonObject } from '@baton/values/wire';
import type { Settings } from '../settings.ts';
import { NoToken, openWire } from './wire.ts';

/** What something is about, and who did it. */
export interface MemoryRef {
  readonly type: string;
  readonly id: string;
}

/** One thing to remember (organisation, section 20.1). */
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

/** What became of a batch. */
export type BatchResult =
  /** It was looked at item by item: why each was refused, null for one that is confirmed. */
  | { readonly kind: 'judged'; readonly refusals: readonly (string | null)[]; readonly duplicates: number }
  /** It was refused as a whole, and would be again. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Nothing is known of it: to be tried later. */
  | { readonly kind: 'failed'; readonly reason: string; readonly retryAfterSeconds: number | undefined };

/** The memory service (organisation, section 20.2). What it answers, or that it doesn't, is never thrown. */
export interface Memory {
  ingest(namespace: string, items: readonly MemoryItem[], signal: AbortSignal): Promise<BatchResult>;
  /** Whether it says that it lives. */
  isAlive(): Promise<boolean>;
}

/** An answer names each item in a few words. */
const answerBytesMax = 4 * 1024 * 1024;
const probeMsMax = 3000;
const probeBytesMax = 64 * 1024;
const refusalLengthMax = 500;

/** The statuses below 500 after which the same batch may be taken later (section 20.2). */
const passingStatuses: readonly number[] = [401, 403, 429];

const count = z.int().nonnegative();
const BatchAnswer = z.object({
  results: z.array(z.object({ observation_id: z.unknown().optional(), error: z.unknown().optional() })),
  accepted: count,
  duplicates: count,
  failed: count,
});

/** @param traceRunId what the memory service finds the calls of this process by (`X-Run-Id`) */
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
        return failed(isUnasked ? error.message : `the memory service is out of reach: ${error.message}`);
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
    return judgementOf(json, sent, credential) ?? failed(`an answer ${status} that can't be read`);
  const isRefusal = status >= 400 && status < 500 && !passingStatuses.includes(status);
  return isRefusal
    ? { kind: 'refused', reason: `the memory service answered ${status}` }
    : failed(`the memory service answered ${status}`, retryAfterSeconds);
}

function failed(reason: string, retryAfterSeconds?: number): BatchResult {
  return { kind: 'failed', reason, retryAfterSeconds };
}

/** Undefined for an answer that contradicts itself, or what was sent: it confirms nothing. */
function judgementOf(json: unknown, sent: number, credential: string | undefined): BatchResult | undefined {
  const answer = BatchAnswer.safeParse(json);
  if (!answer.success) return undefined;
  const { results, accepted, duplicates, failed: refused } = answer.data;
  const isNamed = results.every(({ observation_id: id, error }) => isPresent(id) || isPresent(error));
  const refusals = results.map(({ error }) => (isPresent(error) ? textOf(error, credential) : null));
  const refusedCount = refusals.filter((reason) => reason !== null).length;
  const isWhole =
    results.length === sent && accepted + duplicates + refused === sent && refused === refusedCount;
  return isNamed && isWhole ? { kind: 'judged', refusals, duplicates } : undefined;
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/**
 * Why an item was refused, in a few words, which operators of the tenant read; an answer may repeat the credential that it
 * was asked with, and addresses of the operator's network.
 */
function textOf(error: unknown, credential: string | undefined): string {
  const text = typeof error === 'string' ? error : jsonOf(error);
  const told = credential === undefined ? text : withoutSecret(text, credential);
  return withoutAddresses(told).slice(0, refusalLengthMax).toWellFormed();
}

/** Also of a document that is nested deeper than can be written: parsing has no such limit. */
function jsonOf(document: unknown): string {
  try {
    return JSON.stringify(document);
  } catch {
    return 'a document that is nested too deep';
  }
}

/** Also where the secret stands in JSON. */
function withoutSecret(text: string, secret: string): string {
  const inJson = JSON.stringify(secret).slice(1, -1);
  return text.replaceAll(inJson, '[redacted]').replaceAll(secret, '[redacted]');
}
