import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

const user = { provisioningSource: z.string(), scimUserId: Uuid, principalId: Uuid };
const account = z.strictObject({ ...user, active: z.boolean() });

export const scimUserProvisioned = defineEvent('scim_user.provisioned', 'scim_user', account);
export const scimUserUpdated = defineEvent('scim_user.updated', 'scim_user', account);
export const scimUserDeprovisioned = defineEvent(
  'scim_user.deprovisioned',
  'scim_user',
  z.strictObject({ ...user, removedMemberships: z.int() }),
);
