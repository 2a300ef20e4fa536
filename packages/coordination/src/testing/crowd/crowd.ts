import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Counted } from './frame-counter.ts';

/** Sockets with the same options. */
export interface CrowdMember {
  readonly path: string;
  readonly token: string;
  readonly sockets: number;
}

export type Order = { readonly id: number } & (
  | { readonly do: 'open'; readonly port: number; readonly members: readonly CrowdMember[] }
  | { readonly do: 'expect'; readonly count: number }
  | { readonly do: 'count' | 'look' }
);

export interface Answered {
  readonly id: number;
  readonly open: number;
  /** The number of sockets that ended, by code and reason. */
  readonly ends: Readonly<Record<string, number>>;
  /** The counts of the sockets, in the order in which they were opened. */
  readonly counted: readonly Counted[];
  /** The time when the last socket reached the expected number, on the machine's clock. */
  readonly atMs?: number;
}

/**
 * Clients of event streams in separate processes, so that each process has its own file descriptors and can use another
 * core.
 */
export interface Crowd {
  open(port: number, members: readonly (readonly CrowdMember[])[]): Promise<void>;
  /**
   * Resolves when each socket has received this number of events. The result is the time of the last one, in ms since
   * 1970.
   */
  expect(count: number): Promise<number>;
  /** The events that each socket has received, by process. */
  count(): Promise<Counted[][]>;
  look(): Promise<{ open: number; ends: Record<string, number> }>;
  close(): Promise<void>;
}

export function startCrowd(processes: number): Crowd {
  const children = Array.from({ length: processes }, () =>
    fork(join(import.meta.dirname, 'crowd.main.ts'), { execArgv: ['--disable-warning=ExperimentalWarning'] }),
  );
  let orders = 0;
  const tell = async (child: ChildProcess, order: object): Promise<Answered> => {
    const id = (orders += 1);
    const answered = new Promise<Answered>((done, refuse) => {
      const hear = (message: Answered) => {
        if (message.id !== id) return;
        child.off('message', hear).off('exit', lost);
        done(message);
      };
      const lost = () => refuse(new Error('a process of the crowd has ended'));
      child.on('message', hear).once('exit', lost);
    });
    child.send({ id, ...order });
    return answered;
  };
  const tellAll = (order: object) => Promise.all(children.map((child) => tell(child, order)));
  return {
    async open(port, members) {
      await Promise.all(children.map((child, at) => tell(child, { do: 'open', port, members: members[at] })));
    },
    async expect(count) {
      const answers = await tellAll({ do: 'expect', count });
      return Math.max(...answers.map(({ atMs = 0 }) => atMs));
    },
    async count() {
      return (await tellAll({ do: 'count' })).map(({ counted }) => [...counted]);
    },
    async look() {
      const answers = await tellAll({ do: 'look' });
      const ends: Record<string, number> = {};
      for (const [why, count] of answers.flatMap((answer) => Object.entries(answer.ends)))
        ends[why] = (ends[why] ?? 0) + count;
      return { open: answers.reduce((sum, { open }) => sum + open, 0), ends };
    },
    async close() {
      await Promise.all(
        children.map(async (child) => {
          if (child.exitCode !== null) return;
          const ended = once(child, 'exit');
          child.kill('SIGKILL');
          await ended;
        }),
      );
    },
  };
}
