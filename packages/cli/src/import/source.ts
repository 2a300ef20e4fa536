import { PlainError } from '../plain-error.ts';
import { visible } from './read-source.ts';
import type { PlannedRelation } from './relations.ts';

/** The status of an item in its tracker, in the terms shared by all formats. */
export type SourceStatus = 'open' | 'backlog' | 'blocked' | 'done' | 'cancelled';
export type Priority = 'critical' | 'high' | 'medium' | 'low';

/** One item of another tracker. Its texts are unchanged. */
export interface SourceItem {
  /** Its name in the tracker, unique in the source. */
  readonly id: string;
  /** Its position, for people. */
  readonly place: string;
  readonly title: string;
  readonly description: string;
  readonly status: SourceStatus;
  /** A status of its task type, if the source has one. */
  readonly statusKey?: string;
  readonly typeKey?: string;
  /** The slugs of its workspace, starting at the root, if the source is a Baton. */
  readonly workspace?: string;
  readonly priority: Priority;
  /** The assignee, by their name in the tracker. */
  readonly assignee?: string;
  /** An instant. */
  readonly dueDate?: string;
  /** The instant before which it should not be started. */
  readonly startDate?: string;
  /** The check that decides whether it is done. Closed items have none. */
  readonly acceptance?: readonly SourceCheck[];
  readonly customFields: Readonly<Record<string, unknown>>;
  readonly links: readonly Link[];
  readonly comments: readonly SourceComment[];
  /** Its references in other systems. */
  readonly names?: readonly ExternalName[];
}

export interface Link {
  readonly to: string;
  readonly type: PlannedRelation['type'];
}

export interface SourceComment {
  readonly body: string;
  readonly author?: string;
  readonly at?: string;
}

export interface SourceCheck {
  readonly key: string;
  readonly kind: 'human';
  readonly description: string;
}

export interface ExternalName {
  readonly externalSystem: string;
  readonly externalType: string;
  readonly externalId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** The input of one import. */
export interface Source {
  /** The external system and type of its references. */
  readonly system: string;
  readonly type: string;
  readonly items: readonly SourceItem[];
  readonly leftOut: LeftOut;
}

const examplesMax = 5;
/** Bounds the distinct reasons: they contain names of fields, of which a file may have any number. */
const reasonsMax = 200;

/** Collects what an import skips or changes, by reason, for its report. */
export class LeftOut {
  readonly #reasons = new Map<string, { count: number; examples: string[] }>();
  #unreadable = 0;

  /** @param given the reason, a sentence without its subject, such as `is a pull request, not an issue` */
  add(given: string, example: string): void {
    const isBeyond = this.#reasons.size >= reasonsMax && !this.#reasons.has(given);
    const reason = isBeyond ? 'is skipped or changed for other reasons' : given;
    const known = this.#reasons.get(reason) ?? { count: 0, examples: [] };
    known.count += 1;
    const shown = example.slice(0, 80);
    if (known.examples.length < examplesMax && !known.examples.includes(shown)) known.examples.push(shown);
    this.#reasons.set(reason, known);
  }

  /** Counts a record that could not be read. @param place its line, or its file */
  addUnreadable(reason: string, place: string): void {
    this.#unreadable += 1;
    this.add(reason, place);
  }

  /**
   * Rejects a source in which no item is readable, unless it is empty.
   * @throws PlainError with the reasons
   */
  requireReadable(items: readonly SourceItem[], name: string, hint = ''): void {
    if (items.length > 0 || this.#unreadable === 0) return;
    throw new PlainError([`Nothing in ${name} could be read.${hint}`, ...this.lines.map(visible)].join('\n'));
  }

  /** For programs. */
  get items(): { reason: string; count: number; examples: string[] }[] {
    return [...this.#reasons].map(([reason, { count, examples }]) => ({ reason, count, examples }));
  }

  /** For people, one line per reason. */
  get lines(): string[] {
    return this.items.map(
      ({ reason, count, examples }) =>
        `! ${count} × ${reason} (${examples.join(', ')}${count > examples.length ? ', …' : ''})`,
    );
  }
}

/** Returns a text of an untrusted document. */
export const textIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined;

/** The texts of a list, or of objects with a name. */
export function namesIn(value: unknown, member = 'name'): string[] {
  const list = Array.isArray(value)
    ? (value as unknown[])
    : value === undefined || value === null
      ? []
      : [value];
  return list.flatMap((one) => {
    const text = typeof one === 'object' && one !== null ? (one as Record<string, unknown>)[member] : one;
    return typeof text === 'string' || typeof text === 'number' ? [String(text).trim()] : [];
  });
}

/** Removes empty members. */
export function omitEmpty(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(members).filter(
      ([, value]) => value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0),
    ),
  );
}
