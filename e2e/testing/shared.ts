/** The time for which an unused resource is kept for the next test file of this process. */
const idleMsMax = 10_000;

/**
 * An expensive resource that the test files of one process share. The first user starts it. When the last user returns
 * it, the last file of the process stops it at once; an earlier file stops it after `idleMsMax` without a user.
 */
export class Shared<Thing> {
  readonly #start: () => Promise<Thing>;
  readonly #stop: (thing: Thing) => Promise<void>;
  #thing: Promise<Thing> | undefined;
  #stopping: Promise<void> | undefined;
  #users = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(start: () => Promise<Thing>, stop: (thing: Thing) => Promise<void>) {
    this.#start = start;
    this.#stop = stop;
  }

  async take(): Promise<Thing> {
    clearTimeout(this.#timer);
    this.#users += 1;
    await this.#stopping;
    this.#thing ??= this.#start();
    try {
      return await this.#thing;
    } catch (error) {
      this.#users -= 1;
      this.#thing = undefined;
      throw error;
    }
  }

  async giveBack(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0) return;
    if (isLastFile()) await this.#end();
    else this.#timer = setTimeout(() => void this.#end(), idleMsMax);
  }

  async #end(): Promise<void> {
    const thing = this.#thing;
    this.#thing = undefined;
    if (thing !== undefined) this.#stopping = thing.then(this.#stop);
    await this.#stopping;
  }
}

/** `scripts/test-group.ts` runs several files in one process; its `argv` lists the current file, then all files. */
function isLastFile(): boolean {
  const [, present, ...files] = process.argv;
  return files.length === 0 || files.at(-1) === present;
}
