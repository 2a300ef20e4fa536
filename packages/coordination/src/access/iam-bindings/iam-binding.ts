import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';
import { PermissionList } from '../permission-list.ts';

/**
 * `members`: the person sees only workspaces of their own memberships and the workspaces below them. See
 * docs/reference/access.md#bindings.
 */
const visibility = z.enum(['tenant', 'members']);

/** An identity of the identity service that acts as a principal with these permissions. */
export const IamBinding = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    principalId: Uuid,
    issuer: z.string(),
    iamTenantId: Uuid,
    iamPrincipalId: Uuid,
    permissions: z.array(z.string()),
    visibility,
    status: z.enum(['active', 'disabled', 'revoked']),
    revokedAt: Timestamp.nullable(),
    lastUsedAt: Timestamp.nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'IamBinding' });
export type IamBinding = z.infer<typeof IamBinding>;

export const IamBindingRequest = z
  .strictObject({
    issuer: z.string().min(1).max(2000),
    iamTenantId: Uuid,
    iamPrincipalId: Uuid,
    permissions: PermissionList.min(1),
    visibility: visibility.default('tenant'),
  })
  .meta({ id: 'IamBindingRequest' });
export type IamBindingRequest = z.output<typeof IamBindingRequest>;

/** An identity: its id pair, unique across the installation, and its tenant in the identity service. */
export type Identity = Pick<IamBinding, 'issuer' | 'iamTenantId' | 'iamPrincipalId'>;

export type IamBindingRow = RowOf<Tables['iam_bindings']>;

export const iamBindingOf = wireMapper<IamBindingRow>()(IamBinding, {});
