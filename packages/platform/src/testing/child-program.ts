import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { keepLog } from '@baton/kernel/testing/leaks/leaks';

const stopWaitMs = 10_000;

/** Runs a system program until it is stopped; its output is kept for the leak test. */
export function runProgram(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): { readonly child: ChildProcess; output(): string; stop(): Promise<void> } {
  const child = spawn(file, args, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
  return {
    child,
    output: () => text,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'exit');
        child.kill('SIGTERM');
        const late = setTimeout(() => child.kill('SIGKILL'), stopWaitMs);
        await ended;
        clearTimeout(late);
      }
      keepLog(text);
    },
  };
}
