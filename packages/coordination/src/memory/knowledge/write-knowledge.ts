import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { replayed } from '@baton/kernel/http/command';
import { findAnswer, type KeyedCall, type StoredAnswer } from '@baton/kernel/http/idempotency';
import { Refusal } from '@baton/kernel/http/refusal';
import type { Answer, Reply, Surroundings } from '@baton/kernel/http/service';
import { ConcurrencyLimit, Turns } from '@baton/kernel/limits/concurrency-limit';
import { newId } from '@baton/values/ids';
import type { JsonObject } from '@baton/values/wire';
import { requireActiveCaller } from '../../access/authn/principal-lock.ts';
import type { Context } from '../context.ts';
import type { ErrorCode } from '../errors.ts';
import { graceMs, type MemoryGateway, type MemoryResult } from '../gateway/gateway.ts';
import { requireMemory, requireResponse } from '../gateway/require-response.ts';
import type { Settings } from '../settings.ts';
import {
  deleteIntent,
  findConflictingIntent,
  type IntentKind,
  insertIntent,
  type NewIntent,
} from './intents.sql.ts';

/** The response of the memory service to a write. */
export interface WriteAnswer<A> {
  readonly status: number;
  readonly value: A;
}

/** One kind of write to the memory service: its response, and its events. See docs/reference/memory.md#knowledge. */
export interface KnowledgeKind<A, Facts, Body extends object> {
  readonly kind: IntentKind;
  readonly method: 'POST' | 'PUT';
  timeoutSeconds(settings: Settings): number;
  /** The code for each status of a refusal by memory; other statuses map to `memory_unavailable`. */
  readonly refusals: Readonly<Record<number, ErrorCode>>;
  /** Undefined for a response of another form. */
  read(json: unknown): A | undefined;
  /** Writes the events and the rows of this service. */
  record(context: Context, facts: Facts, answer: WriteAnswer<A>): Promise<void>;
  replyOf(context: Context, facts: Facts, answer: WriteAnswer<A>): Promise<Reply<Body>>;
}

export interface KnowledgeWrite<Facts> {
  /** The name of the written object; writes of the same name are serialized. */
  readonly subject: readonly string[];
  /** A path of the memory service. */
  readonly path: string;
  /** JSON, exactly as sent. */
  readonly body: string;
  /** What the events contain in addition to the response. */
  readonly facts: Facts;
}

/** A write that memory has accepted and that has no event yet. */
export interface AnsweredWrite<A, Facts> {
  readonly intentId: string;
  readonly facts: Facts;
  readonly answer: WriteAnswer<A>;
}

/** The maximum time between the response from memory and the commit of its events, on a busy machine. */
const settleSecondsMax = 30;
/** Poll interval of a write that waits for a previous one. */
const pollMs = 100;
/** A snapshot may change 20,000 entities, and the response names each of them. */
export const writeAnswerBytesMax = 8 * 1_048_576;
/** The maximum number of concurrent writes; each may wait a minute for memory. */
const writesMax = { process: 64, tenant: 16 };
const waiting = { queuedMax: 64, waitMsMax: 10_000 };
const limits = {
  tenant: new ConcurrencyLimit('writes of knowledge of the tenant', {
    runningMax: writesMax.tenant,
    ...waiting,
  }),
  process: new ConcurrencyLimit('writes of knowledge', { runningMax: writesMax.process, ...waiting }),
};

/** The duration of a process's lease on an intent. */
export function leaseSecondsOf(
  { timeoutSeconds }: { timeoutSeconds(settings: Settings): number },
  settings: Settings,
): number {
  return timeoutSeconds(settings) + graceMs / 1000 + settleSecondsMax;
}

/**
 * Writes to the memory service: first an intent, then the request, then the events along with the response. No database
 * connection is held during the request. After a crash, the worker finishes the write. The caller retries a write that
 * got no response.
 * @throws Refusal `principal_not_active`, those of the kind, `memory_unavailable`, `unavailable` while another write of
 * the same object is running, `idempotency_in_flight`, `idempotency_key_reused`
 */
export async function writeKnowledge<A, Facts extends object>(
  kind: KnowledgeKind<A, Facts, object>,
  write: KnowledgeWrite<Facts>,
  { context, keyed, command }: Surroundings<AnsweredWrite<A, Facts>, Context>,
): Promise<Answer> {
  const memory = requireMemory(context);
  const { db, tenantId, settings } = context;
  return inTurn(context, async () => {
    // Also checked before the request to memory: after the disabling of a principal has been acknowledged, none of its
    // writes may begin.
    await requireActiveCaller(db, context.caller);
    const intent = intentOf(context, kind.kind, write, keyed);
    const stored = await begin(context, intent, keyed, leaseSecondsOf(kind, settings));
    if (stored !== undefined) return replayed(stored);
    const result = await requestWrite(memory, kind, intent, settings);
    if (result.kind !== 'ok') await db.run(deleteIntent(tenantId, intent.id));
    const { status, value } = requireWritten(result, kind.refusals);
    return command({ intentId: intent.id, facts: write.facts, answer: { status, value } });
  });
}

async function inTurn<T>({ tenantId }: Context, work: () => Promise<T>): Promise<T> {
  const turns = new Turns([limits.tenant, tenantId], [limits.process, '']);
  await turns.enter();
  try {
    return await work();
  } finally {
    turns.leave();
  }
}

function intentOf(
  { tenantId, caller, requestId, correlationId, traceRunId }: Context,
  kind: IntentKind,
  { subject, path, body, facts }: KnowledgeWrite<object>,
  keyed: KeyedCall | undefined,
): NewIntent {
  return {
    id: newId(),
    tenant_id: tenantId,
    kind,
    subject: createHash('sha256').update(JSON.stringify(subject)).digest('base64url'),
    path,
    body,
    facts: facts as JsonObject,
    principal_id: caller.principalId,
    iam_principal_id: caller.iamPrincipalId,
    request_id: requestId,
    correlation_id: correlationId,
    trace_run_id: traceRunId,
    idempotency_key: keyed?.key ?? null,
    fingerprint: keyed?.fingerprint ?? null,
  };
}

/**
 * Records an intent to write, once no other write of the same name, or under the same key, is running.
 * @returns the response that was stored under the key in the meantime; in that case nothing is recorded
 */
async function begin(
  { db, tenantId, settings }: Context,
  intent: NewIntent,
  keyed: KeyedCall | undefined,
  leaseSeconds: number,
): Promise<StoredAnswer | undefined> {
  const untilMs = performance.now() + settings.CP_IDEMPOTENCY_WAIT_TIMEOUT_SECONDS * 1000;
  for (;;) {
    const other = await db.row(findConflictingIntent(intent));
    const isNoted = other === undefined && (await db.run(insertIntent(intent, leaseSeconds))) === 1;
    const stored = keyed === undefined ? undefined : await findAnswer(db, keyed);
    if (isNoted && stored !== undefined) await db.run(deleteIntent(tenantId, intent.id));
    if (isNoted || stored !== undefined) return stored;
    if (other !== undefined) refuseToWait(other, keyed, performance.now() > untilMs);
    await sleep(pollMs);
  }
}

function refuseToWait(
  other: Pick<NewIntent, 'idempotency_key' | 'fingerprint'>,
  keyed: KeyedCall | undefined,
  isLate: boolean,
): void {
  const isSameKey = keyed !== undefined && other.idempotency_key === keyed.key;
  if (isSameKey && other.fingerprint !== keyed.fingerprint)
    throw new Refusal('idempotency_key_reused', { key: keyed.key });
  if (!isLate) return;
  const headers = { 'retry-after': '1' };
  if (isSameKey) throw new Refusal('idempotency_in_flight', { key: keyed.key }, { headers });
  throw new Refusal('unavailable', {}, { headers, reason: 'another write of the same knowledge is running' });
}

/** Sends the request of an intent; memory recognizes a repeated request as the same write. */
export function requestWrite<A>(
  memory: MemoryGateway,
  kind: Pick<KnowledgeKind<A, never, object>, 'method' | 'timeoutSeconds' | 'read'>,
  intent: Pick<NewIntent, 'tenant_id' | 'path' | 'body' | 'trace_run_id'>,
  settings: Settings,
): Promise<MemoryResult<A>> {
  return memory.send({
    tenantId: intent.tenant_id,
    path: intent.path,
    method: kind.method,
    text: intent.body,
    traceRunId: intent.trace_run_id,
    timeoutMs: kind.timeoutSeconds(settings) * 1000,
    answerBytesMax: writeAnswerBytesMax,
    read: (json) => kind.read(json),
  });
}

/**
 * The response of memory to a write. A timeout has no code of its own: the write may be sent again.
 * @throws Refusal those of `refusals`, `memory_unavailable`
 */
export function requireWritten<A>(
  result: MemoryResult<A>,
  refusals: Readonly<Record<number, ErrorCode>>,
): WriteAnswer<A> {
  return requireResponse(
    result.kind === 'timeout' ? { kind: 'unavailable', status: null, why: 'failed' } : result,
    refusals,
  );
}

/** Ends a write in a transaction: writes its events, unless the worker has already written them. */
export async function settleWrite<A, Facts, Body extends object>(
  kind: KnowledgeKind<A, Facts, Body>,
  context: Context,
  { intentId, facts, answer }: AnsweredWrite<A, Facts>,
): Promise<Reply<Body>> {
  const { db, tenantId } = context;
  if ((await db.run(deleteIntent(tenantId, intentId))) === 1) await kind.record(context, facts, answer);
  return kind.replyOf(context, facts, answer);
}
