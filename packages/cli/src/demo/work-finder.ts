import type { CoordinationClient } from '../coordination-client.ts';
import type { Page, Task } from '../wire.ts';

const pageTasks = 64;
const pagesMax = 20;

/** Gives an agent one task after another from the pages of available work. */
export class WorkFinder {
  readonly #client: CoordinationClient;
  readonly #queueId: string;
  readonly #agentIndex: number;
  readonly #agentCount: number;
  #tasks: Task[] = [];

  /** @param agentIndex below `agentCount`: each agent starts with its own share, or all would want the first task */
  constructor(client: CoordinationClient, queueId: string, agentIndex: number, agentCount: number) {
    this.#client = client;
    this.#queueId = queueId;
    this.#agentIndex = agentIndex;
    this.#agentCount = agentCount;
  }

  /** A task that was available a moment ago, or undefined when there is none. The claim may still be refused. */
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
      const response: Page<Task> = await this.#client.call('GET', `/work/available?${query}`);
      if (response.items.length > 0 || response.nextCursor === null) return response.items;
      cursor = response.nextCursor;
    }
    return [];
  }

  #ownShare(page: readonly Task[]): Task[] {
    const own = page.filter(({ id }) => ownerOf(id, this.#agentCount) === this.#agentIndex);
    if (own.length > 0) return own;
    // None of its own share is left: it takes one of the others', at another place of the page than other agents.
    return page.length === 0 ? [] : [page[this.#agentIndex % page.length] as Task];
  }
}

/** The end of an id is random, so all agents get about as many tasks, and all agree on whose each is. */
function ownerOf(taskId: string, agentCount: number): number {
  return Number.parseInt(taskId.slice(-6), 16) % agentCount;
}
