import type { Json, JsonObject } from '@baton/kernel/wire';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { isSelected, type Selection, selectAttributes } from '../protocol/documents.ts';
import { sourceOf } from '../protocol/scim-access.ts';
import { versionTag } from '../protocol/scim-answer.ts';
import { enterpriseUrn, type ResourceKind, userKind, userUrn } from '../protocol/schemas.ts';
import { findGroupsOf, type UserContent, type UserRow } from './users.sql.ts';

/** A user as it is stored and as it is shown. */

/** @throws Refusal `scim_invalid_value` for a user without a name, or with one that is too long */
export function contentOf(document: JsonObject): UserContent {
  const { userName, externalId, displayName, active, ...rest } = document;
  return {
    userName: required(userName, 320),
    externalId: optional(externalId, 500),
    displayName: optional(displayName, 200),
    active: active === true,
    document: rest,
  };
}

export function required(value: Json | undefined, charactersMax: number): string {
  return optional(value, charactersMax) ?? fail('scim_invalid_value');
}

/** Empty texts are absent ones. */
export function optional(value: Json | undefined, charactersMax: number): string | null {
  if (typeof value !== 'string' || value === '') return null;
  return [...value].length > charactersMax ? fail('scim_invalid_value') : value;
}

/** All that a client can change, as one document. */
export function documentOf(row: UserRow): JsonObject {
  return {
    userName: row.user_name,
    ...(row.external_id === null ? {} : { externalId: row.external_id }),
    ...(row.display_name === null ? {} : { displayName: row.display_name }),
    active: row.active,
    ...row.document,
  };
}

/** Users as answers show them; the groups of all of them in one read, and only where they are shown. */
export async function showUsers(
  context: Context,
  rows: readonly UserRow[],
  selection: Selection,
): Promise<JsonObject[]> {
  const groups = new Map<string, JsonObject[]>();
  if (rows.length > 0 && isSelected(userKind, 'groups', selection)) {
    const ids = rows.map(({ principal_id: id }) => id);
    for (const { principal_id: principalId, id, display_name: display } of await context.db.rows(
      findGroupsOf(sourceOf(context).id, ids),
    )) {
      const list = groups.get(principalId) ?? [];
      groups.set(principalId, list);
      const $ref = `${scimBase(context)}/Groups/${id}`;
      list.push({ value: id, $ref, display, type: 'direct' });
    }
  }
  return rows.map((row) => {
    const hasExtension = row.document[enterpriseUrn] !== undefined;
    const mine = groups.get(row.principal_id);
    const whole: JsonObject = {
      schemas: hasExtension ? [userUrn, enterpriseUrn] : [userUrn],
      id: row.id,
      ...documentOf(row),
      groups: mine ?? [],
      meta: metaOf(context, userKind, row),
    };
    return selectAttributes(userKind, whole, selection);
  });
}

export function metaOf(
  context: Context,
  kind: ResourceKind,
  row: { id: string; created_at: string; modified_at: string; version: number },
): JsonObject {
  return {
    resourceType: kind.name,
    created: row.created_at,
    lastModified: row.modified_at,
    location: locationOf(context, kind, row.id),
    version: versionTag(row.version),
  };
}

export function locationOf(context: Pick<Context, 'settings'>, kind: ResourceKind, id: string): string {
  return `${scimBase(context)}${kind.endpoint}/${id}`;
}

export function scimBase({ settings }: Pick<Context, 'settings'>): string {
  return `${settings.issuer}/scim/v2`;
}
