import { BenchError } from '../bench-error.ts';
import type { ClaimFixture } from '../claim/fixture.ts';
import type { Agents } from './agents.ts';

/** One kind of call. */
export interface Workload {
  readonly name: string;
  /** The number of tasks that one call hands out or ends. */
  readonly itemsPerCall: number;
  /** Creates the data for calls of `ms` milliseconds. */
  prepare?(ms: number): Promise<void>;
  /** @returns false if no data is left for another call */
  call(agent: number): Promise<boolean>;
}

/** More than an agent can end in one second. */
const runsPerAgentSecond = 150;
const heldPerAgent = 20;

/** Ordered so that later workloads find their data: the tasks that are claimed by id are the newest. */
export function createWorkloads(agents: Agents, fixture: ClaimFixture): Workload[] {
  const expect = async (status: Promise<number>, wanted: number) => {
    const got = await status;
    if (got !== wanted) throw new BenchError(`A call got ${got} instead of ${wanted}.`);
    return true;
  };
  const post = (agent: number, path: string, body: object, wanted = 200) =>
    expect(agents.send(agent, 'POST', path, body), wanted);
  const get = (agent: number, path: string) => expect(agents.send(agent, 'GET', path), 200);
  const session = (agent: number) => ({ sessionId: agents.sessionOf(agent) });
  const forEach = <T>(make: (agent: number) => Promise<T>) =>
    Promise.all(Array.from({ length: agents.count }, (_, agent) => make(agent)));
  const claims = new Map<number, { id: string }[]>();
  const runs = new Map<number, string[]>();
  const turn = new Map<number, number>();
  const next = (agent: number) => turn.set(agent, (turn.get(agent) ?? 0) + 1).get(agent) as number;

  const claimNext = (count: number): Workload => ({
    name: `claim-next of ${count}`,
    itemsPerCall: count,
    call: (agent) => post(agent, '/work:claim-next', { ...session(agent), count }),
  });
  const search = (name: string, q: string): Workload => ({
    name: `list by ${name}`,
    itemsPerCall: 0,
    call: (agent) => get(agent, `/tasks?q=${encodeURIComponent(q)}`),
  });
  const startRuns = async (agent: number, count: number) => {
    const made: string[] = [];
    while (made.length < count) {
      const { items } = await agents.ask(agent, '/work:claim-next', { ...session(agent), count: 50 });
      if (items.length === 0) throw new BenchError('All tasks were claimed: raise --tasks.');
      for (const { task, claim } of items) {
        const given = { claimId: claim.id, fencingToken: claim.fencingToken };
        made.push((await agents.ask(agent, `/tasks/${task.id}:start-run`, given)).id);
      }
    }
    runs.set(agent, made);
  };
  return [
    {
      name: 'claim',
      itemsPerCall: 1,
      call: (agent) => post(agent, `/tasks/${fixture.nextTaskId()}:claim`, session(agent)),
    },
    claimNext(1),
    claimNext(10),
    claimNext(100),
    { name: 'available work', itemsPerCall: 0, call: (agent) => get(agent, '/work/available') },
    { name: 'list by filter', itemsPerCall: 0, call: (agent) => get(agent, '/tasks?priority=medium') },
    { name: 'list by text', itemsPerCall: 0, call: (agent) => get(agent, '/tasks?q=topic7%20customer7') },
    search('text of few', 'xylophone'),
    search('text of all', 'customer'),
    search('text of all and few', 'customer xylophone'),
    search('one letter', 'e'),
    search('ten letters', 'c u s t o m e r 7 8'),
    search('ten digits', '0 1 2 3 4 5 6 7 8 9'),
    search('text of none', 'absent'),
    {
      name: 'heartbeat',
      itemsPerCall: 0,
      prepare: async () => {
        await forEach(async (agent) => {
          const { items } = await agents.ask(agent, '/work:claim-next', {
            ...session(agent),
            count: heldPerAgent,
          });
          claims.set(
            agent,
            items.map(({ claim }: { claim: { id: string } }) => claim),
          );
        });
      },
      call(agent) {
        const held = claims.get(agent) ?? [];
        return post(agent, `/claims/${held[next(agent) % held.length]?.id}:heartbeat`, {});
      },
    },
    {
      name: 'checkpoint',
      itemsPerCall: 0,
      prepare: async () => void (await forEach((agent) => startRuns(agent, 1))),
      call: (agent) =>
        post(
          agent,
          `/runs/${runs.get(agent)?.[0]}/checkpoints`,
          { kind: 'step', data: { at: next(agent) } },
          201,
        ),
    },
    {
      name: 'succeed',
      itemsPerCall: 1,
      prepare: async (ms) =>
        void (await forEach((agent) => startRuns(agent, Math.ceil((1.5 * ms * runsPerAgentSecond) / 1000)))),
      async call(agent) {
        const run = runs.get(agent)?.pop();
        return run === undefined ? false : post(agent, `/runs/${run}:succeed`, {});
      },
    },
  ];
}
