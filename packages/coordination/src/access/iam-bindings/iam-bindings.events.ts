import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

const boundIdentity = {
  principalId: Uuid,
  issuer: z.string(),
  iamTenantId: Uuid,
  iamPrincipalId: Uuid,
  /** The access role that the permissions follow. */
  accessRole: z.string().nullable(),
  permissions: z.array(z.string()),
  visibility: z.enum(['tenant', 'members']),
};

export const iamBindingCreated = defineEvent(
  'iam_binding.created',
  'iam_binding',
  z.strictObject(boundIdentity),
  2,
);

/** `previousPrincipalId` is present if the identity moved from another principal. */
export const iamBindingUpdated = defineEvent(
  'iam_binding.updated',
  'iam_binding',
  z.strictObject({ ...boundIdentity, previousPrincipalId: Uuid.optional() }),
  2,
);

export const iamBindingRevoked = defineEvent(
  'iam_binding.revoked',
  'iam_binding',
  z.strictObject({ principalId: Uuid, issuer: z.string(), iamPrincipalId: Uuid }),
);
