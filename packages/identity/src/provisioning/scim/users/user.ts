import type { RowOf } from '@baton/kernel/database/row';
import type { JsonObject } from '@baton/values/wire';
import type { Tables } from '../../../service/schema.ts';
import { optionalText, requiredText } from '../protocol/documents.ts';

/**
 * The columns needed to change a user and to return it. `document` contains the attributes that have no column of their
 * own.
 */
export type UserRow = Pick<
  RowOf<Tables['scim_users'], { document: JsonObject }>,
  | 'id'
  | 'principal_id'
  | 'external_identity_id'
  | 'user_name'
  | 'external_id'
  | 'display_name'
  | 'active'
  | 'suspended'
  | 'document'
  | 'version'
  | 'created_at'
  | 'modified_at'
>;

/** The attributes of a user that a client can change. */
export interface UserContent {
  readonly userName: string;
  readonly externalId: string | null;
  readonly displayName: string | null;
  /** The status in the directory. A disable by an administrator overrides it and is shown as inactive. */
  readonly active: boolean;
  readonly document: JsonObject;
}

/** @throws Refusal `scim_invalid_value` for a user without a name, or for a string that is too long */
export function contentOf(document: JsonObject): UserContent {
  const { userName: _, externalId: _id, displayName: _name, active, ...rest } = document;
  return {
    userName: requiredText(document, 'userName', 320),
    externalId: optionalText(document, 'externalId', 500),
    displayName: optionalText(document, 'displayName', 200),
    active: active === true,
    document: rest,
  };
}

/** Converts the attributes to the format of the directory; the inverse of `contentOf`. */
export function documentOf(row: UserRow): JsonObject {
  return {
    userName: row.user_name,
    ...(row.external_id === null ? {} : { externalId: row.external_id }),
    ...(row.display_name === null ? {} : { displayName: row.display_name }),
    active: isWantedActive(row),
    ...row.document,
  };
}

/** Whether the user is active in the directory, regardless of a disable by an administrator. */
export function isWantedActive({ active, suspended }: Pick<UserRow, 'active' | 'suspended'>): boolean {
  return active || suspended;
}
