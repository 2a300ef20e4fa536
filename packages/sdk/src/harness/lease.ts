import type { CallOptions } from '../call.ts';
import type { Api } from '../client.ts';
import { BatonError, LeaseLostError } from '../errors.ts';
import type {
  Approval,
  ApprovalRequest,
  Artifact,
  Checkpoint,
  Claim,
  NewArtifact,
  NewTaskComment,
  Run,
  RunContext,
  RunRequest,
  Task,
  TaskChange,
  TaskComment,
} from '../generated/coordination-types.ts';
import { unlessAborted } from '../wait.ts';
import { Heartbeat } from './heartbeat.ts';
import type { Moment } from './lease-clock.ts';

/** How a lease ended. */
export type LeaseEnd = 'succeeded' | 'failed' | 'cancelled' | 'suspended' | 'released' | 'lost';

/** The error codes that mean a lost lease: the task has another holder, or none. */
const lostCodes = new Set([
  'stale_claim',
  'claim_expired',
  'claim_not_active',
  'claim_holder_mismatch',
  'session_not_active',
  'session_expired',
  'run_not_active',
  'run_holder_mismatch',
]);

/** The service's limit for a cancelled run's reason, in characters. */
const cancelReasonCharactersMax = 500;

/** Timeout for withdrawing the approval request of a lost lease. */
const withdrawMsMax = 10_000;

export interface LeaseParts {
  readonly api: Api;
  readonly task: Task;
  readonly claim: Claim;
  readonly run: Run;
  readonly leaseSeconds: number;
  readonly grantedAt: Moment;
  /** Whether a previous process took the claim and started the run. */
  readonly isResumed: boolean;
  /** Whether the session is live; when it ends, the lease ends too. */
  isSessionLive(): boolean;
  /** Called once, when the lease has ended. */
  ended(lease: Lease, end: LeaseEnd): void;
}

/**
 * A task that this harness holds, with its claim and run. It rejects every write once the lease may have expired. The
 * service also rejects writes to the run and to the task's fields when the task has another holder. It doesn't reject
 * comments, artifacts and approval requests, which contain no claim.
 */
export class Lease {
  readonly task: Task;
  readonly claim: Claim;
  readonly run: Run;
  /** Whether a previous process took the task; `context()` returns its checkpoints. */
  readonly isResumed: boolean;
  /**
   * Aborted as soon as the lease is lost or its harness releases it. Pass it to everything that works on this task.
   */
  readonly signal: AbortSignal;
  /** The end of the lease; undefined while it is live. */
  end: LeaseEnd | undefined;
  readonly #parts: LeaseParts;
  readonly #heartbeat: Heartbeat;
  readonly #lost = new AbortController();
  /**
   * Aborts calls under the lease. It is separate from `#lost`, because a release first stops the work and then still
   * needs a call.
   */
  readonly #calls = new AbortController();
  /**
   * The number of pending calls that end the lease, and the reason why a heartbeat or another write was rejected while
   * they were pending.
   */
  #endings = 0;
  #ending: Promise<unknown> | undefined;
  #lossWhileEnding: { readonly reason: string; readonly cause: unknown } | undefined;

  constructor(parts: LeaseParts) {
    const { api, task, claim, run, leaseSeconds, grantedAt, isResumed } = parts;
    this.#parts = parts;
    this.task = task;
    this.claim = claim;
    this.run = run;
    this.isResumed = isResumed;
    this.signal = this.#lost.signal;
    this.#heartbeat = new Heartbeat({
      leaseSeconds,
      grantedAt,
      beat: (ttlSeconds, deadlineMs) =>
        api.claims.heartbeat(claim.id, { ttlSeconds }, { deadlineMs, attempts: 1 }),
      // An end that is already committed, but whose response hasn't arrived yet, also causes a heartbeat to be
      // rejected. The response to the end determines whether the lease is lost.
      lost: (reason, cause) => {
        if (this.#endings > 0 && cause !== undefined) this.#lossWhileEnding = { reason, cause };
        else this.lose(reason, cause);
      },
    });
  }

  /**
   * Whether this harness may certainly write at this moment.
   * @example
   * if (!lease.isLive()) throw lease.signal.reason;
   */
  isLive(): boolean {
    if (this.end !== undefined) return false;
    if (!this.#parts.isSessionLive()) this.lose('its session has ended');
    return this.#heartbeat.isLive() && this.end === undefined;
  }

  /**
   * Milliseconds for which the lease certainly lasts without a further heartbeat. The work on the task must have
   * stopped by then.
   * @example
   * console.log(`the work must stop within ${lease.leftMs()} ms, unless the lease is extended`);
   */
  leftMs(): number {
    return this.isLive() ? this.#heartbeat.leftMs() : 0;
  }

  /**
   * Changes how long this lease lasts without a heartbeat, and requests that at once. `setLeaseSeconds` of the harness
   * also changes its session, without which the lease ends.
   * @example
   * lease.setLeaseSeconds(600);
   */
  setLeaseSeconds(leaseSeconds: number): void {
    this.#heartbeat.setLeaseSeconds(leaseSeconds);
  }

  /**
   * Returns the context for continuing the run, with all checkpoints of the previous runs.
   * @example
   * const { checkpoints } = await lease.context();
   * const done = checkpoints.filter(({ kind }) => kind === 'step').length;
   * console.log(`${done} steps were done before`);
   */
  context(options?: CallOptions): Promise<RunContext> {
    return this.#parts.api.runs.getContext(this.run.id, options);
  }

  /**
   * Writes a checkpoint, from which the next holder continues. The kind has 1 to 100 characters.
   * @example await lease.checkpoint('step', { file: 'a.ts', line: 12 });
   * @throws LeaseLostError
   */
  checkpoint(kind: string, data: Record<string, unknown> = {}, options?: CallOptions): Promise<Checkpoint> {
    return this.#write((api) =>
      api.runs.createCheckpoint(this.run.id, { kind, data }, this.#within(options)),
    );
  }

  /**
   * Changes fields of the task.
   * @example
   * const read = await baton.tasks.get(lease.task.id);
   * await lease.update({ description: 'What I found so far' }, { ifMatch: etagOf(read) });
   * @throws LeaseLostError; BatonError `version_conflict` if the task was changed meanwhile
   */
  update(change: TaskChange, options: CallOptions & { readonly ifMatch: string }): Promise<Task> {
    const { id: claimId, fencingToken } = this.claim;
    return this.#write((api) =>
      api.tasks.update(
        this.task.id,
        { ...change, claimId, fencingToken },
        { ...this.#within(options), ifMatch: options.ifMatch },
      ),
    );
  }

  /**
   * Adds a comment to the task, on behalf of the run unless `runId` is null.
   * @example await lease.comment({ body: 'The test fails on Mondays only.' });
   * @throws LeaseLostError
   */
  comment(comment: NewTaskComment, options?: CallOptions): Promise<TaskComment> {
    return this.#write((api) =>
      api.tasks.createComment(this.task.id, { runId: this.run.id, ...comment }, this.#within(options)),
    );
  }

  /**
   * Publishes a result of the run.
   * @example await lease.putArtifact({ type: 'report', name: 'findings', content: { failures: 3 } });
   * @throws LeaseLostError
   */
  putArtifact(artifact: Omit<NewArtifact, 'task' | 'runId'>, options?: CallOptions): Promise<Artifact> {
    return this.#write((api) =>
      api.artifacts.create({ ...artifact, task: this.task.id, runId: this.run.id }, this.#within(options)),
    );
  }

  /**
   * Ends the run as succeeded and completes the task. Checks or approvals may keep the task open.
   * @example
   * const done = await lease.succeed({ commits: 2 });
   * console.log(done.systemStatusCategory);
   * @throws LeaseLostError
   */
  async succeed(output?: Record<string, unknown>, options?: CallOptions): Promise<Task> {
    return this.#endBy('succeeded', async (api) => {
      const body = output === undefined ? {} : { output };
      return (await api.runs.succeed(this.run.id, body, this.#within(options))).task;
    });
  }

  /**
   * Ends the run as failed and releases the task for another attempt, after a delay that grows with each consecutive
   * failure. The reason has 1 to 2,000 characters; the text before its first colon is the code in a type's
   * `execution.retry.retryOn`.
   * @param options `retryAfterSeconds` is the minimum delay, for example one that a provider requires
   * @example await lease.fail('rate_limited: the model answered 429', undefined, { retryAfterSeconds: 120 });
   * @throws LeaseLostError
   */
  async fail(
    reason: string,
    output?: Record<string, unknown>,
    options: CallOptions & { readonly retryAfterSeconds?: number } = {},
  ): Promise<void> {
    const { retryAfterSeconds } = options;
    await this.#endBy('failed', async (api) => {
      const body = {
        failureReason: reason,
        ...(output && { output }),
        ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      };
      await api.runs.fail(this.run.id, body, this.#within(options));
      await this.#release('run_failed', options);
    });
  }

  /**
   * Cancels the run on request and releases the task. The reason has 1 to 500 characters.
   * @example await lease.cancel('the requester changed her mind');
   * @throws LeaseLostError
   */
  async cancel(reason: string, options?: CallOptions): Promise<void> {
    await this.#endBy('cancelled', async (api) => {
      await api.runs.cancel(this.run.id, { reason }, this.#within(options));
      await this.#release('run_cancelled', options);
    });
  }

  /**
   * Requests an approval, then suspends the run: the task becomes available again after the decision. If the suspension
   * is rejected because the task has another holder, the request is cancelled.
   * @example
   * const approval = await lease.askApproval({ comment: 'May I deploy?', assignedPrincipalId: personId });
   * console.log(approval.status, lease.end);
   * @throws LeaseLostError
   */
  async askApproval(request: Omit<ApprovalRequest, 'task'>, options?: CallOptions): Promise<Approval> {
    await this.#confirmHeld(options);
    const approval = await this.#write((api) =>
      api.approvals.request({ gate: true, ...request, task: this.task.id }, this.#within(options)),
    );
    await this.#suspendFor(approval, options);
    return approval;
  }

  /**
   * Suspends the run and releases the task. A later run continues from the checkpoints.
   * @example await lease.suspend('the build machine is down');
   * @throws LeaseLostError
   */
  async suspend(
    reason: string,
    options: CallOptions & { readonly waitingForApprovalId?: string } = {},
  ): Promise<void> {
    const { waitingForApprovalId } = options;
    const body = { reason, ...(waitingForApprovalId !== undefined && { waitingForApprovalId }) };
    await this.#endBy('suspended', (api) => api.runs.suspend(this.run.id, body, this.#within(options)));
  }

  /**
   * Releases the task without a result: its run is cancelled with the same reason, which doesn't count as a failed
   * attempt. Does nothing if the lease has ended.
   * @example await lease.release('this machine is needed for something else');
   */
  async release(reason = 'released', options?: CallOptions): Promise<void> {
    if (!this.isLive()) return;
    await this.#endBy('released', async (api) => {
      const body = { reason: reason.slice(0, cancelReasonCharactersMax) };
      await api.runs.cancel(this.run.id, body, this.#within(options)).catch(ignoreEnded);
      await this.#release(reason, options);
    });
  }

  /**
   * Runs a write of your own under the lease. It is not started if the lease may have expired.
   * @example
   * await lease.write(({ signal }) => baton.runs.createAction(lease.run.id, { action: 'deploy' }, { signal }));
   * @throws LeaseLostError
   */
  write<Value>(
    work: (held: { claimId: string; fencingToken: number; signal: AbortSignal }) => Promise<Value>,
  ): Promise<Value> {
    const { id: claimId, fencingToken } = this.claim;
    return this.#write(() => work({ claimId, fencingToken, signal: this.signal }));
  }

  /**
   * Stops the work on the task at once: aborts `signal` and rejects further writes. The service is not notified, so the
   * task becomes available when the lease expires. The harness calls this when the lease is lost.
   * @example
   * lease.lose('the power is out');
   * console.log(lease.signal.aborted, lease.end);
   */
  lose(reason: string, cause?: unknown): void {
    if (this.end !== undefined) return;
    this.#finish('lost');
    const lost = this.#lossBy(reason, cause);
    this.#lost.abort(lost);
    this.#calls.abort(lost);
  }

  /**
   * Releases the task for its harness, after the work on it has stopped. Waits for an end that is in progress.
   * @internal
   */
  async takeBack(reason: string, msMax: number): Promise<void> {
    await unlessAborted(Promise.resolve(this.#ending), AbortSignal.timeout(msMax)).catch(() => undefined);
    if (!this.isLive()) return;
    this.#lost.abort(new LeaseLostError(`the lease on ${this.task.publicId} was released: ${reason}`));
    await this.release(reason, { attempts: 2, deadlineMs: msMax }).catch(() =>
      this.lose('it could not be released'),
    );
  }

  async #write<Value>(work: (api: Api) => Promise<Value>): Promise<Value> {
    if (!this.isLive()) throw this.#over();
    try {
      return await work(this.#parts.api);
    } catch (error) {
      const isRefused = isLoss(error);
      // An end that was committed in the meantime also causes this write to be rejected. The response to the end
      // determines whether the lease is lost.
      if (isRefused && this.#endings > 0) {
        this.#lossWhileEnding = { reason: error.message, cause: error };
        throw this.#lossBy(error.message, error);
      }
      if (isRefused) this.lose(error.message, error);
      // Any failure after the end of the lease is reported as the loss of the lease.
      this.#loseInTime();
      if (isRefused || this.signal.aborted) throw this.#over(error);
      throw error;
    }
  }

  async #endBy<Value>(end: LeaseEnd, work: (api: Api) => Promise<Value>): Promise<Value> {
    const ending = this.#write(async (api) => {
      this.#endings += 1;
      try {
        const value = await work(api);
        this.#finish(end);
        return value;
      } finally {
        this.#endings -= 1;
        const loss = this.#lossWhileEnding;
        if (loss !== undefined && this.#endings === 0) this.lose(loss.reason, loss.cause);
      }
    });
    this.#ending = ending;
    return ending;
  }

  /**
   * Verifies the lease with the service before a write that contains no claim, which the service would also accept from
   * a stale holder.
   */
  async #confirmHeld(options: CallOptions = {}): Promise<void> {
    const call = this.#within({ ...options, idempotencyKey: undefined });
    await this.#write((api) =>
      api.claims.heartbeat(this.claim.id, { ttlSeconds: this.#heartbeat.leaseSeconds }, call),
    );
  }

  async #suspendFor(approval: Approval, options: CallOptions | undefined): Promise<void> {
    const body = { reason: 'waiting_approval', waitingForApprovalId: approval.id };
    let mayBeWritten = false;
    const suspended = async (api: Api) => {
      mayBeWritten = true;
      try {
        await api.runs.suspend(this.run.id, body, this.#within(withKeyFor('suspend', options)));
      } catch (error) {
        mayBeWritten = !isLoss(error);
        throw error;
      }
    };
    try {
      await this.#endBy('suspended', suspended);
    } catch (error) {
      // Without the cancel, the approval would block the task's new holder. If the cancel fails, a person can still
      // decide or cancel the request.
      if (error instanceof LeaseLostError && !mayBeWritten)
        await this.#parts.api.approvals
          .cancel(
            approval.id,
            { comment: 'its run has lost its lease' },
            { attempts: 2, deadlineMs: withdrawMsMax },
          )
          .catch(() => undefined);
      throw error;
    }
  }

  #over(cause?: unknown): Error {
    if (this.signal.aborted) return this.signal.reason as LeaseLostError;
    return new LeaseLostError(`the lease on ${this.task.publicId} has ended: ${this.end}`, cause);
  }

  #lossBy(reason: string, cause: unknown): LeaseLostError {
    return new LeaseLostError(`the lease on ${this.task.publicId} is lost: ${reason}`, cause);
  }

  #release(reason: string, options?: CallOptions): Promise<unknown> {
    return this.#parts.api.claims
      .release(this.claim.id, { reason: reason.slice(0, 200) }, this.#within(withKeyFor('release', options)))
      .catch(ignoreEnded);
  }

  /**
   * A write ends no later than the lease. While the service is unavailable, the write is retried for the length of a
   * lease, because the lease may last that long.
   */
  #within(options: CallOptions = {}): CallOptions {
    const { signal: own } = this.#calls;
    const signal = options.signal === undefined ? own : AbortSignal.any([options.signal, own]);
    const deadlineMs = this.#parts.leaseSeconds * 1_000;
    const beforeAttempt = () => {
      this.#judge();
      options.beforeAttempt?.();
    };
    return { attempts: Number.POSITIVE_INFINITY, deadlineMs, ...options, signal, beforeAttempt };
  }

  /**
   * Runs before each attempt, because the event loop may have been blocked since the previous one. Only time counts
   * here: if a heartbeat was rejected because the end is already committed, the response to the end is still pending.
   */
  #judge(): void {
    this.#loseInTime();
    if (this.end !== undefined) throw this.#over();
  }

  #loseInTime(): void {
    if (this.end === undefined && !this.#heartbeat.isInTime()) this.lose('it has expired');
  }

  #finish(end: LeaseEnd): void {
    if (this.end !== undefined) return;
    this.end = end;
    this.#heartbeat.stop();
    this.#parts.ended(this, end);
  }
}

/** Whether an error means that the task has another holder, or none. */
export function isLoss(error: unknown): error is BatonError {
  return error instanceof BatonError && lostCodes.has(error.code);
}

/** Ignores the error if the claim has ended in the meantime. */
function ignoreEnded(error: unknown): void {
  if (!isLoss(error)) throw error;
}

/** The service's limit for a key, in characters. */
const keyCharactersMax = 200;

/**
 * Options for the second request of one call. The service accepts a key for one request only, so the second key is
 * derived from the caller's: a repetition of the call under the same key repeats both requests. If the derived key is
 * too long, the client generates one.
 */
function withKeyFor(request: string, options: CallOptions = {}): CallOptions {
  const { idempotencyKey, ...others } = options;
  const key = `${idempotencyKey}.${request}`;
  return idempotencyKey === undefined || key.length > keyCharactersMax
    ? others
    : { ...others, idempotencyKey: key };
}

/** Options for starting a run, besides the claim. */
export type RunSettings = Omit<RunRequest, 'claimId' | 'fencingToken'>;
