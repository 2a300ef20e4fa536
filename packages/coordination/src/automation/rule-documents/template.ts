import type { Json } from '@baton/kernel/wire';
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

/** A document with the placeholders in its texts resolved, at every depth; the names of members stay as they are. */
export function renderDocument(document: Json, roots: Roots, charactersMax: number): Json {
  if (typeof document === 'string') return renderValue(document, roots, charactersMax);
  if (typeof document !== 'object' || document === null) return document;
  if (Array.isArray(document)) return document.map((item) => renderDocument(item, roots, charactersMax));
  const members = Object.entries(document).map(([name, value]): [string, Json] => [
    name,
    renderDocument(value, roots, charactersMax),
  ]);
  // From entries: a member that is named __proto__ stays a plain one.
  return Object.fromEntries(members);
}

/** Every text in a document with where it stands: `fields.customFields.region`. */
export function textsIn(document: Json, field: string): { field: string; text: string }[] {
  if (typeof document === 'string') return [{ field, text: document }];
  if (typeof document !== 'object' || document === null) return [];
  return Object.entries(document).flatMap(([name, value]) => textsIn(value, `${field}.${name}`));
}
