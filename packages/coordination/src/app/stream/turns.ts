/** Lets a few do at once what many want to do; the others wait in line. */
export interface Turns {
  take<T>(work: () => Promise<T>): Promise<T>;
}

export function createTurns(atOnceMax: number): Turns {
  const line: (() => void)[] = [];
  let busy = 0;
  return {
    async take(work) {
      if (busy >= atOnceMax) await new Promise<void>((go) => line.push(go));
      else busy += 1;
      try {
        return await work();
      } finally {
        // A turn is handed on, not given back, so that nobody slips in between.
        const next = line.shift();
        if (next !== undefined) next();
        else busy -= 1;
      }
    },
  };
}
