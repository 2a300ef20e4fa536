import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A process that only sends messages to all of its WebSockets with plain `ws`, for comparison. */
export interface Broadcast {
  readonly port: number;
  /** Sends each message to every open socket. */
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
