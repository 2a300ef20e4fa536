import type { JournalEvent } from '@baton/sdk';

/** A piece of a sentence. Names of people and objects are looked up when the sentence is shown. */
export type Part =
  | string
  /** A person, agent or service; null is Baton itself. */
  | { readonly is: 'person'; readonly id: string | null }
  /** An object, by its name. `name` is the one in the event, for objects that can't be read. */
  | { readonly is: 'object'; readonly type: string; readonly id: string; readonly name?: string }
  /** Text that a person or an agent wrote. */
  | { readonly is: 'quote'; readonly text: string }
  /** A key, a status or another identifier. */
  | { readonly is: 'code'; readonly text: string }
  | { readonly is: 'time'; readonly at: string }
  /** The result of a run: its summary, commit, duration and cost. */
  | { readonly is: 'result'; readonly runId: string }
  /** The note of a checkpoint. */
  | { readonly is: 'note'; readonly runId: string; readonly seq: number };

export type Sentence = readonly Part[];
/** Returns the sentence for an event of one type. */
export type Teller = (event: Facts) => Sentence;

const quoteCharactersMax = 300;
const listMax = 6;

/** Joins the pieces of a template; empty pieces and nested sentences are flattened. */
export function say(texts: TemplateStringsArray, ...parts: readonly (Part | Sentence | number)[]): Sentence {
  return texts
    .flatMap((text, place): Part[] => {
      const part = parts[place];
      if (part === undefined) return [text];
      if (typeof part === 'number') return [text, part.toLocaleString('en')];
      return [text, ...(isSentence(part) ? part : [part])];
    })
    .filter((part) => part !== '');
}

const isSentence = (part: Part | Sentence): part is Sentence => Array.isArray(part);

/** The parts of an event that sentences use, with bounds and defaults. */
export class Facts {
  readonly #event: JournalEvent;
  readonly #within: string | undefined;

  /** @param within the id of the object whose page shows the sentence, which calls this object `it` */
  constructor(event: JournalEvent, within?: string) {
    this.#event = event;
    this.#within = within;
  }

  /** The actor. */
  get by(): Part {
    return { is: 'person', id: this.#event.actorId };
  }

  /** The object that the event is about. */
  get it(): Part {
    const { entityType, entityId } = this.#event;
    return this.named(entityType, entityId, nameIn(this.#event.payload));
  }

  /** The object that the event is about, with its noun. */
  the(noun: string): Sentence {
    const { it } = this;
    return it === 'it' ? ['it'] : [`the ${noun} `, it];
  }

  /** A preposition and an object, omitted on the object's own page: `commented on TASK-1`, `commented`. */
  about(preposition: string, object: Part): Sentence {
    return object === 'it' ? [] : [` ${preposition} `, object];
  }

  /** The id of the object that the event is about. */
  get id(): string {
    return this.#event.entityId;
  }

  get type(): string {
    return this.#event.type;
  }

  /** The task in the payload; the event's object if the payload has none. */
  get task(): Part {
    const { taskId, publicId, taskPublicId, title, taskTitle } = this.#event.payload;
    if (typeof taskId !== 'string') return this.it;
    const name = [publicId ?? taskPublicId, title ?? taskTitle].filter((one) => typeof one === 'string');
    return this.named('task', taskId, name.join(' '));
  }

  named(type: string, id: string, name = ''): Part {
    if (id === this.#within) return 'it';
    return { is: 'object', type, id, ...(name !== '' && { name: clipped(name) }) };
  }

  /** Another object, by its id in the payload; `otherwise` if the payload has none. */
  object(type: string, field: string, otherwise: Part = ''): Part {
    const id = this.#event.payload[field];
    return typeof id === 'string' ? this.named(type, id) : otherwise;
  }

  person(field: string, otherwise: Part = ''): Part {
    const id = this.#event.payload[field];
    return typeof id === 'string' ? { is: 'person', id } : otherwise;
  }

  /** The people in a list of ids. */
  people(field: string): Sentence {
    const ids = this.#event.payload[field];
    const known = (Array.isArray(ids) ? ids : []).filter((id) => typeof id === 'string').slice(0, listMax);
    if (known.length === 0) return ['somebody'];
    return known.flatMap((id, place): Part[] => [place === 0 ? '' : ', ', { is: 'person', id }]);
  }

  /** Free text, quoted. */
  quote(field: string): Part {
    const text = this.text(field);
    return text === '' ? '' : { is: 'quote', text: clipped(text) };
  }

  /** Free text after a colon, if there is any. */
  tail(field: string): Sentence {
    const quote = this.quote(field);
    return quote === '' ? [] : [': ', quote];
  }

  /** A key or a status, unchanged. */
  code(field: string): Part {
    const text = this.text(field);
    return text === '' ? '' : { is: 'code', text: clipped(text) };
  }

  /** A status or an enumerated value in words: `waiting_for_parts` as `waiting for parts`. */
  words(field: string): string {
    return clipped(this.text(field)).replaceAll('_', ' ');
  }

  /** A key that people or agents choose freely, in words and quoted. */
  quotedWords(field: string): Part {
    const words = this.words(field);
    return words === '' ? '' : { is: 'quote', text: words };
  }

  time(field: string): Part {
    const at = this.#event.payload[field];
    return typeof at === 'string' && !Number.isNaN(Date.parse(at)) ? { is: 'time', at } : '';
  }

  number(field: string): number {
    const value = this.#event.payload[field];
    return typeof value === 'number' ? value : 0;
  }

  /** A number with its noun: `3 claims`. */
  count(field: string, noun: string): string {
    const number = this.number(field);
    return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;
  }

  /** The names in a list of strings, or the keys of an object, separated by commas. */
  names(field: string): string {
    const value = this.#event.payload[field];
    const names = Array.isArray(value)
      ? value.filter((one) => typeof one === 'string')
      : Object.keys(typeof value === 'object' && value !== null ? value : {});
    const shown = names.slice(0, listMax).map((name) => fieldWords(clipped(name)));
    return names.length > listMax
      ? `${shown.join(', ')} and ${names.length - listMax} more`
      : shown.join(', ');
  }

  is(field: string): boolean {
    return this.#event.payload[field] === true;
  }

  has(field: string): boolean {
    const value = this.#event.payload[field];
    return value !== undefined && value !== null && value !== '';
  }

  value(field: string): unknown {
    return this.#event.payload[field];
  }

  text(field: string): string {
    const value = this.#event.payload[field];
    return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
  }

  /** Text from an object in the payload, for example the message of an error. */
  textIn(field: string, member: string): string {
    const value = this.#event.payload[field];
    const inner =
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[member] : '';
    return typeof inner === 'string' ? clipped(inner) : '';
  }

  /** The same text as a quote after a colon, if there is any. */
  tailIn(field: string, member: string): Sentence {
    const text = this.textIn(field, member);
    return text === '' ? [] : [': ', { is: 'quote', text }];
  }
}

/** A word from a table; undefined for other keys, including those that every object inherits. */
export const lookup = (table: Readonly<Record<string, string>>, key: string): string | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;

/** `dueDate` as `due date`, `assigneeId` as `assignee`. */
export const fieldWords = (name: string): string =>
  name
    .replace(/(?<=[a-z])(Id|Key)$/, '')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();

function clipped(text: string): string {
  const characters = Array.from(text.slice(0, 2 * quoteCharactersMax + 2));
  return characters.length > quoteCharactersMax
    ? `${characters.slice(0, quoteCharactersMax).join('')} …`
    : text;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The name of the event's object in its payload; never an id. */
function nameIn(payload: JournalEvent['payload']): string {
  const { publicId, taskPublicId, title, displayName, name, key, slug, instanceKey, clientName } = payload;
  return [publicId ?? taskPublicId ?? instanceKey, title ?? displayName ?? name ?? key ?? slug ?? clientName]
    .filter((word) => typeof word === 'string' && !uuid.test(word))
    .join(' ');
}
