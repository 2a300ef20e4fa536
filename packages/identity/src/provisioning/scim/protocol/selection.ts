import { z } from 'zod';
import type { Json, JsonObject } from '@baton/values/wire';
import { fail } from '../../errors.ts';
import { type ResourceKind, sameName } from './attributes.ts';
import { isObject } from './documents.ts';
import { enterpriseUrn } from './schemas.ts';

/**
 * The attributes that a response shows (RFC 7644, section 3.9), as paths: `userName`, `name.givenName`,
 * `urn:…:manager`.
 */
export interface Selection {
  /**
   * `attributes`; undefined if all are shown.
   */
  readonly only: readonly string[] | undefined;
  /** `excludedAttributes`. */
  readonly without: readonly string[];
}

/** The query of a single resource. */
export const selectionQuery = {
  attributes: z.string().max(16_384).optional(),
  excludedAttributes: z.string().max(16_384).optional(),
};

const namesMax = 200;

/** @throws Refusal `scim_invalid_value`; names aren't validated, so an unknown one selects nothing */
export function parseSelection(
  query: {
    readonly [Name in keyof typeof selectionQuery]?: Json | undefined;
  },
): Selection {
  const { attributes, excludedAttributes } = query;
  return { only: parseNames(attributes), without: parseNames(excludedAttributes) ?? [] };
}

/** A resource with only the selected attributes. `id` and `schemas` are always included. */
export function selectAttributes(kind: ResourceKind, resource: JsonObject, selection: Selection): JsonObject {
  const { only, without } = selection;
  if (only === undefined && without.length === 0) return resource;
  const selected: JsonObject = {};
  for (const [name, value] of Object.entries(resource)) {
    const isAlwaysShown = name === 'id' || name === 'schemas';
    if (name === enterpriseUrn && isObject(value)) {
      const part = selectOfExtension(value, name, selection);
      if (Object.keys(part).length > 0) selected[name] = part;
      continue;
    }
    const shown = isAlwaysShown ? value : selectOf(name, value, kind.core.urn, selection);
    if (shown !== undefined) selected[name] = shown;
  }
  return selected;
}

/**
 * Whether a response includes a core attribute or a part of it. An attribute that isn't included need not be read from
 * the database.
 */
export function isSelected(kind: ResourceKind, name: string, { only, without }: Selection): boolean {
  const { urn } = kind.core;
  const topNames = only?.map((path) => withoutUrn(path, urn).split('.')[0] as string);
  return selectOf(name, true, urn, { only: topNames, without }) !== undefined;
}

function selectOfExtension(part: JsonObject, urn: string, { only, without }: Selection): JsonObject {
  if (without.some((path) => sameName(path, urn))) return {};
  const isWhole = only?.some((path) => sameName(path, urn)) === true;
  const inside: Selection = {
    only: only === undefined || isWhole ? undefined : pathsBelow(only, `${urn}:`),
    without: pathsBelow(without, `${urn}:`),
  };
  const selected: JsonObject = {};
  for (const [name, value] of Object.entries(part)) {
    const shown = selectOf(name, value, urn, inside);
    if (shown !== undefined) selected[name] = shown;
  }
  return selected;
}

/** The selected part of one attribute; undefined if no part is selected. */
function selectOf(name: string, value: Json, urn: string, { only, without }: Selection): Json | undefined {
  const excluded = without.map((path) => withoutUrn(path, urn));
  if (excluded.some((path) => sameName(path, name))) return undefined;
  const hidden = pathsBelow(excluded, `${name}.`).map((path) => path.toLowerCase());
  const rest = filterParts(value, (part) => !hidden.includes(part));
  if (only === undefined) return rest;
  const included = only.map((path) => withoutUrn(path, urn));
  if (included.some((path) => sameName(path, name))) return rest;
  const shown = pathsBelow(included, `${name}.`).map((path) => path.toLowerCase());
  return shown.length === 0 ? undefined : filterParts(rest, (part) => shown.includes(part));
}

/** @param isKept called with the name of a part in lower case */
function filterParts(value: Json, isKept: (part: string) => boolean): Json {
  if (Array.isArray(value)) return value.map((element) => filterParts(element, isKept));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([part]) => isKept(part.toLowerCase())));
}

/** The paths that begin with the prefix; the prefix is removed from them. */
function pathsBelow(paths: readonly string[], prefix: string): string[] {
  return paths.filter((path) => startsWith(path, prefix)).map((path) => path.slice(prefix.length));
}

function withoutUrn(path: string, urn: string): string {
  return startsWith(path, `${urn}:`) ? path.slice(urn.length + 1) : path;
}

function startsWith(path: string, prefix: string): boolean {
  return path.toLowerCase().startsWith(prefix.toLowerCase());
}

function parseNames(value: Json | undefined): string[] | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const names = typeof value === 'string' ? value.split(',') : value;
  if (!Array.isArray(names)) return fail('scim_invalid_value');
  return names
    .slice(0, namesMax)
    .map((name) => (typeof name === 'string' ? name.trim() : fail('scim_invalid_value')));
}
