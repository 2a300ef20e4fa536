import { isUnreachable, type Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import { newTraceHex } from '@baton/values/ids';
import { openMemory } from '../gateway/memory.ts';
import type { Settings } from '../settings.ts';
import {
  insertMissingConsumers,
  leaseDueTurns,
  renewLeases,
  skipToHead,
  type TurnRow,
} from './adapter-turns.sql.ts';
import { consumer, type DeliveryTools, deliverTurn, leaseSeconds, type TurnReport } from './delivery.ts';

export interface ContextAdapter {
  /**
   * Whether the memory service reports that it is healthy, checked at most every 5 s; undefined without a memory
   * service.
   */
  memoryIsAlive(): Promise<boolean | undefined>;
  /** Starts no further turns, waits up to 5 s for running ones, and releases their tenants. */
  close(): Promise<void>;
}

/** Less than a third of a lease. */
const renewEveryMs = 3000;
const stopMsMax = 5000;
/** The maximum number of new tenants, and of tenants that advance without a delivery, per statement. */
const tenantsPerStatementMax = 500;
const backoffMsMax = 30_000;
/** Short, because the database may recover at any moment, and a failed attempt costs it nothing. */
const unreachableMsMax = 1000;
/**
 * With 10,000 tenants and none due, one search took 0.1 s of database time. The pause is this multiple of the duration
 * of the last search, which limits the share of time spent on searches.
 */
const pausePerLook = 20;
const pauseMsMax = 30_000;
/** Minimum interval between searches for new tenants. */
const newTenantsEveryMs = 1000;
/** The maximum number of consecutive turns that one tenant gets while no other tenant is due. */
const turnsInARowMax = 50;
const aliveAgeMsMax = 5000;

interface UnderWay {
  readonly turn: TurnRow;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  /** The latest time, as measured by `performance.now()`, at which the lease was acquired or renewed. */
  keptAtMs: number;
}

/**
 * Delivers the journals of all tenants to the memory service: several tenants at once, each by one process at a time.
 * Any number of processes may run side by side. See docs/reference/memory.md#context-adapter.
 */
export function runContextAdapter(parts: { pool: Pool; settings: Settings; log: Logger }): ContextAdapter {
  const { pool, settings, log } = parts;
  const memory = openMemory(settings, `run_${newTraceHex()}`);
  const isOff = settings.CP_CONTEXT_PROVIDER === 'none';
  const pauseMs = settings.CP_CONTEXT_POLL_INTERVAL_SECONDS * 1000;
  const turns = new Turns({ pool, memory, settings }, log);
  const stop = new AbortController();
  const wake = new Wake(stop.signal);
  const renewing = setInterval(() => void turns.renew(), renewEveryMs);
  let alive: { readonly askedAtMs: number; readonly answer: Promise<boolean> } | undefined;
  const running = run();

  async function run(): Promise<void> {
    for (let failures = 0; !stop.signal.aborted; ) {
      let waitMs = pauseMs;
      try {
        const startedAtMs = performance.now();
        const isBusy = isOff ? await turns.skip() : await turns.begin(() => wake.up());
        const lookedMs = performance.now() - startedAtMs;
        failures = 0;
        waitMs = isBusy ? 0 : Math.max(pauseMs, Math.min(lookedMs * pausePerLook, pauseMsMax));
      } catch (error) {
        failures += 1;
        waitMs = isUnreachable(error)
          ? Math.min(pauseMs, unreachableMsMax)
          : Math.min(pauseMs * 2 ** failures, backoffMsMax);
        log.error({ err: error, failures, waitMs }, 'a cycle of the context adapter failed');
      }
      await wake.wait(waitMs);
    }
  }

  return {
    memoryIsAlive() {
      if (isOff) return Promise.resolve(undefined);
      const now = performance.now();
      if (alive === undefined || now - alive.askedAtMs > aliveAgeMsMax)
        alive = { askedAtMs: now, answer: memory.isAlive() };
      return alive.answer;
    },
    async close() {
      stop.abort();
      await running;
      await turns.end(stopMsMax);
      clearInterval(renewing);
    },
  };
}

/** The running turns of this process. */
class Turns {
  readonly #tools: DeliveryTools;
  readonly #log: Logger;
  readonly #underWay = new Map<string, UnderWay>();
  #tenantsReadAtMs = Number.NEGATIVE_INFINITY;
  /** Whether more tenants may be due than this process has free slots. */
  #othersWait = false;
  #isEnding = false;

  constructor(tools: DeliveryTools, log: Logger) {
    this.#tools = tools;
    this.#log = log;
  }

  /**
   * Starts turns of due tenants in all free slots.
   * @param freed runs when a slot becomes free and more tenants may be due
   * @returns whether more may be due at once
   */
  async begin(freed: () => void): Promise<boolean> {
    const { pool, settings } = this.#tools;
    const placesMax = settings.CP_CONTEXT_PARALLEL_TENANTS;
    await this.#insertMissing();
    const tenantsMax = Math.min(placesMax - this.#underWay.size, settings.CP_CONTEXT_MAX_TENANTS_PER_CYCLE);
    this.#othersWait = tenantsMax <= 0;
    if (this.#othersWait) return false;
    const failing = [...this.#underWay.values()].filter(({ turn }) => turn.is_failing).length;
    const failingMax = Math.max(0, Math.min(tenantsMax, Math.floor(placesMax / 2) - failing));
    const askedAtMs = performance.now();
    const due = await pool.rows(leaseDueTurns({ consumer, tenantsMax, failingMax, leaseSeconds }));
    this.#othersWait = due.length === tenantsMax;
    for (const turn of due) this.#start(turn, askedAtMs, freed);
    return this.#othersWait && this.#underWay.size < placesMax;
  }

  /** Advances tenants that have nothing to send. @returns whether more tenants may lag */
  async skip(): Promise<boolean> {
    await this.#insertMissing();
    return (
      (await this.#tools.pool.run(skipToHead(consumer, tenantsPerStatementMax))) === tenantsPerStatementMax
    );
  }

  async #insertMissing(): Promise<void> {
    const now = performance.now();
    if (now - this.#tenantsReadAtMs < newTenantsEveryMs) return;
    const inserted = await this.#tools.pool.run(insertMissingConsumers(consumer, tenantsPerStatementMax));
    if (inserted < tenantsPerStatementMax) this.#tenantsReadAtMs = now;
  }

  #start(turn: TurnRow, keptAtMs: number, freed: () => void): void {
    const stop = new AbortController();
    const ended = this.#serve(turn, stop.signal)
      .catch((error: unknown): TurnReport => {
        this.#log.error({ err: error, tenantId: turn.tenant_id }, 'a turn of a tenant failed');
        return { hasMore: false, next: undefined, failure: undefined };
      })
      .then(({ hasMore, failure }) => {
        this.#underWay.delete(turn.lease_id);
        if (failure !== undefined)
          this.#log.warn(
            { tenantId: turn.tenant_id, eventId: failure.eventId, reason: failure.reason },
            'a tenant is on hold: its events could not be delivered to the memory service',
          );
        if (hasMore || this.#othersWait) freed();
      });
    this.#underWay.set(turn.lease_id, { turn, stop, ended, keptAtMs });
  }

  /** Runs several consecutive turns of one tenant: while no other tenant is due, no new search is needed. */
  async #serve(first: TurnRow, signal: AbortSignal): Promise<TurnReport> {
    let turns = 0;
    const mayGoOn = () => turns < turnsInARowMax && !this.#othersWait && !this.#isEnding && !signal.aborted;
    for (let turn = first; ; ) {
      turns += 1;
      const report = await deliverTurn(this.#tools, turn, signal, mayGoOn);
      if (report.next === undefined) return report;
      turn = report.next;
    }
  }

  /**
   * Renews the leases of running turns. A turn stops if it lost its lease, or if the renewal failed and the lease would
   * expire before the next one. Must not throw.
   */
  async renew(): Promise<void> {
    const held = [...this.#underWay.values()];
    if (held.length === 0) return;
    const askedAtMs = performance.now();
    for (const one of held)
      if (askedAtMs - one.keptAtMs > leaseSeconds * 1000 - renewEveryMs) one.stop.abort();
    const turns = held.map(({ turn }) => turn);
    try {
      const rows = await this.#tools.pool.rows(renewLeases(consumer, turns, leaseSeconds));
      const kept = new Set(rows.map(({ lease_id: id }) => id));
      for (const one of held)
        if (kept.has(one.turn.lease_id)) one.keptAtMs = askedAtMs;
        else one.stop.abort();
    } catch (error) {
      this.#log.warn({ err: error }, 'the leases of the context adapter could not be renewed');
    }
  }

  /** Lets turns finish for a while, then aborts them. */
  async end(waitMsMax: number): Promise<void> {
    this.#isEnding = true;
    const all = Promise.all([...this.#underWay.values()].map(({ ended }) => ended));
    const late = setTimeout(() => {
      for (const { stop } of this.#underWay.values()) stop.abort();
    }, waitMsMax);
    await all;
    clearTimeout(late);
  }
}

/** A pause that a wake-up ends early, even one that arrived before the pause began. */
class Wake {
  readonly #stopped: AbortSignal;
  #isDue = false;
  #end: (() => void) | undefined;

  constructor(stopped: AbortSignal) {
    this.#stopped = stopped;
    stopped.addEventListener('abort', () => this.up());
  }

  up(): void {
    this.#isDue = true;
    this.#end?.();
  }

  /** Even a pause of 0 ms lets the process do other work in between. */
  async wait(ms: number): Promise<void> {
    if (!this.#isDue && !this.#stopped.aborted)
      await new Promise<void>((done) => {
        const timer = setTimeout(done, ms);
        this.#end = () => {
          clearTimeout(timer);
          done();
        };
      });
    this.#end = undefined;
    this.#isDue = false;
    await new Promise((done) => setImmediate(done));
  }
}
