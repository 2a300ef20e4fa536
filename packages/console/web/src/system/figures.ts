/** Reading takes a moment in a busy store; the services answer within 3 s or without their gauges. */
const waitMs = 10_000;
/** Of the exposition; a process writes some 30 kB. */
const charactersMax = 1_000_000;

export interface ServiceHealth {
  readonly isReady: boolean;
  /** What the service says of itself, by name; empty where it did not answer. */
  readonly says: Readonly<Record<string, unknown>>;
  /** Why there is no answer. */
  readonly failure?: string;
}

/** Asks a service whether it can serve requests. One that does not answer is reported, and never an error of the page. */
export async function readHealth(path: string, signal: AbortSignal): Promise<ServiceHealth> {
  try {
    const answer = await fetch(path, { signal: AbortSignal.any([signal, AbortSignal.timeout(waitMs)]) });
    const says = (await answer.json()) as Record<string, unknown>;
    return { isReady: answer.status === 200, says };
  } catch (error) {
    if (signal.aborted) throw error;
    return { isReady: false, says: {}, failure: 'It does not answer.' };
  }
}

/** Gauges and counters without labels, by name. */
export type Figures = Readonly<Record<string, number>>;

/** @returns null where the address does not give them to a browser: a proxy or CP_METRICS_TOKEN keeps them back */
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
