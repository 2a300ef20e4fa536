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
import { unlessAborted } from '../waiting.ts';
import { Heartbeat } from './heartbeat.ts';
import type { Moment } from './lease-clock.ts';

/** How a lease ended. */
export type LeaseEnd = 'succeeded' | 'failed' | 'cancelled' | 'suspended' | 'released' | 'lost';

/** The refusals that mean that the task belongs to somebody else by now, or to nobody. */
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

/** Of the reason of a cancelled run, as the service takes it. */
const cancelReasonCharactersMax = 500;

/** For taking back a question of a lost lease. */
const withdrawMsMax = 10_000;

export interface LeaseParts {
  readonly api: Api;
  readonly task: Task;
  readonly claim: Claim;
  readonly run: Run;
  readonly leaseSeconds: number;
  readonly grantedAt: Moment;
  /** Whether a process before this one took the claim and started the run. */
  readonly isResumed: boolean;
  /** Whether the session lives: its end ends the lease. */
  isSessionLive(): boolean;
  /** Called once, when the lease has ended. */
  ended(lease: Lease, end: LeaseEnd): void;
}

/**
 * A task that this harness holds, with its claim and run. Every write goes through it: it is refused here when the
 * lease may be over. What writes the run or the task's fields is refused by the service, too, when somebody else holds the
 * task. Comments, artifacts and questions are not: their requests name no claim.
 */
export class Lease {
  readonly task: Task;
  readonly claim: Claim;
  readonly run: Run;
  /** Whether a process before this one took the task; its checkpoints stand in `context()`. */
  readonly isResumed: boolean;
  /**
   * Aborted in the moment in which the lease is lost, or its harness gives it back: give it to everything that works for
   * this task.
   */
  readonly signal: AbortSignal;
  /** How it ended; undefined while it lives. */
  end: LeaseEnd | undefined;
  readonly #parts: LeaseParts;
  readonly #heartbeat: Heartbeat;
  readonly #lost = new AbortController();
  /** Of calls under the lease: giving it back stops the work first, and then still has to call. */
  readonly #calls = new AbortController();
  /** Calls that end the lease and are on their way, and why a heartbeat or another write was refused meanwhile. */
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
      beat: (deadlineMs) =>
        api.claims.heartbeat(claim.id, { ttlSeconds: leaseSeconds }, { deadlineMs, attempts: 1 }),
      // The end may be written, and a heartbeat refused therefore, before its answer is here: that answer decides.
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
    if (!this.#parts.isSessionLive()) this.lose('its session is over');
    return this.#heartbeat.isLive() && this.end === undefined;
  }

  /**
   * Milliseconds for which the lease certainly lasts, if no further heartbeat is answered: what works for the task must have
   * stopped by then.
   * @example
   * console.log(`the work must stop within ${lease.leftMs()} ms, unless the lease is prolonged`);
   */
  leftMs(): number {
    return this.isLive() ? this.#heartbeat.leftMs() : 0;
  }

  /**
   * Everything about the run that somebody who continues it should know, with all checkpoints of runs before it.
   * @example
   * const { checkpoints } = await lease.context();
   * const done = checkpoints.filter(({ kind }) => kind === 'step').length;
   * console.log(`${done} steps were done before`);
   */
  context(options?: CallOptions): Promise<RunContext> {
    return this.#parts.api.runs.getContext(this.run.id, options);
  }

  /**
   * Writes a checkpoint, from which whoever comes next continues. Kind has 1 to 100 characters.
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
   * @throws LeaseLostError; BatonError `version_conflict` where somebody changed it meanwhile
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
   * Adds a comment to the task, as one of the run unless `runId` is null.
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
   * Ends the run as done, and the task with it. Its checks or approvals may keep the task open.
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
   * Ends the run as failed and gives the task back: somebody else may try, after a pause that grows with each failure in a row.
   * Reason has 1 to 2,000 characters; the text before its first colon is the code that a type's `execution.retry.retryOn` names.
   * @param options `retryAfterSeconds` makes the pause at least so long, as a provider asked for it
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
   * Ends the run because somebody asked for it, and gives the task back. Reason has 1 to 500 characters.
   * @example await lease.cancel('the person who asked changed her mind');
   * @throws LeaseLostError
   */
  async cancel(reason: string, options?: CallOptions): Promise<void> {
    await this.#endBy('cancelled', async (api) => {
      await api.runs.cancel(this.run.id, { reason }, this.#within(options));
      await this.#release('run_cancelled', options);
    });
  }

  /**
   * Asks a person, then suspends the run: the task comes back to work when it was decided. Where the suspension is refused,
   * because somebody else holds the task by then, the question is taken back.
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
   * Ends the run for now and gives the task back. A later run continues from the checkpoints.
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
   * Gives the task back without a result: its run is cancelled with the same reason, which is no failed attempt. What is over
   * needs no end.
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
   * Runs a write of your own under the lease: it is not begun where the lease may be over.
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
   * Stops at once what works for the task: aborts `signal`, and lets no further write through. The service is not told:
   * there the task is free when the lease has run out. The harness calls it where a lease is lost.
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
   * Gives the task back for its harness: what works for it is stopped first. An end that is on its way is waited for.
   * @internal
   */
  async takeBack(reason: string, msMax: number): Promise<void> {
    await unlessAborted(Promise.resolve(this.#ending), AbortSignal.timeout(msMax)).catch(() => undefined);
    if (!this.isLive()) return;
    this.#lost.abort(new LeaseLostError(`the lease on ${this.task.publicId} was given back: ${reason}`));
    await this.release(reason, { attempts: 2, deadlineMs: msMax }).catch(() =>
      this.lose('it could not be given back'),
    );
  }

  async #write<Value>(work: (api: Api) => Promise<Value>): Promise<Value> {
    if (!this.isLive()) throw this.#over();
    try {
      return await work(this.#parts.api);
    } catch (error) {
      const isRefused = isLoss(error);
      // Written meanwhile, an end refuses this write, too: the answer to the end says whether the lease is lost.
      if (isRefused && this.#endings > 0) {
        this.#lossWhileEnding = { reason: error.message, cause: error };
        throw this.#lossBy(error.message, error);
      }
      if (isRefused) this.lose(error.message, error);
      // A failure that came after the end of the lease is the loss, whatever it says.
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

  /** Asks the service before a write that names no claim, which it would take from a stale holder, too. */
  async #confirmHeld(options: CallOptions = {}): Promise<void> {
    const call = this.#within({ ...options, idempotencyKey: undefined });
    await this.#write((api) =>
      api.claims.heartbeat(this.claim.id, { ttlSeconds: this.#parts.leaseSeconds }, call),
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
      // Its gate would hold back whoever has the task now. Where this fails a person can still decide or cancel it.
      if (error instanceof LeaseLostError && !mayBeWritten)
        await this.#parts.api.approvals
          .cancel(
            approval.id,
            { comment: 'its run is not held any more' },
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
   * A write ends with the lease at the latest. While the service is away it is tried for as long as a lease lasts: so long
   * the lease may survive, and the write with it.
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
   * Before each attempt: the event loop may have stood still since the one before. Only time counts here, for where a
   * heartbeat was refused because the end is written, its answer is still to come.
   */
  #judge(): void {
    this.#loseInTime();
    if (this.end !== undefined) throw this.#over();
  }

  #loseInTime(): void {
    if (this.end === undefined && !this.#heartbeat.isInTime()) this.lose('its time is over');
  }

  #finish(end: LeaseEnd): void {
    if (this.end !== undefined) return;
    this.end = end;
    this.#heartbeat.stop();
    this.#parts.ended(this, end);
  }
}

/** Whether a refusal says that the task belongs to somebody else by now, or to nobody. */
export function isLoss(error: unknown): error is BatonError {
  return error instanceof BatonError && lostCodes.has(error.code);
}

/** What has ended meanwhile needs no end. */
function ignoreEnded(error: unknown): void {
  if (!isLoss(error)) throw error;
}

/** Characters of a key, as the service takes them. */
const keyCharactersMax = 200;

/**
 * Options for the second request of one call. The service takes a key for one request only, so the second gets one that is made
 * from the caller's: the same call under the same key repeats both. Where that is too long, the client makes one.
 */
function withKeyFor(request: string, options: CallOptions = {}): CallOptions {
  const { idempotencyKey, ...others } = options;
  const key = `${idempotencyKey}.${request}`;
  return idempotencyKey === undefined || key.length > keyCharactersMax
    ? others
    : { ...others, idempotencyKey: key };
}

/** What a run is started with, beside the claim. */
export type RunSettings = Omit<RunRequest, 'claimId' | 'fencingToken'>;
