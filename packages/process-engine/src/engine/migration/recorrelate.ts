import type { Json } from '@baton/values/wire';
import type { Definition } from '../definition-lists.ts';
import { isOfTrigger, startCorrelation } from '../handlers.ts';
import type { Input } from '../inputs.ts';
import { type EngineTools, ProcessFault } from '../machine.ts';
import type { EventRoot } from '../state.ts';

/** The definition that an event is matched against. */
interface Judging {
  readonly definition: Definition;
  readonly tools: EngineTools;
}

/** An event that was matched against another version, with the matching correlations of this one. */
export function correlateAgain({ definition, tools }: Judging, instanceKey: string, input: Input): Input {
  if (input.kind !== 'event') return input;
  const starts = (input.correlations ?? []).filter((n) => n === startCorrelation);
  const found = definition.handlers.flatMap(({ on, key }, n) =>
    key !== undefined && isOfTrigger(on, input.event) && keyOf(tools, key, input.event) === instanceKey
      ? [n]
      : [],
  );
  return { ...input, correlations: [...starts, ...found] };
}

function keyOf(tools: EngineTools, text: string, event: EventRoot): string | undefined {
  try {
    const value = tools.evaluate(text, { event: event as unknown as Json });
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  } catch (error) {
    if (error instanceof ProcessFault) return undefined;
    throw error;
  }
}
