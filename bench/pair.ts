import { BenchError } from './bench-error.ts';

/** Sends the next request of one kind. */
export type SendRequest = () => Promise<void>;

export interface PairOptions {
  readonly rounds: number;
  readonly roundMs: number;
  readonly stopping: AbortSignal;
}

/** The times of a request on little and on much data. */
export interface PairFigures {
  readonly smallP50Ms: number;
  readonly largeP50Ms: number;
  readonly largeP99Ms: number;
  readonly ratio: number;
}

/** Rounds of both alternate, so that changing load on the machine affects both equally. */
export async function measurePair(
  sendSmall: SendRequest,
  sendLarge: SendRequest,
  { rounds, roundMs, stopping }: PairOptions,
): Promise<PairFigures> {
  const [small, large]: [number[], number[]] = [[], []];
  // The first round is not counted: it warms up code, statements and caches.
  for (let round = 0; round <= rounds; round += 1) {
    const ofSmall = await runRound(sendSmall, roundMs, stopping);
    const ofLarge = await runRound(sendLarge, roundMs, stopping);
    if (round === 0) continue;
    small.push(...ofSmall);
    large.push(...ofLarge);
  }
  const [smallP50Ms, largeP50Ms] = [quantile(small, 0.5), quantile(large, 0.5)];
  const ratio = Math.round((largeP50Ms / smallP50Ms) * 100) / 100;
  return { smallP50Ms, largeP50Ms, largeP99Ms: quantile(large, 0.99), ratio };
}

async function runRound(send: SendRequest, ms: number, stopping: AbortSignal): Promise<number[]> {
  const latenciesMs: number[] = [];
  const startedMs = performance.now();
  for (let beganMs = startedMs; beganMs < startedMs + ms; ) {
    if (stopping.aborted) throw new BenchError('Stopped.');
    await send();
    const nowMs = performance.now();
    latenciesMs.push(nowMs - beganMs);
    beganMs = nowMs;
  }
  return latenciesMs;
}

function quantile(latenciesMs: readonly number[], share: number): number {
  const sorted = latenciesMs.toSorted((left, right) => left - right);
  return Math.round((sorted[Math.ceil(share * sorted.length) - 1] ?? 0) * 100) / 100;
}
