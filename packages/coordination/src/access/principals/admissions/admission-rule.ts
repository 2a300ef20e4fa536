import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import type { Tables } from '../../../service/schema.ts';
import { AccessRoleRef } from '../../grants/granted-access.ts';

/** The role with which an identity provider may admit unknown people automatically. */
export const AdmissionRule = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    issuer: z.string(),
    iamTenantId: Uuid,
    identityProvider: z.string(),
    accessRole: z.string(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'AdmissionRule' });
export type AdmissionRule = z.infer<typeof AdmissionRule>;

export const AdmissionRuleRequest = z
  .strictObject({
    accessRole: AccessRoleRef.meta({ description: 'The key or the id of an access role without `admin`.' }),
  })
  .meta({ id: 'AdmissionRuleRequest' });

export type AdmissionRuleRow = RowOf<Tables['admission_rules']>;

export const admissionRuleOf = wireMapper<AdmissionRuleRow>()(AdmissionRule, {});
