// For programs with an older `lib`, where only @types/node declares AsyncDisposable.
/// <reference lib="esnext.disposable" preserve="true" />
import type { CallOptions } from '../call.ts';
import type { Api } from '../client.ts';
import { BatonError } from '../errors.ts';
import type { Claim, ClaimNextRequest, OwnRun, Session, Task } from '../generated/coordination-types.ts';
import { sleep, unlessAborted } from '../wait.ts';
import type { HarnessOptions, WorkOptions } from './harness-options.ts';
import { Heartbeat } from './heartbeat.ts';
import { isLoss, Lease, type LeaseEnd } from './lease.ts';
import { LeaseClock, type Moment } from './lease-clock.ts';
import type { StartRun } from './run-start.ts';
import { continueSession, endOrphans, ignoreRefusal, leaseSecondsOf, openSession } from './session-start.ts';

const firstIdleMs = 250;
const closeMsMax = 10_000;
/** The longest delay that a service can require before the next request. */
const askedWaitMsMax = 300_000;
/** How many tasks are searched for an accepted one. */
const choiceMax = 500;

interface Claimed {
  readonly task: Task;
  readonly claim: Claim;
  readonly grantedAt: Moment;
}

/**
 * How long to wait before the next search if no work is available or the service is unavailable, including any delay
 * that the service requires.
 */
interface Nothing {
  readonly askedMs: number;
}

const noWork: Nothing = { askedMs: 0 };

/**
 * One session of this program at coordination. It keeps the session and every lease alive, and ends them when it is
 * closed.
 */
export class Harness implements AsyncDisposable {
  /** The session as opened. */
  readonly session: Session;
  /** Aborted when the session is lost; every lease is lost with it. */
  readonly signal: AbortSignal;
  readonly #api: Api;
  readonly #startRun: StartRun;
  readonly #options: HarnessOptions;
  readonly #heartbeat: Heartbeat;
  readonly #lost = new AbortController();
  /**
   * Aborts requests for work when the harness is closed. A claim that such a request was granted ends with the session.
   */
  readonly #closing = new AbortController();
  readonly #leases = new Set<Lease>();
  /** Live claims of a previous process. */
  readonly #resumable: OwnRun[];
  #closed: Promise<void> | undefined;

  /**
   * Opens a session, or continues the one in the store. Runs without a holder are ended with the reason
   * `restart_recovery`; `work()` returns those with a live lease first.
   * @throws BatonError `permission_denied` without `sessions.open`; TypeError without `task_types.read`
   */
  static async open(api: Api, startRun: StartRun, options: HarnessOptions): Promise<Harness> {
    const { signal } = options;
    const before = await options.store?.read();
    const grantedAt = LeaseClock.now();
    const old = before ? await continueSession(api, before, leaseSecondsOf(options), signal) : undefined;
    const session = old ?? (await openSession(api, options));
    try {
      await options.store?.write(session.id);
      const context = await api.harness.getContext({ sessionId: session.id }, signal && { signal });
      if (!context.permissions.includes('task_types.read'))
        throw new TypeError(
          'a harness needs the permission task_types.read: it must know the rules of the tasks that it takes',
        );
      const resumable = await endOrphans(api, context, session.id);
      return new Harness(api, startRun, options, session, grantedAt, resumable);
    } catch (error) {
      // A continued session keeps the claims of the previous process for the next attempt.
      if (old === undefined)
        await api.sessions
          .close(session.id, {}, { attempts: 1, deadlineMs: closeMsMax })
          .catch(() => undefined);
      throw error;
    }
  }

  private constructor(
    api: Api,
    startRun: StartRun,
    options: HarnessOptions,
    session: Session,
    grantedAt: Moment,
    resumable: OwnRun[],
  ) {
    this.#api = api;
    this.#startRun = startRun;
    this.#options = options;
    this.#resumable = resumable;
    this.session = session;
    this.signal = this.#lost.signal;
    const leaseSeconds = leaseSecondsOf(options);
    this.#heartbeat = new Heartbeat({
      leaseSeconds,
      grantedAt,
      beat: (ttlSeconds, deadlineMs) =>
        api.sessions.heartbeat(session.id, { ttlSeconds }, { deadlineMs, attempts: 1 }),
      lost: (reason, cause) => this.#loseSession(reason, cause),
    });
  }

  /**
   * Changes how long the session and its leases outlast this program, and requests that at once; for example before its
   * credential expires. Later leases have the length of the options.
   * @example
   * harness.setLeaseSeconds(600);
   */
  setLeaseSeconds(leaseSeconds: number): void {
    this.#heartbeat.setLeaseSeconds(leaseSeconds);
    for (const lease of this.#leases) lease.setLeaseSeconds(leaseSeconds);
  }

  /**
   * Takes one task after another and yields each with its lease. A lease that the loop body doesn't end is released.
   * While the service is unavailable, it waits until the session is lost.
   * @example
   * for await (const lease of harness.work({ once: true })) {
   *   await lease.checkpoint('started', { title: lease.task.title });
   *   await lease.succeed({ answer: 42 });
   * }
   * @throws BatonError when the session is lost or the service rejects a request
   */
  work(options: WorkOptions = {}): AsyncGenerator<Lease, void, undefined> {
    return this.#work(options, options.signal);
  }

  async *#work(
    options: WorkOptions,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Lease, void, undefined> {
    const idleMsMax = options.idleMs ?? 5_000;
    for (let idleMs = Math.min(firstIdleMs, idleMsMax); !this.#isOver(signal); ) {
      const taken = await this.#takenInTime(options, signal);
      if (taken instanceof Lease) {
        idleMs = Math.min(firstIdleMs, idleMsMax);
        try {
          // If the end of the loop was requested during the search, the task isn't returned.
          if (!this.#isOver(signal)) yield taken;
        } finally {
          await taken.takeBack('not_finished', closeMsMax);
        }
        if (options.task !== undefined && (!taken.isResumed || isTask(taken.task, options.task))) return;
        continue;
      }
      if (options.once && !this.#isOver(signal)) return;
      const waitMs = Math.max(idleMs * (0.5 + Math.random() / 2), Math.min(taken.askedMs, askedWaitMsMax));
      await sleep(waitMs, this.#either(signal)).catch(() => undefined);
      idleMs = Math.min(idleMs * 2, idleMsMax);
    }
    if (this.signal.aborted) throw this.signal.reason as BatonError;
  }

  /**
   * Works on several tasks at once, in several loops that each call `handle` for one task after another. If
   * `handle` throws, its run fails, and the other loops end after their tasks.
   * @example
   * await harness.workParallel(4, { once: true }, async (lease) => {
   *   await lease.succeed();
   * });
   * @throws the first failure, when all loops have ended
   */
  async workParallel(
    parallel: number,
    options: WorkOptions,
    handle: (lease: Lease) => Promise<void>,
  ): Promise<void> {
    const failed = new AbortController();
    const signal =
      options.signal === undefined ? failed.signal : AbortSignal.any([failed.signal, options.signal]);
    const loop = async () => {
      try {
        for await (const lease of this.#work(options, signal)) await handledOrFailed(lease, handle);
      } catch (error) {
        failed.abort(error);
      }
    };
    await Promise.all(Array.from({ length: parallel }, loop));
    if (failed.signal.aborted) throw failed.signal.reason;
  }

  /**
   * Releases every lease and closes the session. A second call waits for the first. If the service is unavailable,
   * session and leases expire.
   * @example
   * const own = await baton.harness.open({ name: 'short' });
   * await own.close();
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#closing.abort(new Error('the harness was closed'));
    await Promise.all([...this.#leases].map((lease) => lease.takeBack('not_finished', closeMsMax)));
    this.#heartbeat.stop();
    if (!this.signal.aborted)
      await this.#api.sessions
        .close(this.session.id, {}, { attempts: 2, deadlineMs: closeMsMax })
        .catch(unlessOver);
    await this.#options.store?.write('');
  }

  /** Like `#taken`, but returns at once if the loop should end; a claim that is granted later is released. */
  async #takenInTime(options: WorkOptions, signal: AbortSignal | undefined): Promise<Lease | Nothing> {
    const taking = this.#taken(options);
    try {
      return await unlessAborted(taking, this.#either(signal));
    } catch (error) {
      if (!this.#isOver(signal)) throw error;
      void taking
        .then((taken) => (taken instanceof Lease ? taken.takeBack('not_finished', closeMsMax) : undefined))
        .catch(() => undefined);
      return noWork;
    }
  }

  /** Returns the next lease, unless no work is available or the service is unavailable. */
  async #taken(options: WorkOptions): Promise<Lease | Nothing> {
    try {
      return (await this.#resumed()) ?? (await this.#next(options)) ?? noWork;
    } catch (error) {
      if (this.#closing.signal.aborted || this.signal.aborted) return noWork;
      if (!(error instanceof BatonError)) throw error;
      if (error.code === 'session_expired' || error.code === 'session_not_active') {
        this.#heartbeat.stop();
        this.#loseSession(error.message, error);
        return noWork;
      }
      if (!error.retryable || options.once) throw error;
      return { askedMs: error.retryAfterMs ?? 0 };
    }
  }

  /** Returns a lease that a previous process of this harness took. */
  async #resumed(): Promise<Lease | undefined> {
    for (let own = this.#resumable.shift(); own !== undefined; own = this.#resumable.shift()) {
      const grantedAt = LeaseClock.now();
      const ttlSeconds = leaseSecondsOf(this.#options);
      const call = this.#taking();
      try {
        const claim = await this.#api.claims
          .heartbeat(own.claimId, { ttlSeconds }, call)
          .catch(ignoreRefusal);
        if (claim === undefined) continue;
        const [task, run] = await Promise.all([
          this.#api.tasks.get(own.taskId, call),
          this.#api.runs.get(own.id, call),
        ]);
        if (run.status === 'running') return this.#leaseOf({ task, claim, run, grantedAt, isResumed: true });
        // The run has ended since the harness started. Its claim was just extended, so it would block the task for the
        // length of a lease.
        await this.#giveBack(claim, 'run_not_running');
      } catch (error) {
        this.#resumable.unshift(own);
        throw error;
      }
    }
    return undefined;
  }

  async #next(options: WorkOptions): Promise<Lease | undefined> {
    const found = await this.#claimed(options);
    if (found === undefined) return undefined;
    const { task, claim, grantedAt } = found;
    try {
      const { run = {} } = options;
      const settings = typeof run === 'function' ? run(task, claim) : run;
      const { id: claimId, fencingToken } = claim;
      const request = { ...settings, claimId, fencingToken };
      const started = await this.#startRun(task.id, request, this.#taking());
      const lease = this.#leaseOf({ task, claim, run: started, grantedAt, isResumed: false });
      // The lease may already have expired if the responses were late.
      return lease.isLive() ? lease : undefined;
    } catch (error) {
      await this.#giveBack(claim, 'run_not_started');
      if (isLoss(error) && !error.code.startsWith('session_')) return undefined;
      throw error;
    }
  }

  #claimed(options: WorkOptions): Promise<Claimed | undefined> {
    const { accepts, task } = options;
    if (task !== undefined) return this.#claimedByName(options, task);
    return accepts === undefined ? this.#claimedByService(options) : this.#claimedByChoice(options, accepts);
  }

  async #claimedByName({ intent = '' }: WorkOptions, ref: string): Promise<Claimed> {
    const call = this.#taking();
    const grantedAt = LeaseClock.now();
    const claim = await this.#api.tasks.claim(ref, this.#claimOf(intent), call);
    try {
      return { task: await this.#api.tasks.get(claim.taskId, call), claim, grantedAt };
    } catch (error) {
      await this.#giveBack(claim, 'task_not_read');
      throw error;
    }
  }

  async #claimedByService({ filter = {}, intent = '' }: WorkOptions): Promise<Claimed | undefined> {
    const grantedAt = LeaseClock.now();
    const request = { ...filter, ...this.#claimOf(intent), count: 1 };
    const { items } = await this.#api.work.claimNext(request, this.#taking());
    return items[0] && { ...items[0], grantedAt };
  }

  async #claimedByChoice(
    { filter = {}, intent = '' }: WorkOptions,
    accepts: (task: Task) => boolean,
  ): Promise<Claimed | undefined> {
    let looked = 0;
    const call = this.#taking();
    const available = this.#api.work.listAvailable({ ...withoutNulls(filter), limit: 100 }, call);
    for await (const task of available) {
      if (accepts(task)) {
        const grantedAt = LeaseClock.now();
        // In the meantime, another holder may have taken the task, or the task may have become blocked.
        const claim = await this.#api.tasks
          .claim(task.id, this.#claimOf(intent), call)
          .catch(undefinedIfTaken);
        if (claim !== undefined) return { task, claim, grantedAt };
      }
      looked += 1;
      if (looked >= choiceMax) return undefined;
    }
    return undefined;
  }

  /**
   * Options for calls that take work. Closing the harness aborts them, and a claim that is granted nevertheless ends
   * with its session.
   */
  #taking(): CallOptions {
    return { signal: this.#closing.signal };
  }

  #claimOf(intent: string): Pick<ClaimNextRequest, 'sessionId' | 'ttlSeconds' | 'intent'> {
    return { sessionId: this.session.id, ttlSeconds: leaseSecondsOf(this.#options), intent };
  }

  #leaseOf(
    parts: Pick<ConstructorParameters<typeof Lease>[0], 'task' | 'claim' | 'run' | 'grantedAt' | 'isResumed'>,
  ): Lease {
    const lease: Lease = new Lease({
      ...parts,
      api: this.#api,
      leaseSeconds: leaseSecondsOf(this.#options),
      isSessionLive: () => this.#heartbeat.isLive(),
      ended: (ended: Lease, _end: LeaseEnd) => this.#leases.delete(ended),
    });
    this.#leases.add(lease);
    return lease;
  }

  /** Releases a claim. If the service is unavailable, the lease expires instead. */
  #giveBack(claim: Claim, reason: string): Promise<unknown> {
    return this.#api.claims
      .release(claim.id, { reason }, { attempts: 2, deadlineMs: closeMsMax })
      .catch(() => undefined);
  }

  #loseSession(reason: string, cause: unknown): void {
    this.#lost.abort(
      new BatonError({ code: 'session_expired', message: `the session is lost: ${reason}`, cause }),
    );
    for (const lease of this.#leases) lease.lose('its session has ended', cause);
  }

  #isOver(signal: AbortSignal | undefined): boolean {
    return this.#closing.signal.aborted || !this.#heartbeat.isLive() || signal?.aborted === true;
  }

  #either(signal: AbortSignal | undefined): AbortSignal {
    const own = [this.signal, this.#closing.signal];
    return AbortSignal.any(signal === undefined ? own : [...own, signal]);
  }
}

/**
 * If the handler throws, the attempt has failed: if the task were released instead, it would be offered first again at
 * the next start.
 */
async function handledOrFailed(lease: Lease, handle: (lease: Lease) => Promise<void>): Promise<void> {
  try {
    await handle(lease);
  } catch (error) {
    if (lease.isLive())
      await lease
        .fail('handler_failed', undefined, { attempts: 2, deadlineMs: closeMsMax })
        .catch(() => undefined);
    throw error;
  }
}

function isTask({ id, publicId }: Task, ref: string): boolean {
  return [id, publicId].some((own) => own.toUpperCase() === ref.toUpperCase());
}

/** Ignores errors that mean that closing is impossible: the service is unavailable, or the caller has lost access. */
function unlessOver(error: unknown): void {
  const isOver =
    error instanceof BatonError &&
    (error.retryable || error.code === 'deadline_exceeded' || [401, 403].includes(error.status));
  if (!isOver) throw error;
}

/** If one task can't be taken now, the search continues. If the caller may not take any task, the search fails. */
function undefinedIfTaken(error: unknown): undefined {
  const isAboutTask = error instanceof BatonError && [404, 409, 422].includes(error.status);
  if (!isAboutTask || error.code.startsWith('session_')) throw error;
}

type Values<Given> = { [Name in keyof Given]: NonNullable<Given[Name]> };

function withoutNulls<Given extends object>(given: Given): Partial<Values<Given>> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)) as Partial<
    Values<Given>
  >;
}
