import { collectDefaultMetrics, Registry } from 'prom-client';
import { type Counters, createCounters } from '../../service/counters.ts';

/** The metrics of one process. Parts in one process share them, so that its `/metrics` contain all of them. */
export interface Measures {
  readonly registry: Registry;
  readonly counters: Counters;
}

/** @param ofProcess whether the event loop's lag, memory, processor time and open files are measured, too */
export function createMeasures(ofProcess = false): Measures {
  const registry = new Registry();
  if (ofProcess) collectDefaultMetrics({ register: registry });
  return { registry, counters: createCounters(registry) };
}
