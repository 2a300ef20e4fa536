import type { StoredEvent } from './journal-table.sql.ts';

/** What one consumer was given, as it counts it: repeats by id are dropped, and counted. */
export class Deliveries {
  readonly name: string;
  readonly tenantId: string;
  /** Which events the consumer asked for. */
  readonly wants: (event: Pick<StoredEvent, 'type'>) => boolean;
  /** Whether its source promises the order of the journal. */
  readonly isOrdered: boolean;
  /** In the order in which they came first. */
  readonly ids: string[] = [];
  /** Answers that no reader of an unbroken history should get. */
  readonly faults: string[] = [];
  duplicates = 0;
  /** Connections, or tries of a page, that failed. */
  interruptions = 0;
  longestGapMs = 0;
  /** Where its source says that an event stands, as a text that sorts: what comes in no order is put into one. */
  readonly #places = new Map<string, string>();
  readonly #seen = new Set<string>();
  #lastAt: number | undefined;

  constructor(
    name: string,
    tenantId: string,
    options: { isOrdered?: boolean; wants?: Deliveries['wants'] } = {},
  ) {
    this.name = name;
    this.tenantId = tenantId;
    this.isOrdered = options.isOrdered ?? true;
    this.wants = options.wants ?? (() => true);
  }

  take(id: string, place?: string): void {
    const now = performance.now();
    this.longestGapMs = Math.max(this.longestGapMs, now - (this.#lastAt ?? now));
    this.#lastAt = now;
    if (this.#seen.has(id)) {
      this.duplicates += 1;
      return;
    }
    this.#seen.add(id);
    this.ids.push(id);
    if (place !== undefined) this.#places.set(id, place);
  }

  /** In the order in which they came first, or by what the source says of their places. */
  inOrder(): string[] {
    if (this.#places.size === 0) return this.ids;
    const placed = this.ids.map((id) => ({ id, place: this.#places.get(id) ?? '' }));
    return placed.sort((left, right) => (left.place < right.place ? -1 : 1)).map(({ id }) => id);
  }

  has(id: string): boolean {
    return this.#seen.has(id);
  }

  get count(): number {
    return this.ids.length;
  }

  fault(what: string): void {
    if (this.faults.length < 20) this.faults.push(what);
  }
}
