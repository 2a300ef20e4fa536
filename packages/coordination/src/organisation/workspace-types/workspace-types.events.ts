import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';

export const workspaceTypeCreated = defineEvent(
  'workspace_type.created',
  'workspace_type',
  z.strictObject({ key: z.string(), displayName: z.string(), allowedChildTypes: z.array(z.string()) }),
);

/**
 * `changes` is true for fieldSchema, and contains the new value for other fields.
 */
export const workspaceTypeUpdated = defineEvent(
  'workspace_type.updated',
  'workspace_type',
  z.strictObject({
    changes: z.record(z.string(), z.union([z.string(), z.array(z.string()), z.literal(true)])),
    version: z.int(),
  }),
);

const key = z.strictObject({ key: z.string() });
export const workspaceTypeArchived = defineEvent('workspace_type.archived', 'workspace_type', key);
export const workspaceTypeRestored = defineEvent('workspace_type.restored', 'workspace_type', key);
