import type { JournalEvent } from '@baton/sdk';

/** The parameters in the journal's URL. */
export interface JournalSearch {
  /** Prefixes of types, separated by commas. */
  readonly types?: string;
  /** The id of the object that the events are about. */
  readonly object?: string;
  /** The id of the principal that caused them. */
  readonly actor?: string;
  /** Cursor of one event of the object: the page then shows the state of the object after that event. */
  readonly at?: string;
}

const typesCharactersMax = 400;
/** The maximum that the service accepts. */
const typesMax = 20;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const cursor = /^ec1_[\w-]{1,200}$/;

/** Parses the URL; unknown parameters are dropped. */
export function journalSearch({ types, object, actor, at }: Record<string, unknown>): JournalSearch {
  const isObject = typeof object === 'string' && isId(object);
  return {
    ...(typeof types === 'string' && types !== '' && { types: types.slice(0, typesCharactersMax) }),
    ...(isObject && { object }),
    ...(typeof actor === 'string' && isId(actor) && { actor }),
    ...(isObject && typeof at === 'string' && cursor.test(at) && { at }),
  };
}

export const isId = (text: string): boolean => uuid.test(text);

/** Splits a text into type prefixes. */
export function prefixesIn(types = ''): string[] {
  return types
    .split(',')
    .map((type) => type.trim())
    .filter(Boolean)
    .slice(0, typesMax);
}

/** Whether an event matches the filters, by the same rules as the service. */
export function passes({ types, object, actor }: JournalSearch, event: JournalEvent): boolean {
  const prefixes = prefixesIn(types);
  return (
    (object === undefined || event.entityId === object) &&
    (actor === undefined || event.actorId === actor) &&
    (prefixes.length === 0 || prefixes.some((prefix) => event.type.startsWith(prefix)))
  );
}
