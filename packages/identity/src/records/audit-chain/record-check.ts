import type { AuditKey } from './audit-key.ts';
import { recordMac } from './record-mac.ts';
import type { ContentRow } from './seal.ts';

/**
 * How far the clocks of the database and the processes may differ, and by how much a record may be older than one
 * before it. A transaction takes seconds; the rest allows for differences between clocks.
 */
const clockMinutesMax = 5;
const clockMsMax = clockMinutesMax * 60_000;
/**
 * How long the ids of records are kept, to detect copies: two copies of a record are at most twice `clockMsMax` apart,
 * unless one of them is out of order, which is a fault in itself.
 */
const idsKeptMs = 3 * clockMsMax;
const minuteMs = 60_000;

/** A line of the content of a range: see `findContents`. */
type Line = [
  sequence: number,
  id: string,
  tenantId: string,
  action: string,
  actor: string,
  resourceType: string,
  resourceId: string,
  outcome: 'allowed' | 'denied',
  reason: string,
  requestId: string,
  occurredMs: number,
];

/** Checks the writer and the time of each record of a tenant, in order. */
export class RecordCheck {
  readonly #keys: readonly AuditKey[];
  readonly #unprovenThrough: number;
  #newestMs = Number.NEGATIVE_INFINITY;
  /** The ids of records, grouped by the minute in which they were written. */
  readonly #ids = new Map<number, Set<string>>();

  /**
   * @param unprovenThrough records up to this number may lack an HMAC
   */
  constructor(keys: readonly AuditKey[], unprovenThrough: number) {
    this.#keys = keys;
    this.#unprovenThrough = unprovenThrough;
  }

  /** One sentence per faulty record, and the number of the last record. */
  check({ content, proofs }: ContentRow): { problems: string[]; last: number } {
    const problems: string[] = [];
    let last = 0;
    if (content === '') return { problems, last };
    const proofLines = proofs.split('\n');
    for (const [index, text] of content.split('\n').entries()) {
      const line = JSON.parse(text) as Line;
      const problem = this.#problem(line, proofLines[index] ?? '');
      if (problem !== undefined)
        problems.push(`record ${line[0]} (${new Date(line[10]).toISOString()}) ${problem}`);
      last = line[0];
    }
    return { problems, last };
  }

  #problem(line: Line, proof: string): string | undefined {
    const [writtenText = '', mac = ''] = proof.split(':');
    if (mac === '') return line[0] <= this.#unprovenThrough ? undefined : 'has no HMAC';
    const writtenMs = Number(writtenText);
    if (!this.#isGenuine(line, writtenMs, mac)) return 'is not as a process with one of these keys wrote it';
    const [, id] = line;
    const occurredMs = line[10];
    if (Math.abs(occurredMs - writtenMs) > clockMsMax)
      return `was written at another time, ${new Date(writtenMs).toISOString()}`;
    if (occurredMs < this.#newestMs - clockMsMax) return 'is older than records before it';
    this.#newestMs = Math.max(this.#newestMs, occurredMs);
    return this.#isKnown(id, writtenMs) ? 'is a copy of another one' : undefined;
  }

  #isGenuine(line: Line, writtenMs: number, mac: string): boolean {
    const [, id, tenant_id, action, actor_ref, resource_type, resource_id, outcome, reason, request_id] =
      line;
    const record = { id, tenant_id, actor_ref, resource_type, resource_id, outcome, reason, request_id };
    // Any string may be in the database here, but only one that a process wrote has a valid HMAC.
    const authenticated = { ...record, action: action as Parameters<typeof recordMac>[1]['action'] };
    return this.#keys.some((key) => recordMac(key, authenticated, writtenMs) === mac);
  }

  #isKnown(id: string, writtenMs: number): boolean {
    const minute = Math.floor(writtenMs / minuteMs);
    let ids = this.#ids.get(minute);
    if (ids === undefined) {
      ids = new Set();
      this.#ids.set(minute, ids);
      for (const other of this.#ids.keys())
        if (other * minuteMs < this.#newestMs - idsKeptMs) this.#ids.delete(other);
    }
    if (ids.has(id)) return true;
    ids.add(id);
    return false;
  }
}
