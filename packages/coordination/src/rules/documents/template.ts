import { insertValues, type TextPart, wholeExpression } from '@baton/values/text-expressions';
import type { Json } from '@baton/values/wire';
import { isPath, rootOf } from '../../definitions/declared-actions/condition.ts';
import { type Roots, valueAt } from '../../definitions/declared-actions/evaluate-condition.ts';

/**
 * Templates (docs/reference/rules.md#templates-and-roots): `{{ payload.title }}` in a string. A string that consists of
 * one placeholder yields the value itself; a placeholder among other text is converted to a string.
 */

const placeholder = /\{\{([^{}]{0,1100})\}\}/g;

/** Splits a string into literals and placeholders; the expression in a placeholder is a path. */
function partsOf(text: string): TextPart<string>[] {
  const parts: TextPart<string>[] = [];
  let at = 0;
  for (const match of text.matchAll(placeholder)) {
    parts.push({ literal: text.slice(at, match.index), expression: (match[1] ?? '').trim() });
    at = match.index + match[0].length;
  }
  parts.push({ literal: text.slice(at), expression: undefined });
  return parts;
}

/** The reason why a string with placeholders of these roots is invalid; undefined if it is valid. */
export function findTemplateFault(text: string, roots: readonly string[]): string | undefined {
  for (const { literal, expression: path } of partsOf(text)) {
    if (/\{\{|\}\}/.test(literal)) return 'a placeholder is not closed or has no path';
    if (path === undefined) continue;
    const shown = path.slice(0, 64);
    if (!isPath(path)) return `${shown} is not a path`;
    if (!roots.includes(rootOf(path))) return `${rootOf(path)} must be one of ${roots.join(', ')}`;
  }
  return undefined;
}

/** The paths of the placeholders in a string. */
export function pathsInTemplate(text: string): string[] {
  return partsOf(text).flatMap(({ expression }) => expression ?? []);
}

/** Whether a string contains a placeholder. */
export function isTemplate(text: string): boolean {
  return pathsInTemplate(text).length > 0;
}

/**
 * The value of a string: the value itself for a single placeholder, otherwise the string with its placeholders
 * replaced.
 */
export function renderValue(text: string, roots: Roots, charactersMax: number): Json {
  const path = wholeExpression(partsOf(text));
  return path === undefined ? renderText(text, roots, charactersMax) : valueAt(path, roots);
}

/**
 * A string with its placeholders replaced: null becomes the empty string, and values other than strings become
 * JSON.
 * @param charactersMax the length at which the string is truncated with an ellipsis, because the values may come
 * from any author
 */
export function renderText(text: string, roots: Roots, charactersMax: number): string {
  const written = insertValues(partsOf(text), (path) => valueAt(path, roots), 2 * charactersMax);
  return cut(written, charactersMax);
}

function cut(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text.toWellFormed();
  return `${text.slice(0, charactersMax - 1).toWellFormed()}…`;
}

/** Limits of a rendered document. */
export interface RenderRoom {
  /** The maximum length of a string that mixes a placeholder with other text. */
  readonly charactersMax: number;
  /** The maximum length of all values together, as JSON; each rendered value reduces it. */
  charactersLeft: number;
}

/**
 * A document with the placeholders in its strings replaced at every depth; the names of members stay unchanged.
 * 4,000 strings may each refer to a value of 64 KiB, so rendering stops as soon as the limit is reached.
 * @returns undefined for a document that exceeds the limit
 */
export function renderDocument(document: Json, roots: Roots, room: RenderRoom): Json | undefined {
  const lengths = new Map<object, number>();
  const lengthOf = (value: Json): number => {
    if (typeof value !== 'object' || value === null) return String(value).length;
    const length = lengths.get(value) ?? JSON.stringify(value).length;
    lengths.set(value, length);
    return length;
  };
  const render = (part: Json): Json => {
    if (room.charactersLeft < 0) return null;
    if (typeof part === 'string') {
      const value = renderValue(part, roots, room.charactersMax);
      room.charactersLeft -= lengthOf(value);
      return value;
    }
    if (typeof part !== 'object' || part === null) return part;
    if (Array.isArray(part)) return part.map(render);
    // fromEntries turns a member named __proto__ into a plain member.
    return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, render(value)]));
  };
  const rendered = render(document);
  return room.charactersLeft < 0 ? undefined : rendered;
}

/** Every string in a document with its path: `fields.customFields.region`. */
export function textsIn(document: Json, field: string): { field: string; text: string }[] {
  if (typeof document === 'string') return [{ field, text: document }];
  if (typeof document !== 'object' || document === null) return [];
  return Object.entries(document).flatMap(([name, value]) => textsIn(value, `${field}.${name}`));
}
