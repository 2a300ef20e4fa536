import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import { Name, Status } from '../../service/fields.ts';
import { pagesByCreation } from '../../service/pages.ts';
import type { Tables } from '../../service/schema.ts';

export type TenantRow = RowOf<Tables['tenants']>;

export const Tenant = z
  .strictObject({ id: Uuid, slug: z.string(), name: z.string(), status: Status, created_at: Timestamp })
  .meta({ id: 'Tenant' });

export const tenantOf = wireMapper<TenantRow>()(Tenant, {});

export const NewTenant = z
  .strictObject({
    slug: z.string().regex(/^[a-z0-9][a-z0-9-]{1,78}[a-z0-9]$/),
    name: Name,
    id: Uuid.nullish().describe('A client-chosen identifier.'),
  })
  .meta({ id: 'NewTenant' });
export type NewTenant = z.infer<typeof NewTenant>;

/** The id and the slug never change, because other systems refer to the tenant by them. */
export const TenantChange = z
  .strictObject({
    name: Name.optional(),
    status: Status.optional().describe('`disabled` closes every credential of the tenant at once.'),
  })
  .meta({ id: 'TenantChange' });
export type TenantChange = z.infer<typeof TenantChange>;

export const tenantPages = pagesByCreation('tenants', Tenant);

export const tenantQuery = {
  ...tenantPages.query,
  status: Status.optional(),
  slug: z.string().max(80).optional(),
};
export type TenantQuery = z.infer<z.ZodObject<typeof tenantQuery>>;
