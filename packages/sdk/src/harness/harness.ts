import type { Api } from '../client.ts';
import { BatonError } from '../errors.ts';
import type {
  Claim,
  ClaimNextRequest,
  HarnessContext,
  OwnRun,
  Session,
  SessionRequest,
  Task,
} from '../generated/coordination-types.ts';
import type { Store } from '../store.ts';
import { sleep } from '../waiting.ts';
import { Heartbeat } from './heartbeat.ts';
import { Lease, type LeaseEnd, type RunSettings } from './lease.ts';
import { LeaseClock, type Moment } from './lease-clock.ts';

export interface HarnessOptions {
  /** What people see as the client's name; 1 to 200 characters. */
  readonly name: string;
  readonly version?: string;
  /** The kind of harness, as `my-agent`: lower case letters, digits, `.`, `_` and `-`; `baton-sdk` without it. */
  readonly type?: string;
  /** What the harness can do beside the runtime's own `resume` and `checkpoints`. */
  readonly capabilities?: readonly string[];
  /** How long session and leases last without a heartbeat, 10 to 3,600 seconds; 60 without it. */
  readonly leaseSeconds?: number;
  /** Where the session's id is kept, so that the next start of the same program continues the work of this one. */
  readonly store?: Store;
  /** The person for whom the harness works, by a delegation. */
  readonly onBehalfOf?: string;
  /** Shown with the session: anything that helps people to know which process this is. */
  readonly metadata?: Record<string, unknown>;
}

/** Which work is taken, and how. */
export interface WorkOptions {
  readonly filter?: Pick<
    ClaimNextRequest,
    'workspaceId' | 'includeDescendants' | 'projectId' | 'includeSubprojects' | 'assigneeId' | 'assignedToMe'
  >;
  /**
   * Chooses among what is available: the most urgent task that it accepts is taken, of the first 500. Without it the
   * service chooses, which costs one call instead of three.
   */
  readonly accepts?: (task: Task) => boolean;
  /** Shown with the claim; up to 500 characters. */
  readonly intent?: string;
  /** Budgets and metadata of the runs. */
  readonly run?: RunSettings;
  /** Ends the loop after the task in hand. */
  readonly signal?: AbortSignal;
  /** Ends the loop when there is no work, instead of waiting for some. */
  readonly once?: boolean;
  /** Milliseconds between two looks for work at most; 5,000 without it. They begin with 250. */
  readonly idleMs?: number;
}

const firstIdleMs = 250;
const closeMsMax = 10_000;
/** Tasks that are looked at for one that is accepted. */
const choiceMax = 500;

interface Claimed {
  readonly task: Task;
  readonly claim: Claim;
  readonly grantedAt: Moment;
}

/**
 * One session of this program at coordination. It keeps the session and every lease alive, and ends them when it is
 * closed.
 */
export class Harness implements AsyncDisposable {
  /** The session, as it was opened. */
  readonly session: Session;
  /** Aborted when the session is lost; every lease is lost with it. */
  readonly signal: AbortSignal;
  readonly #api: Api;
  readonly #options: HarnessOptions;
  readonly #heartbeat: Heartbeat;
  readonly #lost = new AbortController();
  readonly #leases = new Set<Lease>();
  /** What a process before this one held and still holds. */
  readonly #resumable: OwnRun[];
  #isClosed = false;

  /**
   * Opens a session, or continues the one that the store names. Runs that nobody holds any more are ended with the
   * reason `restart_recovery`; those whose lease lives come first out of `work()`.
   * @throws BatonError `permission_denied` without `sessions.open`
   */
  static async open(api: Api, options: HarnessOptions): Promise<Harness> {
    const before = await options.store?.read();
    const grantedAt = LeaseClock.now();
    const session =
      (before && (await continued(api, before, leaseSecondsOf(options)))) || (await opened(api, options));
    await options.store?.write(session.id);
    const context = await api.harness.getContext({ sessionId: session.id });
    if (!context.permissions.includes('task_types.read')) {
      await api.sessions.close(session.id).catch(() => undefined);
      throw new TypeError(
        'a harness needs the permission task_types.read: it must know the rules of what it takes',
      );
    }
    return new Harness(api, options, session, grantedAt, await endOrphans(api, context, session.id));
  }

  private constructor(
    api: Api,
    options: HarnessOptions,
    session: Session,
    grantedAt: Moment,
    resumable: OwnRun[],
  ) {
    this.#api = api;
    this.#options = options;
    this.#resumable = resumable;
    this.session = session;
    this.signal = this.#lost.signal;
    const leaseSeconds = leaseSecondsOf(options);
    this.#heartbeat = new Heartbeat({
      leaseSeconds,
      grantedAt,
      beat: (deadlineMs) =>
        api.sessions.heartbeat(session.id, { ttlSeconds: leaseSeconds }, { deadlineMs, attempts: 1 }),
      lost: (reason, cause) => {
        this.#lost.abort(
          new BatonError({ code: 'session_expired', message: `the session is lost: ${reason}`, cause }),
        );
        for (const lease of this.#leases) lease.lose('its session is over', cause);
      },
    });
  }

  /**
   * Takes one task after another and gives each with its lease. What the loop leaves without an end is released. While the
   * service is away it waits, until the session is lost.
   * @throws BatonError when the session is lost, or what the service refuses
   */
  async *work(options: WorkOptions = {}): AsyncGenerator<Lease, void, undefined> {
    for (let idleMs = firstIdleMs; !this.#isOver(options.signal); ) {
      const lease = await this.#taken(options);
      if (lease === undefined) {
        if (options.once) return;
        const isWoken = await sleep(idleMs * (0.5 + Math.random() / 2), this.#either(options.signal)).catch(
          () => true,
        );
        if (isWoken === true) continue;
        idleMs = Math.min(idleMs * 2, options.idleMs ?? 5_000);
        continue;
      }
      idleMs = firstIdleMs;
      try {
        yield lease;
      } finally {
        await this.#leave(lease);
      }
    }
    if (this.signal.aborted) throw this.signal.reason as BatonError;
  }

  /** Works on several tasks at once: as many loops as told, each calling `handle` for one task after another. */
  async workParallel(
    parallel: number,
    options: WorkOptions,
    handle: (lease: Lease) => Promise<void>,
  ): Promise<void> {
    const loop = async () => {
      for await (const lease of this.work(options)) await handle(lease);
    };
    await Promise.all(Array.from({ length: parallel }, loop));
  }

  /**
   * Releases every lease and closes the session. A second call does nothing. Where the service is away, session and leases
   * end by themselves.
   */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.all([...this.#leases].map((lease) => this.#leave(lease)));
    this.#heartbeat.stop();
    if (!this.signal.aborted)
      await this.#api.sessions
        .close(this.session.id, {}, { attempts: 2, deadlineMs: closeMsMax })
        .catch(unlessOver);
    await this.#options.store?.write('');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The next lease; undefined where there is no work, or the service is away. */
  async #taken(options: WorkOptions): Promise<Lease | undefined> {
    try {
      return (await this.#resumed()) ?? (await this.#next(options));
    } catch (error) {
      if (error instanceof BatonError && error.retryable && !options.once) return undefined;
      throw error;
    }
  }

  /** A lease that this harness holds since before its start. */
  async #resumed(): Promise<Lease | undefined> {
    for (let own = this.#resumable.shift(); own !== undefined; own = this.#resumable.shift()) {
      const grantedAt = LeaseClock.now();
      const ttlSeconds = leaseSecondsOf(this.#options);
      try {
        const claim = await this.#api.claims.heartbeat(own.claimId, { ttlSeconds }).catch(undefinedIfRefused);
        if (claim === undefined) continue;
        const [task, run] = await Promise.all([this.#api.tasks.get(own.taskId), this.#api.runs.get(own.id)]);
        return this.#leaseOf({ task, claim, run, grantedAt, isResumed: true });
      } catch (error) {
        this.#resumable.unshift(own);
        throw error;
      }
    }
    return undefined;
  }

  async #next(options: WorkOptions): Promise<Lease | undefined> {
    const found = await (options.accepts === undefined
      ? this.#claimedByService(options)
      : this.#claimedByChoice(options, options.accepts));
    if (found === undefined) return undefined;
    const { task, claim, grantedAt } = found;
    const { run = {} } = options;
    try {
      const { id: claimId, fencingToken } = claim;
      const started = await this.#api.tasks.startRun(task.id, { ...run, claimId, fencingToken });
      return this.#leaseOf({ task, claim, run: started, grantedAt, isResumed: false });
    } catch (error) {
      await this.#giveBack(claim);
      throw error;
    }
  }

  async #claimedByService({ filter = {}, intent = '' }: WorkOptions): Promise<Claimed | undefined> {
    const grantedAt = LeaseClock.now();
    const { items } = await this.#api.work.claimNext({ ...filter, ...this.#claimOf(intent), count: 1 });
    return items[0] && { ...items[0], grantedAt };
  }

  async #claimedByChoice(
    { filter = {}, intent = '' }: WorkOptions,
    accepts: (task: Task) => boolean,
  ): Promise<Claimed | undefined> {
    let looked = 0;
    const available = this.#api.work.listAvailable({ ...withoutNulls(filter), limit: 100 });
    for await (const task of available) {
      if (accepts(task)) {
        const grantedAt = LeaseClock.now();
        // Somebody else may have taken it meanwhile, or what it waits for has changed.
        const claim = await this.#api.tasks.claim(task.id, this.#claimOf(intent)).catch(undefinedIfTaken);
        if (claim !== undefined) return { task, claim, grantedAt };
      }
      looked += 1;
      if (looked >= choiceMax) return undefined;
    }
    return undefined;
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

  #giveBack(claim: Claim): Promise<unknown> {
    return this.#api.claims.release(claim.id, { reason: 'run_not_started' }).catch(() => undefined);
  }

  /** What was not ended is given back; a service that is away at that moment lets the lease run out. */
  async #leave(lease: Lease): Promise<void> {
    await lease
      .release('not_finished', { attempts: 2, deadlineMs: closeMsMax })
      .catch(() => lease.lose('it was left'));
  }

  #isOver(signal: AbortSignal | undefined): boolean {
    return this.#isClosed || !this.#heartbeat.isLive() || signal?.aborted === true;
  }

  #either(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.signal : AbortSignal.any([this.signal, signal]);
  }
}

function leaseSecondsOf({ leaseSeconds = 60 }: HarnessOptions): number {
  return leaseSeconds;
}

/** The session of the process before this one, if it still lives. */
async function continued(api: Api, sessionId: string, ttlSeconds: number): Promise<Session | undefined> {
  return api.sessions.heartbeat(sessionId, { ttlSeconds }).catch(undefinedIfRefused);
}

function opened(api: Api, options: HarnessOptions): Promise<Session> {
  const { name, version = '', type = 'baton-sdk', capabilities = [], onBehalfOf, metadata = {} } = options;
  const request: SessionRequest = {
    clientName: name,
    clientVersion: version,
    metadata,
    ttlSeconds: leaseSecondsOf(options),
    harness: {
      type,
      version,
      protocolVersion: '2',
      capabilities: ['resume', 'checkpoints', ...capabilities],
    },
    ...(onBehalfOf !== undefined && { onBehalfOf }),
  };
  return api.sessions.open(request);
}

/** Ends runs of this principal that no live claim protects. @returns those of this session whose claim lives */
async function endOrphans(api: Api, context: HarnessContext, sessionId: string): Promise<OwnRun[]> {
  const live = new Set(context.activeClaims.map(({ id }) => id));
  const orphans = context.activeRuns.filter(({ claimId }) => !live.has(claimId));
  for (const { id } of orphans)
    await api.runs.fail(id, { failureReason: 'restart_recovery' }).catch(undefinedIfRefused);
  return context.activeRuns.filter((run) => live.has(run.claimId) && run.sessionId === sessionId);
}

function undefinedIfRefused(error: unknown): undefined {
  if (error instanceof BatonError && [403, 404, 409].includes(error.status)) return undefined;
  throw error;
}

/** While the service is away nothing can be closed; for who may not enter any more nothing is left to close. */
function unlessOver(error: unknown): void {
  const isOver =
    error instanceof BatonError &&
    (error.retryable || error.code === 'deadline_exceeded' || [401, 403].includes(error.status));
  if (!isOver) throw error;
}

/** A task that can't be taken now is no failure of the search. What says that this harness may take nothing is one. */
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
