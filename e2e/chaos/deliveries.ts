import type { StoredEvent } from './journal-table.sql.ts';

/** The events of one consumer: duplicate ids are dropped and counted. */
export class Deliveries {
  readonly name: string;
  readonly tenantId: string;
  /** The filter of the consumer. */
  readonly wants: (event: Pick<StoredEvent, 'type'>) => boolean;
  /** Whether its source guarantees the journal's order. */
  readonly isOrdered: boolean;
  /** In the order of their first arrival. */
  readonly ids: string[] = [];
  /** Responses that no reader of an unbroken history should get. */
  readonly faults: string[] = [];
  duplicates = 0;
  /** Failed connections or reads of a page. */
  interruptions = 0;
  longestGapMs = 0;
  /** An event's position at its source, as a sortable string; it determines the order of unordered deliveries. */
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

  /** The ids in the order of their first arrival, or of their positions at the source. */
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
