import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import { Name, NameSet, names as namesOf, tenantParam } from '../../service/fields.ts';
import { NextAfter, pagesByCreation } from '../../service/pages.ts';
import type { Tables } from '../../service/schema.ts';
import type { PrincipalRow } from '../principals/principal.ts';

type ServiceAccountColumns = RowOf<Tables['service_accounts']>;

/** The columns of an account that a change needs. */
export type LockedAccountRow = Pick<
  ServiceAccountColumns,
  'id' | 'tenant_id' | 'principal_id' | 'audiences' | 'scope_ceiling' | 'revoked_at'
>;

/** An account in responses; its secret's hash never leaves the statements that need it. */
export type ServiceAccountRow = Omit<ServiceAccountColumns, 'tenant_id' | 'secret_hash'> &
  Pick<PrincipalRow, 'display_name'>;

const names = z.array(z.string());

export const ServiceAccount = z
  .strictObject({
    principalId: Uuid,
    clientId: z.string(),
    displayName: z.string(),
    audiences: names,
    scopeCeiling: names,
    status: z
      .enum(['active', 'revoked'])
      .describe('The status of the account; its principal can also be disabled.'),
    createdAt: Timestamp,
    revokedAt: Timestamp.nullable(),
    lastUsedAt: Timestamp.nullable(),
  })
  .meta({ id: 'ServiceAccount' });
export type ServiceAccount = z.infer<typeof ServiceAccount>;

export const serviceAccountOf = wireMapper<ServiceAccountRow>()(ServiceAccount, {
  status: ({ revoked_at }) => (revoked_at === null ? 'active' : 'revoked'),
});

const pages = pagesByCreation('service-accounts', ServiceAccount);

/**
 * The cursor is called `nextAfter` here, because service accounts use camel case (see
 * docs/reference/directory.md#conventions).
 */
export const serviceAccountPages = {
  ...pages,
  form: z
    .strictObject({ items: z.array(ServiceAccount), nextAfter: NextAfter })
    .meta({ id: 'ServiceAccountPage' }),
};

const Audiences = namesOf(1).pipe(NameSet);

export const NewServiceAccount = z
  .strictObject({ displayName: Name, audiences: Audiences, scopeCeiling: NameSet.default([]) })
  .meta({ id: 'NewServiceAccount' });
export type NewServiceAccount = z.infer<typeof NewServiceAccount>;

/** The response to a new account: the only one that shows its secret. */
export const CreatedServiceAccount = z
  .strictObject({ principalId: Uuid, clientId: z.string(), clientSecret: z.string() })
  .meta({ id: 'CreatedServiceAccount' });
export type CreatedServiceAccount = z.infer<typeof CreatedServiceAccount>;

export const ServiceAccountChange = z
  .strictObject({
    audiences: Audiences.optional(),
    scopeCeiling: NameSet.optional(),
    rotateSecret: z.boolean().default(false),
  })
  .meta({ id: 'ServiceAccountChange' });
export type ServiceAccountChange = z.infer<typeof ServiceAccountChange>;

export const ChangedServiceAccount = z
  .strictObject({
    principalId: Uuid,
    clientId: z.string(),
    audiences: names,
    scopeCeiling: names,
    clientSecret: z.string().optional().describe('Present only if it was replaced.'),
  })
  .meta({ id: 'ChangedServiceAccount' });
export type ChangedServiceAccount = z.infer<typeof ChangedServiceAccount>;

export const accountParams = { ...tenantParam, clientId: z.string().max(200) };
