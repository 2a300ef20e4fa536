import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';

const permissions = z.array(z.string());

export const accessRoleCreated = defineEvent(
  'access_role.created',
  'access_role',
  z.strictObject({ key: z.string(), name: z.string(), permissions }),
);

/**
 * `changes` contains the names of the fields; `bindings` is how many got other permissions, each with its own event.
 */
export const accessRoleUpdated = defineEvent(
  'access_role.updated',
  'access_role',
  z.strictObject({
    key: z.string(),
    version: z.int(),
    changes: z.array(z.string()),
    permissions,
    bindings: z.int(),
  }),
);

export const accessRoleDeleted = defineEvent(
  'access_role.deleted',
  'access_role',
  z.strictObject({ key: z.string() }),
);
