/** Bounds the number of concurrent deliveries; the others wait for their turn. */
export interface Places {
  /** Runs when there is a place; retried deliveries use at most half of the places. */
  run<T>(isAgain: boolean, work: () => Promise<T>): Promise<T>;
}

interface Waiting {
  readonly isAgain: boolean;
  readonly begin: () => void;
}

/** @param limit the number of places, read each time */
export function createPlaces(limit: () => number): Places {
  let running = 0;
  let runningAgain = 0;
  const waiting: Waiting[] = [];
  return {
    async run(isAgain, work) {
      await new Promise<void>((begin) => {
        waiting.push({ isAgain, begin });
        next();
      });
      try {
        return await work();
      } finally {
        running -= 1;
        if (isAgain) runningAgain -= 1;
        next();
      }
    },
  };

  function next(): void {
    while (running < limit()) {
      const isAgainFull = runningAgain >= Math.max(1, Math.floor(limit() / 2));
      const at = waiting.findIndex(({ isAgain }) => !(isAgain && isAgainFull));
      if (at < 0) return;
      const [{ isAgain, begin }] = waiting.splice(at, 1) as [Waiting];
      running += 1;
      if (isAgain) runningAgain += 1;
      begin();
    }
  }
}
