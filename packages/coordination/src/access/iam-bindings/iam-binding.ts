import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';
import { accessMembers, hasOneAccess, oneAccess } from '../grants/granted-access.ts';

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
    accessRole: z.string().nullable().meta({
      description:
        'The key of the access role that the permissions follow; `null` for permissions of its own.',
    }),
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

/** The members of a request that name an identity. */
export const IdentityMembers = z.strictObject({
  issuer: z.string().min(1).max(2000),
  iamTenantId: Uuid,
  iamPrincipalId: Uuid,
});

export const IamBindingRequest = IdentityMembers.extend({
  ...accessMembers,
  visibility: visibility.default('tenant'),
})
  .refine(hasOneAccess, oneAccess)
  .meta({ id: 'IamBindingRequest' });
export type IamBindingRequest = z.output<typeof IamBindingRequest>;

/** An identity: its id pair, unique across the installation, and its tenant in the identity service. */
export type Identity = Pick<IamBinding, 'issuer' | 'iamTenantId' | 'iamPrincipalId'>;

export type IamBindingRow = RowOf<Tables['iam_bindings']>;

export const iamBindingOf = wireMapper<IamBindingRow>()(IamBinding, {});
