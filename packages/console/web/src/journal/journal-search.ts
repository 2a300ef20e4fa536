import type { JournalEvent } from '@baton/sdk';

/** What the address of the journal says. */
export interface JournalSearch {
  /** Prefixes of types, separated by commas. */
  readonly types?: string;
  /** Id of the object that the events are about. */
  readonly object?: string;
  /** Id of the principal who caused them. */
  readonly actor?: string;
  /** Cursor of one event of the object: the page then shows the object as it was after that event. */
  readonly at?: string;
}

const typesCharactersMax = 400;
/** As many as the service takes. */
const typesMax = 20;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const cursor = /^ec1_[\w-]{1,200}$/;

/** Reads the address; what it does not know is left out. */
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

/** The prefixes of types that a text names. */
export function prefixesIn(types = ''): string[] {
  return types
    .split(',')
    .map((type) => type.trim())
    .filter(Boolean)
    .slice(0, typesMax);
}

/** Whether the filters let an event through, as the service judges it. */
export function passes({ types, object, actor }: JournalSearch, event: JournalEvent): boolean {
  const prefixes = prefixesIn(types);
  return (
    (object === undefined || event.entityId === object) &&
    (actor === undefined || event.actorId === actor) &&
    (prefixes.length === 0 || prefixes.some((prefix) => event.type.startsWith(prefix)))
  );
}
