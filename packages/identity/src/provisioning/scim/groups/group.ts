import { randomBytes } from 'node:crypto';
import type { RowOf } from '@baton/kernel/database/row';
import type { JsonObject } from '@baton/values/wire';
import type { Tables } from '../../../service/schema.ts';
import { optionalText, requiredText } from '../protocol/documents.ts';

/** The columns of a group that its changes and its responses need; its members are rows of another table. */
export type GroupRow = Pick<
  RowOf<Tables['scim_groups']>,
  'id' | 'group_id' | 'display_name' | 'external_id' | 'version' | 'created_at' | 'modified_at'
>;

/** The attributes of a group that a client can change, except its members. */
export interface GroupContent {
  readonly displayName: string;
  readonly externalId: string | null;
}

const keyCharactersMax = 120;

/** @throws Refusal `scim_invalid_value` for a group without a name, or for a string that is too long */
export function contentOf(document: JsonObject): GroupContent {
  return {
    displayName: requiredText(document, 'displayName', 200),
    externalId: optionalText(document, 'externalId', 500),
  };
}

/** Converts the attributes to a document; the inverse of `contentOf`. */
export function documentOf(row: GroupRow): JsonObject {
  return {
    displayName: row.display_name,
    ...(row.external_id === null ? {} : { externalId: row.external_id }),
  };
}

/** `Sales & Support` is `sales-support`; a name without ASCII letters or digits gets a random key. */
export function keyOf(displayName: string): string {
  const key = displayName
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, keyCharactersMax);
  return key === '' ? `scim-${randomBytes(6).toString('hex')}` : key;
}

const keysMax = 1000;

/** The keys to try in turn: `sales`, `sales-2`, `sales-3` … */
export function keysLike(key: string): string[] {
  const numbered = Array.from({ length: keysMax - 1 }, (_, n) => {
    const ending = `-${n + 2}`;
    return `${key.slice(0, keyCharactersMax - ending.length)}${ending}`;
  });
  return [key, ...numbered];
}
