import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A process that does nothing but send texts to all of its WebSockets, as `ws` does it by itself: for comparison. */
export interface Broadcast {
  readonly port: number;
  /** Sends each text to every socket that is open. */
  send(texts: readonly string[]): void;
  stop(): void;
}

export async function startBroadcast(): Promise<Broadcast> {
  const child = fork(join(import.meta.dirname, 'broadcast.main.ts'), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return {
    port,
    send: (texts) => void child.send(texts),
    stop: () => void child.kill('SIGKILL'),
  };
}
