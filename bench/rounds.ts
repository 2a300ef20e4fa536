import { parseArgs } from 'node:util';
import { BenchError } from './bench-error.ts';

export interface Rounds {
  readonly rounds: number;
  readonly roundMs: number;
  /** A PostgreSQL to use instead of one of the run's own. */
  readonly postgres: string | undefined;
  readonly profileDirectory: string | undefined;
  readonly isJson: boolean;
}

/**
 * What a measurement in rounds is told on its command line.
 * @param measuredSecondsMax of one contender in all its rounds
 * @throws BenchError for rounds that would take longer, or no time
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
