import { z } from 'zod';
import type { RowOf } from '@baton/kernel/database/row';
import { Description, DisplayName } from '@baton/values/keys';
import { Timestamp, Uuid } from '@baton/values/wire';
import { describePermissions } from '../../service/permissions.ts';
import type { Tables } from '../../service/schema.ts';
import type { Preset } from '../grants/presets.ts';
import { PermissionList } from '../permission-list.ts';

/** A named list of permissions. See docs/reference/access.md#access-roles. */
export const AccessRole = z
  .strictObject({
    id: Uuid.nullable().meta({ description: '`null` for a built-in role.' }),
    key: z.string(),
    name: z.string(),
    description: z.string(),
    permissions: z.array(z.string()),
    allows: z.array(z.string()).meta({ description: 'What its permissions allow, in words.' }),
    isBuiltIn: z.boolean(),
    version: z.int().positive(),
    createdAt: Timestamp.nullable(),
    updatedAt: Timestamp.nullable(),
  })
  .meta({ id: 'AccessRole' });
export type AccessRole = z.infer<typeof AccessRole>;

/** At most 32 characters, so that no key can be mistaken for an id. */
const Key = z
  .string()
  .min(2)
  .max(32)
  .regex(/^[a-z][a-z0-9-]*$/, 'must be lower-case letters, digits and -, beginning with a letter');

export const AccessRoleRequest = z
  .strictObject({
    key: Key,
    name: DisplayName,
    description: Description.default(''),
    permissions: PermissionList.min(1),
  })
  .meta({ id: 'AccessRoleRequest' });
export type AccessRoleRequest = z.output<typeof AccessRoleRequest>;

export const AccessRoleChange = z
  .strictObject({
    name: DisplayName.nullish(),
    description: Description.nullish(),
    permissions: PermissionList.min(1).nullish(),
  })
  .meta({ id: 'AccessRoleChange' });
export type AccessRoleChange = z.output<typeof AccessRoleChange>;

/** A permission, in words for people. */
export const ListedPermission = z
  .strictObject({
    name: z.string(),
    allows: z.string().meta({ description: 'What it allows, in words.' }),
    peopleOnly: z.boolean().meta({ description: 'Whether agents and services never have it.' }),
  })
  .meta({ id: 'Permission' });
export type ListedPermission = z.infer<typeof ListedPermission>;

export type AccessRoleRow = RowOf<Tables['access_roles']>;

export function accessRoleOf(row: AccessRoleRow): AccessRole {
  const { id, key, name, description, permissions, version } = row;
  return {
    id,
    key,
    name,
    description,
    permissions,
    allows: describePermissions(permissions),
    isBuiltIn: false,
    version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export function accessRoleOfPreset({ key, name, description, permissions }: Preset): AccessRole {
  return {
    id: null,
    key,
    name,
    description,
    permissions: [...permissions],
    allows: describePermissions(permissions),
    isBuiltIn: true,
    version: 1,
    createdAt: null,
    updatedAt: null,
  };
}
