import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Description, DisplayName, Slug } from '@baton/values/keys';
import { Timestamp, Uuid } from '@baton/values/wire';
import { principalKinds, principalStatuses } from '../../access/principals/principal.ts';
import type { Tables } from '../../service/schema.ts';
import { PackageLink } from '../package-link.ts';

/**
 * A function that principals have in the tenant or in a workspace. It grants no permission. See
 * docs/reference/workspaces.md#roles.
 */
export const Role = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    workspaceId: Uuid.nullable().meta({ description: '`null` for a role of the whole tenant.' }),
    slug: z.string(),
    name: z.string(),
    description: z.string(),
    version: z.int().positive(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    package: PackageLink.nullable(),
  })
  .meta({ id: 'Role' });
export type Role = z.infer<typeof Role>;

export const RoleRequest = z
  .strictObject({
    slug: Slug,
    name: DisplayName,
    description: Description.default(''),
    workspaceId: Uuid.nullish(),
  })
  .meta({ id: 'RoleRequest' });
export type RoleRequest = z.output<typeof RoleRequest>;

export const RoleChange = z
  .strictObject({ name: DisplayName.nullish(), description: Description.nullish(), slug: Slug.nullish() })
  .meta({ id: 'RoleChange' });
export type RoleChange = z.output<typeof RoleChange>;

export type RoleRow = RowOf<Tables['roles'], { package: PackageLink | null }>;

export const roleOf = wireMapper<RoleRow>()(Role, {});

/** A summary of a principal that has a role. */
export const RoleHolder = z
  .strictObject({
    id: Uuid,
    kind: z.enum(principalKinds),
    displayName: z.string(),
    status: z.enum(principalStatuses),
  })
  .meta({ id: 'RoleHolder' });
export type RoleHolder = z.infer<typeof RoleHolder>;

export type RoleHolderRow = Pick<
  RowOf<Tables['principals']>,
  'id' | 'kind' | 'display_name' | 'status' | 'created_at'
>;

export const roleHolderOf = wireMapper<RoleHolderRow>()(RoleHolder, {});
