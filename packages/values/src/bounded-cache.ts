/** Caches values that are costly to compute, up to a total weight; the oldest are evicted first. */
export class BoundedCache<Value> {
  readonly #kept = new Map<string, { value: Value; weight: number }>();
  readonly #weightMax: number;
  #weight = 0;

  /** @param weightMax the maximum weight of all values together, in the unit of `keep` */
  constructor(weightMax: number) {
    this.#weightMax = weightMax;
  }

  get(name: string): Value | undefined {
    return this.#kept.get(name)?.value;
  }

  /** A value that exceeds the total weight is not cached. */
  keep(name: string, value: Value, weight: number): void {
    this.#drop(name);
    if (weight > this.#weightMax) return;
    while (this.#weight + weight > this.#weightMax) this.#drop(this.#kept.keys().next().value as string);
    this.#kept.set(name, { value, weight });
    this.#weight += weight;
  }

  #drop(name: string): void {
    const { weight = 0 } = this.#kept.get(name) ?? {};
    if (this.#kept.delete(name)) this.#weight -= weight;
  }
}
