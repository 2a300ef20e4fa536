import { type BatonClient, BatonError, type Harness, type Lease, type WorkOptions } from '@baton/sdk';
import { type ClientInfo, clientInfoIn } from './client-info.ts';

/** How many leases one client may hold at a time. */
export const leasesMax = 8;

/** How long the workspace of the agent's revision is cached. */
const workspaceMsMax = 60_000;

/** How many ended leases are remembered, to report how they ended. */
const rememberedMax = 50;

export interface WorkplaceOptions {
  readonly version: string;
  readonly leaseSeconds: number;
  /** The client's machine, if the server runs on it. */
  readonly hostname?: string;
}

/** A lease that this client never held or that has ended. The message describes what the agent must do. */
export class NotHeldError extends Error {
  override readonly name = 'NotHeldError';
}

interface Held {
  readonly lease: Lease;
  /**
   * The loop through the harness's leases. The harness yields one lease at a time; continuing the loop would release
   * this one.
   */
  readonly loop: AsyncGenerator<Lease, void, undefined>;
  usedAtMs: number;
}

/**
 * The work of one client: a session in Baton, opened when an agent connects or with the first task, and its leases. The
 * session and every lease are kept alive until `close`; those of a killed process expire.
 */
export class Workplace {
  readonly #baton: BatonClient;
  readonly #options: WorkplaceOptions;
  readonly #held = new Map<string, Held>();
  readonly #ended = new Map<string, string>();
  #harness: Promise<Harness> | undefined;
  #client: ClientInfo | undefined;
  #workspace: { readonly id: string | undefined; readonly readAtMs: number } | undefined;
  /** Claims in progress. */
  #taking = 0;
  #isClosed = false;

  constructor(baton: BatonClient, options: WorkplaceOptions) {
    this.#baton = baton;
    this.#options = options;
  }

  /** The number of live leases. */
  get size(): number {
    this.#forgetEnded();
    return this.#held.size;
  }

  /** Reads the client's name from its messages. @returns whether it was not known before */
  hear(message: object | undefined): boolean {
    if (this.#client !== undefined) return false;
    this.#client = clientInfoIn(message);
    return this.#client !== undefined;
  }

  /** Opens the session before the first task, so that people see that this client is connected, and its name. */
  announce(): void {
    // If this fails, the first task opens the session, and reports why it can't.
    this.#open().catch(() => undefined);
  }

  /**
   * The workspace that the agent's current revision names; undefined if it names none, and for principals other than
   * registered agents.
   */
  async findWorkspace(signal: AbortSignal): Promise<string | undefined> {
    const now = performance.now();
    if (this.#workspace === undefined || now - this.#workspace.readAtMs > workspaceMsMax) {
      const own = await this.#baton.agents.getOwn({ signal }).catch((error: unknown) => {
        if (error instanceof BatonError && error.status === 404) return undefined;
        throw error;
      });
      this.#workspace = { id: own?.workspaceId ?? undefined, readAtMs: now };
    }
    return this.#workspace.id;
  }

  /**
   * Takes the next task. @returns undefined when there is none
   * @throws NotHeldError when the limit of leases is reached
   */
  async take(work: WorkOptions): Promise<Lease | undefined> {
    if (this.size + this.#taking >= leasesMax)
      throw new NotHeldError(
        `You already hold ${leasesMax} tasks, which is the maximum: end one with work_done or work_blocked first.`,
      );
    this.#taking += 1;
    try {
      const harness = await this.#open();
      const loop = harness.work(work);
      const { value: lease } = await loop.next();
      if (!lease) return undefined;
      this.#held.set(lease.claim.id, { lease, loop, usedAtMs: performance.now() });
      // The client may have disconnected in the meantime.
      if (this.#isClosed) await lease.release('mcp_client_gone');
      return lease;
    } finally {
      this.#taking -= 1;
    }
  }

  /** The live lease of this client on a task. @param ref its id, or its public id, such as TASK-000042 */
  findByTask(ref: string): Lease | undefined {
    const wanted = ref.toLowerCase();
    const held = [...this.#held.values()].find(
      ({ lease }) => lease.isLive() && [lease.task.id, lease.task.publicId.toLowerCase()].includes(wanted),
    );
    if (held !== undefined) held.usedAtMs = performance.now();
    return held?.lease;
  }

  /** A lease that is certainly live, found by its id. @throws NotHeldError */
  find(id: string): Lease {
    const held = this.#held.get(id);
    if (held?.lease.isLive()) {
      held.usedAtMs = performance.now();
      return held.lease;
    }
    this.#forgetEnded();
    const ended = this.#ended.get(id);
    throw new NotHeldError(
      ended ??
        `You don't hold the lease ${id}: stop working on its task, and write nothing more for it. work_next gives you other work.`,
    );
  }

  /** Has the effect of a call that refers to every lease: none of them becomes idle. */
  touch(): void {
    const now = performance.now();
    for (const held of this.#held.values()) held.usedAtMs = now;
  }

  /** Changes how long the session and its leases last without a renewal. */
  async setLeaseSeconds(leaseSeconds: number): Promise<void> {
    const harness = await this.#harness?.catch(() => undefined);
    harness?.setLeaseSeconds(leaseSeconds);
  }

  /** Releases the leases that no call has referred to for `idleMs`. */
  async releaseIdle(idleMs: number): Promise<void> {
    const since = performance.now() - idleMs;
    const idle = [...this.#held.values()].filter(({ usedAtMs }) => usedAtMs < since);
    await Promise.allSettled(
      idle.map(({ lease }) => lease.release('mcp_client_idle', { attempts: 2, deadlineMs: 10_000 })),
    );
    this.#forgetEnded();
  }

  /** Releases every lease and closes the session. A second call does nothing. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const harness = this.#harness;
    this.#harness = undefined;
    await (await harness?.catch(() => undefined))?.close();
  }

  async #open(): Promise<Harness> {
    const held = this.#harness;
    const before = await held?.catch(() => undefined);
    // While this call waited, another one started to open a session.
    if (this.#harness !== held) return this.#open();
    if (before !== undefined && !before.signal.aborted) return before;
    if (this.#isClosed) throw new NotHeldError('This server is closing: no more work is taken.');
    this.#harness = this.#opening();
    return this.#harness;
  }

  #opening(): Promise<Harness> {
    const { version, leaseSeconds, hostname } = this.#options;
    return this.#baton.harness.open({
      ...(this.#client ?? { name: 'baton mcp', version }),
      type: 'baton-mcp',
      harnessVersion: version,
      leaseSeconds,
      ...(hostname !== undefined && { hostname }),
    });
  }

  #forgetEnded(): void {
    for (const [id, { lease, loop }] of this.#held) {
      if (lease.isLive()) continue;
      this.#held.delete(id);
      void loop.return();
      this.#ended.set(id, sentenceOf(lease));
      const [oldest] = this.#ended.keys();
      if (this.#ended.size > rememberedMax && oldest !== undefined) this.#ended.delete(oldest);
    }
  }
}

function sentenceOf({ task, end }: Lease): string {
  if (end === 'lost')
    return `You have lost the lease on ${task.publicId}: another agent may be working on it. Stop working on it now, write nothing more for it, and don't try this call again. work_next gives you other work.`;
  return `Your work on ${task.publicId} has already ended (${end}): write nothing more for it. work_next gives you other work.`;
}
