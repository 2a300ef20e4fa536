import type pg from 'pg';
import { BoundedClient } from './bounded-client.ts';
import { findWorkingProcesses, type WorkingProcessesRow } from './silence.sql.ts';

export interface SilenceOptions {
  /** The address of the server; a probe opens its own connection. */
  readonly probe: pg.ClientConfig;
  /** If a statement gets no response for this long, its connection is suspect. */
  readonly silentMsMax: number;
  onError(error: Error): void;
}

/** The timeout for opening the probe's connection, and again for its one response. */
const probeMsMax = 1500;
const looksPerSilence = 5;

/**
 * Removes connections from a pool whose packets are lost. A statement that waits for a lock is as silent as one that
 * the network dropped, so a query on a new connection determines whether the server is still working on the statement.
 * Without this, dead connections remain until a statement times out, which takes longer than the lock timeout.
 */
export class SilenceWatch {
  readonly #options: SilenceOptions;
  readonly #clients = new Set<BoundedClient>();
  /** The idle connections of the pool. */
  readonly #idle = new Set<BoundedClient>();
  readonly #timer: NodeJS.Timeout;
  #isProbing = false;
  #nextProbeAtMs = 0;

  constructor(pool: pg.Pool, options: SilenceOptions) {
    this.#options = options;
    pool.on('connect', (client) => {
      const opened = client as pg.Client as BoundedClient;
      this.#clients.add(opened);
      opened.once('end', () => {
        this.#clients.delete(opened);
        this.#idle.delete(opened);
      });
    });
    pool.on('acquire', (client) => this.#idle.delete(client as pg.Client as BoundedClient));
    pool.on('release', (_error, client) => this.#idle.add(client as pg.Client as BoundedClient));
    this.#timer = setInterval(() => void this.#look(), options.silentMsMax / looksPerSilence).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const now = performance.now();
    if (this.#isProbing || now < this.#nextProbeAtMs) return;
    const since = new Map<BoundedClient, number>();
    for (const client of this.#clients) {
      const sinceMs = client.silentSinceMs;
      if (sinceMs !== undefined && now - sinceMs > this.#options.silentMsMax) since.set(client, sinceMs);
    }
    if (since.size === 0) return;
    this.#isProbing = true;
    const working = await this.#workingAmong([...since.keys()].map(({ pid }) => pid));
    // Waits briefly, because a response may have arrived that the event loop has not read yet.
    await new Promise((done) => setTimeout(done, 10));
    const thrownOut = working === undefined ? 0 : this.#throwOut(since, working);
    // After a connection was lost, other silent connections are checked without delay, unless they only wait for a
    // lock.
    if (thrownOut === 0) this.#nextProbeAtMs = performance.now() + this.#options.silentMsMax;
    this.#isProbing = false;
  }

  /**
   * @returns undefined if it is unknown, because the server refuses the query or a pooler hides its processes
   */
  async #workingAmong(pids: readonly number[]): Promise<ReadonlySet<number> | undefined> {
    const client = new BoundedClient({
      ...this.#options.probe,
      connectionTimeoutMillis: probeMsMax,
      query_timeout: probeMsMax,
    });
    try {
      await client.connect();
      const { rows } = await (client as pg.Client).query<WorkingProcessesRow>(findWorkingProcesses, [pids]);
      const [row] = rows;
      return row?.self === client.pid ? new Set(row.working) : undefined;
    } catch (error) {
      // An error with a code of five characters comes from the server, so the server is reachable.
      return (error as { code?: string }).code?.length === 5 ? undefined : new Set();
    } finally {
      client.discard();
    }
  }

  /**
   * Also removes the idle connections that last received data before a dead connection became silent, because each
   * would cost one more timeout. @returns the number of dead connections
   */
  #throwOut(since: ReadonlyMap<BoundedClient, number>, working: ReadonlySet<number>): number {
    const dead = [...since].filter(
      ([client, sinceMs]) => client.silentSinceMs === sinceMs && !working.has(client.pid),
    );
    if (dead.length === 0) return 0;
    const fellSilentAtMs = Math.max(...dead.map(([, sinceMs]) => sinceMs));
    const stale = [...this.#idle].filter(({ heardAtMs }) => heardAtMs <= fellSilentAtMs);
    const connections = dead.length + stale.length;
    this.#options.onError(new Error(`${connections} connections are closed: the database does not respond`));
    for (const [client] of dead) client.discard();
    for (const client of stale) client.discard();
    return dead.length;
  }
}
