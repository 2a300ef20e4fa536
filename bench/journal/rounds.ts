import { callFor } from '../calls.ts';
import { Measurement } from '../measurement.ts';
import { connections } from './fixture.ts';

/** One of the compared ways. */
export interface Way {
  readonly name: string;
  /** The number of events that one call writes or reads. */
  readonly eventsPerCall: number;
  call(connection: number): Promise<void>;
}

export interface Compared {
  readonly way: Way;
  readonly measurement: Measurement;
}

export interface RoundOptions {
  readonly rounds: number;
  readonly roundMs: number;
  readonly stopping: AbortSignal;
  cpuSeconds(): number;
}

/**
 * All ways alternate round by round, so that changing load on the machine affects all equally. One round of each warms
 * up.
 */
export async function compare(ways: readonly Way[], options: RoundOptions): Promise<Compared[]> {
  const compared = ways.map((way) => ({ way, measurement: new Measurement() }));
  for (const way of ways)
    await callFor(options.roundMs / 2, connections, options.stopping, (at) => way.call(at));
  for (let round = 0; round < options.rounds; round += 1)
    for (const { way, measurement } of compared) {
      const cpuBefore = options.cpuSeconds();
      const { latenciesMs, seconds } = await callFor(options.roundMs, connections, options.stopping, (at) =>
        way.call(at),
      );
      measurement.add({ latenciesMs, seconds, serviceCpuSeconds: options.cpuSeconds() - cpuBefore });
    }
  return compared;
}
