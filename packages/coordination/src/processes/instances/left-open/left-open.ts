import type { Effect } from '@baton/process-engine/engine/inputs';
import type { Json, JsonObject } from '@baton/values/wire';

/** What an instance could not close when a step of it was over: it is tried again, and shown (docs/reference/processes.md#engine). */

type Closing = Extract<Effect, { kind: `close_${string}` }>;

export interface LeftOpen {
  readonly effect: Closing;
  /** Why it was refused last. */
  readonly code: string;
  readonly attempts: number;
  readonly nextAt: string;
}

const firstPauseMs = 30_000;
const pauseMsMax = 3_600_000;

export function isClosing(effect: Effect): effect is Closing {
  return effect.kind.startsWith('close_');
}

export function leftOpenOf(effect: Closing, code: string, at: string, attempts = 1): LeftOpen {
  const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(attempts - 1, 20), pauseMsMax);
  return { effect, code, attempts, nextAt: new Date(Date.parse(at) + pauseMs).toISOString() };
}

/** When the next of them is to be tried. */
export function earliestOf(leftOpen: readonly LeftOpen[]): string | null {
  return leftOpen.map(({ nextAt }) => nextAt).sort()[0] ?? null;
}

/** The object that is to be closed, and how effects call it. */
export function objectOf(effect: Closing): { name: string; id: string } {
  const [name, id] = Object.entries(effect).find(([key]) => key.endsWith('Id')) as [string, string];
  return { name, id };
}

/** A line of the journal about an effect. */
interface EffectEntry {
  readonly at: string;
  readonly kind: 'intent';
  readonly element: string | null;
  readonly reason: string;
  readonly actor_id: null;
  readonly event_id: null;
  readonly data: JsonObject;
}

/** The line that says what was refused, and why. */
export function refusalEntry(effect: Effect, code: string, at: string): EffectEntry {
  return effectEntry(effect, at, { refused: code });
}

export function effectEntry(
  effect: Effect,
  at: string,
  said: { readonly [name: string]: Json },
): EffectEntry {
  const { kind, element } = effect;
  const object = isClosing(effect) ? objectOf(effect) : undefined;
  const data = { ...(object && { [object.name]: object.id }), ...said };
  return { at, kind: 'intent', element, reason: kind, actor_id: null, event_id: null, data };
}
