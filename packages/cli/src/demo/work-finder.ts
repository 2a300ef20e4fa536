import type { CoordinationClient } from '../coordination-client.ts';
import type { Page, Task } from '../wire.ts';

const pageTasks = 64;
const pagesMax = 20;

/** Hands an agent one task after the other from the pages of available work. */
export class WorkFinder {
  readonly #client: CoordinationClient;
  readonly #queueId: string;
  readonly #seat: number;
  readonly #seats: number;
  #tasks: Task[] = [];

  /** @param seat this agent's among `seats`: each begins with other tasks, or all would want the first one */
  constructor(client: CoordinationClient, queueId: string, seat: number, seats: number) {
    this.#client = client;
    this.#queueId = queueId;
    this.#seat = seat;
    this.#seats = seats;
  }

  /** A task that was free a moment ago, or undefined when there is none. Only the claim decides. */
  async next(): Promise<Task | undefined> {
    if (this.#tasks.length === 0) this.#tasks = this.#ownShare(await this.#readPage());
    return this.#tasks.shift();
  }

  async #readPage(): Promise<readonly Task[]> {
    let cursor: string | null = null;
    // A page may be empty although more follow.
    for (let page = 0; page < pagesMax; page += 1) {
      const query = new URLSearchParams({ assigneeId: this.#queueId, limit: String(pageTasks) });
      if (cursor !== null) query.set('cursor', cursor);
      const answer: Page<Task> = await this.#client.call('GET', `/work/available?${query}`);
      if (answer.items.length > 0 || answer.nextCursor === null) return answer.items;
      cursor = answer.nextCursor;
    }
    return [];
  }

  #ownShare(page: readonly Task[]): Task[] {
    const own = page.filter(({ id }) => seatOf(id, this.#seats) === this.#seat);
    if (own.length > 0) return own;
    // Nothing of its own is left: it helps the others, from another place of the page than its neighbours.
    return page.length === 0 ? [] : [page[this.#seat % page.length] as Task];
  }
}

/** The end of an id is random, so every seat gets as many tasks, and all agents agree on whose they are. */
function seatOf(taskId: string, seats: number): number {
  return Number.parseInt(taskId.slice(-6), 16) % seats;
}
