import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

export const roleCreated = defineEvent(
  'role.created',
  'role',
  z.strictObject({ slug: z.string(), name: z.string(), workspaceId: Uuid.nullable() }),
);

export const roleUpdated = defineEvent(
  'role.updated',
  'role',
  z.strictObject({ changes: z.record(z.string(), z.string()), version: z.int() }),
);
