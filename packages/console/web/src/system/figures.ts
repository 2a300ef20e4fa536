/**
 * How long the page waits for metrics. When the database is busy, the services respond within 3 s, if necessary without
 * their gauges.
 */
const waitMs = 10_000;
/** The largest exposition that is read; a process writes about 30 kB. */
const charactersMax = 1_000_000;

export interface ServiceHealth {
  readonly isReady: boolean;
  /** The health report of the service; empty if it did not respond. */
  readonly report: Readonly<Record<string, unknown>>;
  /** The reason, if the service did not respond. */
  readonly failure?: string;
}

/** Reads the readiness of a service. A service that does not respond is reported, not thrown as an error. */
export async function readHealth(path: string, signal: AbortSignal): Promise<ServiceHealth> {
  try {
    const answer = await fetch(path, { signal: AbortSignal.any([signal, AbortSignal.timeout(waitMs)]) });
    const report = (await answer.json()) as Record<string, unknown>;
    return { isReady: answer.status === 200, report };
  } catch (error) {
    if (signal.aborted) throw error;
    return { isReady: false, report: {}, failure: 'The service is not responding.' };
  }
}

/** Gauges and counters without labels, by name. */
export type Figures = Readonly<Record<string, number>>;

/** @returns null if a proxy or CP_METRICS_TOKEN withholds the metrics from browsers */
export async function readFigures(signal: AbortSignal): Promise<Figures | null> {
  const answer = await fetch('/metrics', {
    signal: AbortSignal.any([signal, AbortSignal.timeout(waitMs)]),
  });
  if (answer.status !== 200 || !answer.headers.get('content-type')?.startsWith('text/plain')) return null;
  return figuresIn((await answer.text()).slice(0, charactersMax));
}

function figuresIn(text: string): Figures {
  const lines = text.matchAll(/^([a-z_]+) ([0-9.e+-]+)$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name, Number(value)]));
}
