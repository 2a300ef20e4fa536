/** The delivery that waits for a place. */
interface Claimant {
  readonly isAgain: boolean;
  readonly tenantId: string;
}

/** Bounds the number of concurrent deliveries; the others wait for their turn. */
export interface Places {
  /**
   * Runs the delivery when there is a place. Retried deliveries use at most half of the places, and deliveries of one
   * tenant at most the tenant's share. Of the deliveries that may run, one of the tenant with the fewest running
   * deliveries is next.
   */
  run<T>(claimant: Claimant, work: () => Promise<T>): Promise<T>;
}

interface Waiting extends Claimant {
  readonly begin: () => void;
}

/**
 * @param limit the number of places, read each time
 * @param tenantMax the maximum number of places per tenant; undefined: all of them, first come, first served
 */
export function createPlaces(limit: () => number, tenantMax?: number): Places {
  let running = 0;
  let runningAgain = 0;
  const runningOf = new Map<string, number>();
  const waiting: Waiting[] = [];
  return {
    async run(claimant, work) {
      await new Promise<void>((begin) => {
        waiting.push({ ...claimant, begin });
        next();
      });
      try {
        return await work();
      } finally {
        count(claimant, -1);
        next();
      }
    },
  };

  function next(): void {
    while (running < limit()) {
      const at = chosen();
      if (at === undefined) return;
      const [one] = waiting.splice(at, 1) as [Waiting];
      count(one, 1);
      one.begin();
    }
  }

  function chosen(): number | undefined {
    const isAgainFull = runningAgain >= Math.max(1, Math.floor(limit() / 2));
    let best: { at: number; tenants: number } | undefined;
    for (const [at, { isAgain, tenantId }] of waiting.entries()) {
      if (isAgain && isAgainFull) continue;
      if (tenantMax === undefined) return at;
      const tenants = runningOf.get(tenantId) ?? 0;
      if (tenants < tenantMax && (best === undefined || tenants < best.tenants)) best = { at, tenants };
    }
    return best?.at;
  }

  function count({ isAgain, tenantId }: Claimant, by: 1 | -1): void {
    running += by;
    if (isAgain) runningAgain += by;
    const tenants = (runningOf.get(tenantId) ?? 0) + by;
    if (tenants === 0) runningOf.delete(tenantId);
    else runningOf.set(tenantId, tenants);
  }
}
