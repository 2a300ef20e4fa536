import type { Logger } from 'pino';
import type { Db, Pool } from '../database/db.ts';
import type { Turns } from '../limits/concurrency-limit.ts';
import type { Networks } from '../listener/client-address.ts';
import type { RequestMetrics } from '../process/metrics.ts';
import type { RequestHead } from './http-message.ts';
import type { IdempotencyOptions } from './idempotency.ts';
import type { ParsedInput } from './input.ts';
import type { ErrorEnvelope, Refusal, RenderError } from './refusal.ts';
import type { Answer, Operation } from './service.ts';

/** A request whose caller has been authenticated. */
export interface Call<Caller> extends RequestHead {
  /** The endpoint's name. */
  readonly endpoint: string;
  readonly caller: Caller;
  /** Calls the listener when the client has disconnected or the response is sent. */
  readonly whenGone: (listener: () => void) => void;
}

/** Runs a request up to its commit: its slot, its transaction, its handler. May be called again after it throws. */
export type Act<Caller> = (call: Call<Caller>, input: ParsedInput) => Promise<Answer>;

/** A validated request, before its permission is checked. */
export interface PendingRequest<Caller> {
  readonly call: Call<Caller>;
  readonly endpoint: Operation;
  readonly input: ParsedInput;
  /** Statements outside of a transaction, each queued individually. */
  readonly db: Db;
}

/**
 * The hooks of one service in the pipeline. `Caller` is the caller of a request, `Context` the context of a handler.
 */
export interface ServiceRuntime<Caller, Context extends object> {
  readonly name: string;
  readonly basePath: string;
  readonly pool: Pool;
  readonly log: Logger;
  readonly metrics: RequestMetrics;
  /** The proxies whose X-Forwarded-For gives the address of the client. */
  readonly trustedProxies?: Networks;
  /** Absent if no endpoint stores responses under an idempotency key. */
  readonly idempotency?: IdempotencyOptions;
  /** The codes that any endpoint may return without declaring them: those of the pipeline itself. */
  readonly pipelineCodes: ReadonlySet<string>;
  bodyBytesMax(endpoint: Operation): number;
  /** Whether the declared length is checked before the credential. */
  sizeBeforeCredential(endpoint: Operation): boolean;
  /** Returns the caller, or throws a Refusal. Called before any content of the request is read. */
  authenticate(head: RequestHead, endpoint: Operation): Promise<Caller>;
  /** Undefined for a caller without a tenant: an administrator, or a caller that isn't authenticated yet. */
  tenantOf(caller: Caller): string | undefined;
  /** Checks the flat permission; throws a Refusal. */
  authorize(caller: Caller, endpoint: Operation): void;
  /**
   * Requests the decisions of an external decision point, while no transaction, connection or slot is held, and
   * continues with a caller that contains them. Absent: `authorize` decides alone.
   */
  decide?(request: PendingRequest<Caller>, act: Act<Caller>): Promise<Answer>;
  /** Like `decide`, for an endpoint with `permissionFirst`: its request has not been read yet. */
  decideFirst?(caller: Caller, endpoint: Operation): Promise<Caller>;
  /** Statements never run as separate transactions, because `lockCaller` must precede each write. */
  readonly locksAlways?: boolean;
  /** Limits the concurrent requests of a caller; a request that waits holds no connection. Undefined: no limit. */
  turnsOf?(caller: Caller, endpoint: Operation, params: Readonly<Record<string, unknown>>): Turns | undefined;
  /** The maximum duration of a statement of a list; absent, the same as for any other statement. */
  readonly listTimeoutMs?: number;
  /** The owner of idempotency keys and fingerprints; required with `idempotency`. */
  keyOwner?(caller: Caller): { tenantId: string; principalId: string };
  /** Whether this caller must send a key wherever keys are accepted. */
  requiresKey?(caller: Caller): boolean;
  /** Locks the caller's row for the command and refuses one that is no longer active. */
  lockCaller?(tx: Db, caller: Caller): Promise<void>;
  context(call: Call<Caller>, db: Db, transactional: boolean): Context;
  /** Writes the journal rows that the handler deferred to the end of its transaction. */
  beforeCommit?(context: Context): Promise<void>;
  /** Runs after the commit and wakes readers. Must not throw. The response waits for the returned promise. */
  committed?(context: Context): Promise<void> | void;
  /** Counts a refusal, before its response. The caller is undefined if its credential hasn't been verified. */
  refused?(refusal: Refusal, caller: Caller | undefined): void;
  /** The usual error envelope. */
  readonly render: RenderError;
  /** Groups of endpoints that use another error envelope. */
  readonly envelopes?: readonly ErrorEnvelope[];
}
