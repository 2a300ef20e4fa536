import type { JournalEvent } from '@baton/sdk';

/** In milliseconds and events. */
export const newerBounds = {
  /** Live events are gathered for so long: a busy tenant writes hundreds a second. */
  gatherMs: 250,
  /** Where more comes than the page is told of, it is read again instead, this much later. */
  readAgainMs: 2_000,
  /** As many as a page has: so what happened before a page was read stands on it. With more, it is read again. */
  gatheredMax: 200,
};

/** What a list of events does with those that come while it is shown. */
interface Shown {
  /** Whether pages are being read: at its end a reading writes the pages that were there when it began, and its own. */
  isReading(): boolean;
  /** @param newer oldest first */
  show(newer: readonly JournalEvent[]): void;
  readAgain(): void;
}

/** Gathers events that have just happened, and shows them when no reading would write over them. */
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
    // What was left out would be missing between the events that are shown.
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
    // A reading that is under way ends first: in a flood, one of ten pages that takes longer than this would never end.
    if (this.#shown.isReading()) return this.leftOut();
    // They have happened before it. Put in after it, they would stand above the later ones that were left out.
    this.#gathered = [];
    this.#shown.readAgain();
  }
}
