import { createHash } from 'node:crypto';
import { eventText } from '@baton/values/event-text';
import type { Json } from '@baton/values/wire';
import type { Memory } from '../../language/definition.ts';

/** The description of an instance for the memory service (docs/reference/processes.md#language, `memory`). */
export interface CaseMemory {
  readonly case: { readonly kind: 'case'; readonly key: string; readonly title: string };
  /** Facts about the case. */
  readonly facts: readonly { readonly predicate: string; readonly object: string }[];
  readonly entities: readonly { readonly type: string; readonly key: string; readonly title: string }[];
  /** Types of artifacts that belong to the case. */
  readonly documents: { readonly artifacts: readonly string[] } | null;
}

const keyCharactersMax = 200;
/** The limit for the whole case as JSON: an observation has at most 64 KiB. */
const bytesMax = 49_152;

interface Tools {
  evaluate(text: string): Json;
  render(template: string): string;
}

/** @returns undefined if the case has no key; other members without a value are omitted */
export function caseOf(
  { case: about, facts, entities, documents }: Memory,
  tools: Tools,
): CaseMemory | undefined {
  const key = keyOf(tools.evaluate(about.key));
  if (key === undefined) return undefined;
  const whole = {
    case: { kind: 'case' as const, key, title: nonEmptyText(tools.render(about.title)) ?? key },
    facts: facts.flatMap(({ predicate, object }) => {
      const text = nonEmptyText(tools.render(object));
      return text === undefined ? [] : [{ predicate, object: text }];
    }),
    entities: entities.flatMap((entity) => {
      const own = keyOf(tools.evaluate(entity.key));
      const title = entity.title === undefined ? undefined : nonEmptyText(tools.render(entity.title));
      return own === undefined ? [] : [{ type: entity.type, key: own, title: title ?? own }];
    }),
    documents: documents ?? null,
  };
  while (Buffer.byteLength(JSON.stringify(whole)) > bytesMax)
    if (whole.facts.pop() === undefined && whole.entities.pop() === undefined) break;
  return whole;
}

/** Keys in memory have no whitespace. */
function keyOf(value: Json): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || text.trim() === '') return undefined;
  return eventText(text.trim().replaceAll(/\s+/g, '_')).slice(0, keyCharactersMax).toWellFormed();
}

function nonEmptyText(rendered: string): string | undefined {
  return rendered.trim() === '' ? undefined : eventText(rendered.trim().toWellFormed());
}

export function hashOfCase(memory: CaseMemory): string {
  return createHash('sha256').update(JSON.stringify(memory)).digest('base64url');
}
