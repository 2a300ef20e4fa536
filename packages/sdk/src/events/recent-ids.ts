/** Remembers the last ids, as many as told. */
export class RecentIds {
  readonly #size: number;
  readonly #ids = new Set<string>();

  constructor(size: number) {
    this.#size = size;
  }

  /** @returns whether the id is none of those remembered */
  add(id: string): boolean {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    // A set gives its members in the order in which they came.
    if (this.#ids.size > this.#size) this.#ids.delete(this.#ids.values().next().value as string);
    return true;
  }
}
