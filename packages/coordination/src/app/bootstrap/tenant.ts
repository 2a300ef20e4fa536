import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import { IssuedApiKey } from '../../access/api-keys/api-key.ts';
import { IamBinding } from '../../access/iam-bindings/iam-binding.ts';
import { Principal } from '../../access/principals/principal.ts';
import type { Tables } from '../../service/schema.ts';

export const Tenant = z
  .strictObject({
    id: Uuid,
    slug: z.string(),
    name: z.string(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Tenant' });

export const BootstrapRequest = z
  .strictObject({
    tenantSlug: z
      .string()
      .min(2)
      .max(63)
      .regex(/^[a-z0-9][a-z0-9-]*$/, 'must be lower-case letters, digits and hyphens'),
    tenantName: z.string().min(1).max(200),
    adminDisplayName: z.string().min(1).max(200),
    tenantId: Uuid.optional(),
    iamBinding: z
      .strictObject({ issuer: z.string().min(1).max(2000), iamTenantId: Uuid, iamPrincipalId: Uuid })
      .nullish(),
  })
  .meta({ id: 'BootstrapRequest' });
export type BootstrapRequest = z.output<typeof BootstrapRequest>;

/** A new tenant with the credentials of its administrator. See docs/reference/access.md#bootstrap. */
export const BootstrappedTenant = z
  .strictObject({
    tenant: Tenant,
    adminPrincipal: Principal,
    apiKey: IssuedApiKey,
    iamBinding: IamBinding.nullable(),
  })
  .meta({ id: 'BootstrappedTenant' });
export type BootstrappedTenant = z.infer<typeof BootstrappedTenant>;

export type TenantRow = RowOf<Tables['tenants']>;

export const tenantOf = wireMapper<TenantRow>()(Tenant, {});
