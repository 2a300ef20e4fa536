import type { Effect } from '@baton/process-engine/engine/inputs';
import type { Json, JsonObject } from '@baton/values/wire';

/**
 * Objects that an ended step could not close: the close is retried, and reads list them
 * (docs/reference/processes.md#engine).
 */

type Closing = Extract<Effect, { kind: `close_${string}` }>;

export interface LeftOpen {
  readonly effect: Closing;
  /** The code of the last refusal. */
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

/** The due time of the next retry. */
export function earliestOf(leftOpen: readonly LeftOpen[]): string | null {
  return leftOpen.map(({ nextAt }) => nextAt).sort()[0] ?? null;
}

/** The object to close, and the name of its kind in effects. */
export function objectOf(effect: Closing): { name: string; id: string } {
  const [name, id] = Object.entries(effect).find(([key]) => key.endsWith('Id')) as [string, string];
  return { name, id };
}

/** A journal line about an effect. */
interface EffectEntry {
  readonly at: string;
  readonly kind: 'intent';
  readonly element: string | null;
  readonly reason: string;
  readonly actor_id: null;
  readonly event_id: null;
  readonly data: JsonObject;
}

/** The line that records a refusal and its code. */
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
