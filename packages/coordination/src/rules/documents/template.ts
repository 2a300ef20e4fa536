import type { Json } from '@baton/values/wire';
import { isPath, rootOf } from '../../definitions/declared-actions/condition.ts';
import { type Roots, valueAt } from '../../definitions/declared-actions/evaluate-condition.ts';

/**
 * Templates (organisation, section 8.3): `{{ payload.title }}` in a text. A text that is one placeholder and nothing else
 * yields the value as it is; among other text the value is written out.
 */

const placeholder = /\{\{([^{}]{0,1100})\}\}/g;

interface Part {
  readonly literal: string;
  /** Undefined for the last part. */
  readonly path: string | undefined;
}

function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  let at = 0;
  for (const match of text.matchAll(placeholder)) {
    parts.push({ literal: text.slice(at, match.index), path: (match[1] ?? '').trim() });
    at = match.index + match[0].length;
  }
  parts.push({ literal: text.slice(at), path: undefined });
  return parts;
}

/** What is wrong with a text that may hold placeholders of these roots; undefined when nothing is. */
export function faultInTemplate(text: string, roots: readonly string[]): string | undefined {
  for (const { literal, path } of partsOf(text)) {
    if (/\{\{|\}\}/.test(literal)) return 'a placeholder is not closed, or has no path';
    if (path === undefined) continue;
    const shown = path.slice(0, 64);
    if (!isPath(path)) return `${shown} is no path`;
    if (!roots.includes(rootOf(path))) return `${rootOf(path)} is none of ${roots.join(', ')}`;
  }
  return undefined;
}

/** The paths of the placeholders in a text. */
export function pathsInTemplate(text: string): string[] {
  return partsOf(text).flatMap(({ path }) => path ?? []);
}

/** Whether a text holds a placeholder. */
export function isTemplate(text: string): boolean {
  return pathsInTemplate(text).length > 0;
}

/** The value of a text: of one placeholder the value as it is, else the text with its placeholders written out. */
export function renderValue(text: string, roots: Roots, charactersMax: number): Json {
  const [first, last, ...more] = partsOf(text);
  const isOne =
    first?.path !== undefined && first.literal === '' && last?.literal === '' && more.length === 0;
  return isOne ? valueAt(first.path, roots) : renderText(text, roots, charactersMax);
}

/**
 * A text with its placeholders written out; null is nothing, what is no text is JSON.
 * @param charactersMax it is cut there, with an ellipsis: the values may come from anybody
 */
export function renderText(text: string, roots: Roots, charactersMax: number): string {
  let written = '';
  for (const { literal, path } of partsOf(text)) {
    written += literal + (path === undefined ? '' : textOf(valueAt(path, roots)));
    if (written.length > 2 * charactersMax) break;
  }
  return cut(written, charactersMax);
}

function textOf(value: Json): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function cut(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text.toWellFormed();
  return `${text.slice(0, charactersMax - 1).toWellFormed()}…`;
}

/** How much a rendered document may hold. */
export interface RenderRoom {
  /** Of a text that has other text beside its placeholder. */
  readonly charactersMax: number;
  /** Of all values together, as JSON; what is rendered takes from it. */
  charactersLeft: number;
}

/**
 * A document with the placeholders in its texts resolved, at every depth; the names of members stay as they are. 4,000 texts
 * may each name a value of 64 KiB: rendering stops where there is no room left, not when everything is there.
 * @returns undefined for one that is larger than its room
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
    // From entries: a member that is named __proto__ stays a plain one.
    return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, render(value)]));
  };
  const rendered = render(document);
  return room.charactersLeft < 0 ? undefined : rendered;
}

/** Every text in a document with where it stands: `fields.customFields.region`. */
export function textsIn(document: Json, field: string): { field: string; text: string }[] {
  if (typeof document === 'string') return [{ field, text: document }];
  if (typeof document !== 'object' || document === null) return [];
  return Object.entries(document).flatMap(([name, value]) => textsIn(value, `${field}.${name}`));
}
