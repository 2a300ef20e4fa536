import { BenchError } from './bench-error.ts';

/** Sends calls one after another on each connection for `ms`. @throws BenchError if the benchmark is stopped */
export async function callFor(
  ms: number,
  connections: number,
  stopping: AbortSignal,
  call: (connection: number) => Promise<void>,
): Promise<{ latenciesMs: number[]; seconds: number }> {
  const latenciesMs: number[] = [];
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async (_, connection) => {
      for (let beganMs = startedMs; beganMs < startedMs + ms; ) {
        if (stopping.aborted) throw new BenchError('Stopped.');
        await call(connection);
        const nowMs = performance.now();
        latenciesMs.push(nowMs - beganMs);
        beganMs = nowMs;
      }
    }),
  );
  return { latenciesMs, seconds: (performance.now() - startedMs) / 1000 };
}
