import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../database/db.ts';
import { isUnreachable, sqlState } from '../database/db.ts';
import type { Turns } from '../limits/concurrency-limit.ts';
import type { Incoming } from '../listener/byte-stream.ts';
import { observer } from '../process/observer.ts';
import { setStatementTimeout } from './command.sql.ts';
import { entityTag } from './etag.ts';
import {
  findAnswer,
  fingerprintOf,
  freeKey,
  type KeyedCall,
  parseIdempotencyKey,
  type StoredAnswer,
  storeAnswer,
  takeKey,
} from './idempotency.ts';
import type { ParsedInput } from './input.ts';
import { checkLimit, type Page } from './paging.ts';
import { Refusal } from './refusal.ts';
import type { Act, Call, ServiceRuntime } from './runtime.ts';
import {
  type Answer,
  type Endpoint,
  type Input,
  type Operation,
  Reply,
  type Surroundings,
} from './service.ts';

/**
 * Thrown by a handler of `transaction: 'statement'` whose one statement changed nothing: the handler is run again
 * inside a transaction, where it can lock the rows and determine the reason.
 */
export class NeedsTransaction extends Error {}

/**
 * Thrown inside a command that needs a decision from another service: the command is rolled back, and repeated after
 * `decide` has requested the decision.
 */
export class NeedsAnswer extends Error {}

/** A deadlock or a serialization failure rolled everything back, so the command can be retried. */
const attemptsMax = 3;
const repeatAfterMsMax = 50;

/**
 * Steps 9 to 14 of docs/reference/README.md#order-of-checks: the key, the caller, the permission, the handler and the
 * commit. State, journal rows and the stored response are written in one transaction or not at all.
 */
export async function execute<Caller, Context extends object>(
  runtime: ServiceRuntime<Caller, Context>,
  endpoint: Endpoint<Context>,
  call: Call<Caller>,
  input: ParsedInput,
): Promise<Answer> {
  endpoint.precheck?.(unpaged(input));
  const keyed = keyOf(runtime, endpoint, call, input);
  const act: Act<Caller> = (decided, narrowed) => inTurn(runtime, endpoint, decided, narrowed, keyed);
  if (runtime.decide === undefined) return act(call, input);
  return runtime.decide({ call, endpoint, input, db: poolInTurnsOf(runtime, endpoint, call, input) }, act);
}

async function inTurn<Caller, Context extends object>(
  runtime: ServiceRuntime<Caller, Context>,
  endpoint: Endpoint<Context>,
  call: Call<Caller>,
  input: ParsedInput,
  keyed: KeyedCall | undefined,
): Promise<Answer> {
  const turns = runtime.turnsOf?.(call.caller, endpoint, input.params);
  if (turns === undefined) return run(runtime, endpoint, call, input, keyed);
  const waiting = turns.enter();
  if (waiting !== undefined) await waiting;
  try {
    return await run(runtime, endpoint, call, input, keyed);
  } finally {
    turns.leave();
  }
}

/**
 * Like `runCommand`, for an endpoint with `around`. A failed precheck, a malformed key and a missing permission are
 * refused before `around` is called.
 */
export async function executeAround<Caller, Context extends object>(
  runtime: ServiceRuntime<Caller, Context>,
  endpoint: Endpoint<Context> & { around: NonNullable<Endpoint<Context>['around']> },
  call: Call<Caller>,
  input: ParsedInput,
  incoming: Incoming,
): Promise<Answer> {
  endpoint.precheck?.(unpaged(input));
  const keyed = keyOf(runtime, endpoint, call, input);
  const db = poolInTurnsOf(runtime, endpoint, call, input);
  const act: Act<Caller> = async (decided) => {
    // The fingerprint of bytes is known only after they have been read.
    const stored = keyed === undefined || endpoint.bytes ? undefined : await findAnswer(db, keyed);
    runtime.authorize(decided.caller, endpoint);
    if (stored !== undefined) return replayed(stored);
    const surroundings: Surroundings<unknown, Context> = {
      incoming,
      context: runtime.context(decided, db, false),
      keyed,
      command: (prepared, sent) =>
        execute(runtime, endpoint, decided, { ...input, sent: sent ?? input.sent, prepared }),
    };
    return endpoint.around(unpaged(input), surroundings);
  };
  return runtime.decide === undefined ? act(call, input) : runtime.decide({ call, endpoint, input, db }, act);
}

function poolInTurnsOf<Caller, Context extends object>(
  runtime: ServiceRuntime<Caller, Context>,
  endpoint: Endpoint<Context>,
  { caller }: Call<Caller>,
  { params }: ParsedInput,
): Db {
  return inTurns(runtime.pool, () => runtime.turnsOf?.(caller, endpoint, params));
}

function unpaged(input: ParsedInput): Input<never, never, never> {
  return { ...input, page: { limit: 0, cursor: undefined } } as unknown as Input<never, never, never>;
}

/** Queues each statement individually, for a request that isn't queued as a whole. */
function inTurns(db: Db, turnsOf: () => Turns | undefined): Db {
  const inTurn = async <T>(statement: () => Promise<T>): Promise<T> => {
    const turns = turnsOf();
    await turns?.enter();
    try {
      return await statement();
    } finally {
      turns?.leave();
    }
  };
  return {
    rows: (statement) => inTurn(() => db.rows(statement)),
    row: (statement) => inTurn(() => db.row(statement)),
    run: (statement) => inTurn(() => db.run(statement)),
  };
}

async function run<Caller, Context extends object>(
  runtime: ServiceRuntime<Caller, Context>,
  endpoint: Endpoint<Context>,
  call: Call<Caller>,
  input: ParsedInput,
  keyed: KeyedCall | undefined,
): Promise<Answer> {
  if (endpoint.isList && runtime.listTimeoutMs !== undefined)
    return inTime(runtime, runtime.listTimeoutMs, endpoint, call, input);
  if (endpoint.transaction === 'none') return onPool(runtime, endpoint, call, input);
  const alone = keyed === undefined && runtime.locksAlways !== true;
  if (endpoint.transaction === 'statement' && alone) {
    try {
      return await onPool(runtime, endpoint, call, input);
    } catch (error) {
      if (!(error instanceof NeedsTransaction || isRepeatable(error))) throw error;
    }
  }
  return retryTransaction(() => inTransaction(runtime, endpoint, call, input, keyed));
}

/** Retries a transaction a few times after a deadlock or a serialization failure. */
export async function retryTransaction<T>(transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction();
    } catch (error) {
      if (!isRepeatable(error) || attempt === attemptsMax) throw error;
      // Two colliding commands would collide again, so each waits for a different random time.
      await sleep(Math.random() * repeatAfterMsMax * attempt);
    }
  }
}

/** Whether the database rolled back a transaction that can be retried. */
export function isRepeatable(error: unknown): boolean {
  return ['40001', '40P01'].includes(sqlState(error) ?? '');
}

async function onPool<Caller, Context extends object>(
  runtime: ServiceRuntime<Caller, Context>,
  endpoint: Endpoint<Context>,
  call: Call<Caller>,
  input: ParsedInput,
): Promise<Answer> {
  runtime.authorize(call.caller, endpoint);
  const context = runtime.context(call, runtime.pool, false);
  const answer = await handle(runtime, endpoint, input, context);
  const noted = runtime.committed?.(context);
  if (noted !== undefined) await noted;
  return answer;
}

/**
 * Runs a list in a transaction that limits the duration of its statements; the limit is sent along with the first of
 * them.
 */
async function inTime<Caller, Context extends object>(
  runtime: ServiceRuntime<Caller, Context>,
  timeoutMs: number,
  endpoint: Endpoint<Context>,
  call: Call<Caller>,
  input: ParsedInput,
): Promise<Answer> {
  runtime.authorize(call.caller, endpoint);
  const answer = await runtime.pool.transaction(async (tx, awaitWithCommit) => {
    const bound = tx.run(setStatementTimeout(timeoutMs));
    // If the list fails first, nothing awaits this promise; its rejection must not end the process as an unhandled one.
    bound.catch(() => undefined);
    awaitWithCommit(bound);
    return handle(runtime, endpoint, input, runtime.context(call, tx, false)).catch(keptRefusal);
  });
  if (answer instanceof Refusal) throw answer;
  return answer;
}

/** A few refusals commit the earlier writes: an expired lease is recorded, then refused. */
function keptRefusal(error: unknown): Refusal {
  if (error instanceof Refusal && error.commits) return error;
  throw error;
}

async function inTransaction<Caller, Context extends object>(
  runtime: ServiceRuntime<Caller, Context>,
  endpoint: Endpoint<Context>,
  call: Call<Caller>,
  input: ParsedInput,
  keyed: KeyedCall | undefined,
): Promise<Answer> {
  const { context, answer, refusal } = await runtime.pool.transaction(async (tx, awaitWithCommit) => {
    const stored = await storedAnswer(runtime, tx, keyed);
    if (stored !== undefined) {
      runtime.authorize(call.caller, endpoint);
      return { context: undefined, answer: replayed(stored), refusal: undefined };
    }
    if (!endpoint.handlerLocksCaller) await runtime.lockCaller?.(tx, call.caller);
    runtime.authorize(call.caller, endpoint);
    const context = runtime.context(call, tx, true);
    try {
      const answer = await handle(runtime, endpoint, input, context);
      if (keyed !== undefined) awaitWithCommit(storeAnswer(tx, keyed, answer, endpoint.secrets));
      if (runtime.beforeCommit !== undefined) awaitWithCommit(runtime.beforeCommit(context));
      return { context, answer, refusal: undefined };
    } catch (error) {
      const refusal = keptRefusal(error);
      if (keyed !== undefined) await freeKey(tx, keyed);
      await runtime.beforeCommit?.(context);
      return { context, answer: undefined, refusal };
    }
  });
  const noted = context && runtime.committed?.(context);
  if (noted !== undefined) await noted;
  if (answer === undefined) throw refusal;
  return answer;
}

function keyOf<Caller, Context extends object>(
  runtime: ServiceRuntime<Caller, Context>,
  endpoint: Endpoint<Context>,
  call: Call<Caller>,
  input: ParsedInput,
): KeyedCall | undefined {
  if (endpoint.idempotency === 'ignored' || endpoint.idempotency === 'own' || runtime.keyOwner === undefined)
    return undefined;
  const header = call.headers['idempotency-key'];
  const isRequired = endpoint.idempotency === 'required' || runtime.requiresKey?.(call.caller) === true;
  const key = parseIdempotencyKey(header as string | undefined, isRequired);
  if (key === undefined) return undefined;
  const { tenantId, principalId } = runtime.keyOwner(call.caller);
  const sent = printedOf(input.sent, endpoint);
  return { tenantId, key, fingerprint: fingerprintOf(call.method, call.path, sent, principalId) };
}

function printedOf(sent: unknown, { unprinted }: Operation): unknown {
  if (unprinted.length === 0 || typeof sent !== 'object' || sent === null) return sent;
  return Object.fromEntries(Object.entries(sent).filter(([name]) => !unprinted.includes(name)));
}

async function storedAnswer<Caller, Context extends object>(
  runtime: ServiceRuntime<Caller, Context>,
  tx: Db,
  keyed: KeyedCall | undefined,
): Promise<StoredAnswer | undefined> {
  if (keyed === undefined || runtime.idempotency === undefined) return undefined;
  return takeKey(tx, keyed, runtime.idempotency);
}

/** A stored response for a replay. */
export function replayed({ status, body }: StoredAnswer): Answer {
  return { status, body: body ?? undefined, headers: { 'idempotency-replayed': 'true' } };
}

async function handle<Caller, Context extends object>(
  runtime: ServiceRuntime<Caller, Context>,
  endpoint: Endpoint<Context>,
  input: ParsedInput,
  context: Context,
): Promise<Answer> {
  const { cursor, only } = input;
  endpoint.checkFilters?.(input.query as never);
  const limit = endpoint.paging ? checkLimit(input.limit) : 0;
  const page: Page = only === undefined ? { limit, cursor } : { limit, cursor, only };
  const result = await endpoint.handle({ ...input, page } as unknown as Input<never, never, never>, context);
  const answer =
    result instanceof Reply
      ? { status: result.status, body: result.body, headers: result.headers }
      : { status: endpoint.status, body: result, headers: {} };
  if (observer() !== undefined) refuseUndeclaredAnswer(runtime.name, endpoint, answer);
  if (endpoint.etag === undefined) return answer;
  const { version, rowVersion = version } = answer.body as { version: number; rowVersion?: number };
  return { ...answer, headers: { ...answer.headers, etag: entityTag(endpoint.etag, rowVersion) } };
}

function refuseUndeclaredAnswer(service: string, endpoint: Operation, answer: Answer): void {
  const name = `${service}: ${endpoint.method} ${endpoint.path}`;
  const schema = endpoint.returns[answer.status];
  if (schema === undefined)
    observer()?.violated(`${name} answered ${answer.status}, which it does not declare`);
  if (schema === null || schema === undefined) return;
  const result = schema.safeParse(answer.body);
  if (!result.success) observer()?.violated(`${name} answered another form: ${result.error.message}`);
}

/** Whether a failure is temporary (503) rather than an internal error (500). */
export function isTemporary(error: unknown): boolean {
  return isUnreachable(error) || ['55P03', '57014', '40001', '40P01'].includes(sqlState(error) ?? '');
}
