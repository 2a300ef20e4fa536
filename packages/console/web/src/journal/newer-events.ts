import type { JournalEvent } from '@baton/sdk';

/** In milliseconds and events. */
export const newerBounds = {
  /** How long live events are batched: a busy tenant writes hundreds a second. */
  gatherMs: 250,
  /** If events were left out, the list is refetched after this time instead. */
  readAgainMs: 2_000,
  /**
   * The maximum number of batched events: one page of the list contains all of them. If there are more, the list is
   * refetched.
   */
  gatheredMax: 200,
};

/** How a list of events receives new ones. */
interface Shown {
  /**
   * Whether pages are being loaded. A query that finishes writes the pages that existed when it started, plus its own,
   * so events that were added in between would be lost.
   */
  isReading(): boolean;
  /** @param newer oldest first */
  show(newer: readonly JournalEvent[]): void;
  readAgain(): void;
}

/** Batches new events, and shows them once no running query can overwrite them. */
export class NewerEvents {
  readonly #shown: Shown;
  readonly #bounds: typeof newerBounds;
  #gathered: JournalEvent[] = [];
  #showTimer: ReturnType<typeof setTimeout> | undefined;
  #againTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(shown: Shown, bounds = newerBounds) {
    this.#shown = shown;
    this.#bounds = bounds;
  }

  add(event: JournalEvent): void {
    // Once events have been left out, newer ones aren't shown before the refetch: the ones left out would be missing in
    // between.
    if (this.#againTimer !== undefined) return;
    if (this.#gathered.length === this.#bounds.gatheredMax) return this.leftOut();
    this.#gathered.push(event);
    this.#showTimer ??= setTimeout(() => this.#show(), this.#bounds.gatherMs);
  }

  /** Some events were not added. */
  leftOut(): void {
    this.#againTimer ??= setTimeout(() => this.#readAgain(), this.#bounds.readAgainMs);
  }

  stop(): void {
    clearTimeout(this.#showTimer);
    clearTimeout(this.#againTimer);
  }

  #show(): void {
    this.#showTimer = undefined;
    if (this.#shown.isReading()) {
      this.#showTimer = setTimeout(() => this.#show(), this.#bounds.gatherMs);
      return;
    }
    this.#shown.show(this.#gathered);
    this.#gathered = [];
  }

  #readAgain(): void {
    this.#againTimer = undefined;
    // A running query is awaited, not cancelled. Under heavy traffic, a query of ten pages that takes longer than this
    // delay would otherwise never finish.
    if (this.#shown.isReading()) return this.leftOut();
    // The refetch includes the batched events. If they were added after it, they would appear above later ones that
    // were left out.
    this.#gathered = [];
    this.#shown.readAgain();
  }
}
