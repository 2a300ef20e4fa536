/** Remembers a limited number of the most recent ids. */
export class RecentIds {
  readonly #size: number;
  readonly #ids = new Set<string>();

  constructor(size: number) {
    this.#size = size;
  }

  /** @returns whether the id is new */
  add(id: string): boolean {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    // A set keeps the order of insertion.
    if (this.#ids.size > this.#size) this.#ids.delete(this.#ids.values().next().value as string);
    return true;
  }
}
