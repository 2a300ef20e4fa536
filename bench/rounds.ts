import { parseArgs } from 'node:util';
import { BenchError } from './bench-error.ts';

export interface Rounds {
  readonly rounds: number;
  readonly roundMs: number;
  /** The address of a PostgreSQL to use instead of the built-in one. */
  readonly postgres: string | undefined;
  readonly profileDirectory: string | undefined;
  readonly isJson: boolean;
}

/**
 * Reads the command line of a benchmark that runs in rounds.
 * @param measuredSecondsMax the longest time for all rounds of one workload
 * @throws BenchError if the rounds would take longer, or no time
 */
export function readRounds(args: string[], defaultSeconds: number, measuredSecondsMax: number): Rounds {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: String(defaultSeconds) },
      postgres: { type: 'string' },
      'cpu-prof': { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
  if (!(rounds > 0 && seconds > 0 && rounds * seconds <= measuredSecondsMax))
    throw new BenchError(
      `--rounds and --seconds must be above 0, their product at most ${measuredSecondsMax}.`,
    );
  const { postgres, json: isJson, 'cpu-prof': profileDirectory } = values;
  return { rounds, roundMs: seconds * 1000, postgres, profileDirectory, isJson };
}
