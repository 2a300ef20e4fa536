/** For the next file of this process to ask, when it is not known that there is one. */
const idleMsMax = 10_000;

/**
 * Something that is too dear for each test file and that the files of one process share: the first user starts it. When its
 * last user gives it back it is stopped at once in the last file of the process, and elsewhere when nobody asks for a while.
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

/** `scripts/test-group.ts`, which runs several files in one process, names all of them, and the present one first. */
function isLastFile(): boolean {
  const [, present, ...files] = process.argv;
  return files.length === 0 || files.at(-1) === present;
}
