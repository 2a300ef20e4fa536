import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { Status } from '../../service/fields.ts';

/** The creator; absent if it is the admin. */
const origin = { identityProvider: z.string().optional(), provisioningSource: z.string().optional() };

export const groupCreated = defineEvent(
  'group.created',
  'group',
  z.strictObject({
    groupId: Uuid,
    key: z.string(),
    source: z.enum(['federated', 'scim']).optional(),
    ...origin,
  }),
);

export const groupUpdated = defineEvent(
  'group.updated',
  'group',
  z.strictObject({
    groupId: Uuid,
    key: z.string(),
    /** Where it changed. */
    status: Status.optional(),
    provisioningSource: z.string().optional(),
  }),
);

export const groupDeleted = defineEvent(
  'group.deleted',
  'group',
  z.strictObject({ groupId: Uuid, provisioningSource: z.string().optional() }),
);

export const groupMembershipAdded = defineEvent(
  'group_membership.added',
  'group',
  z.strictObject({ groupId: Uuid, principalId: Uuid, ...origin }),
);

export const groupMembershipRemoved = defineEvent(
  'group_membership.removed',
  'group',
  z.strictObject({ groupId: Uuid, principalId: Uuid, ...origin }),
);
