import type { Db } from '@baton/kernel/db';
import { readHorizon } from './journal.sql.ts';

/** The position below which nothing can appear any more, as this process last read it. */
export interface Horizon {
  read(): Promise<number>;
}

/** A horizon that is behind only delays; one that is ahead would skip. So it may be kept, never guessed. */
const keptMs = 50;

export function createHorizon(db: Db): Horizon {
  let known: { readAt: number; horizon: Promise<number> } | undefined;
  return {
    read() {
      const now = performance.now();
      if (known === undefined || now - known.readAt > keptMs) {
        const reading = {
          readAt: now,
          horizon: db.row(readHorizon()).then((row) => row?.horizon as number),
        };
        known = reading;
        reading.horizon.catch(() => {
          if (known === reading) known = undefined;
        });
      }
      return known.horizon;
    },
  };
}
