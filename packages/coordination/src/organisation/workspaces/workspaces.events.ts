import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

export const workspaceCreated = defineEvent(
  'workspace.created',
  'workspace',
  z.strictObject({ slug: z.string(), name: z.string(), parentId: Uuid.nullable(), typeKey: z.string() }),
);

/**
 * `changes` is true for customFields, taskTypes and calendarKey, and contains the new value for other fields.
 */
export const workspaceUpdated = defineEvent(
  'workspace.updated',
  'workspace',
  z.strictObject({
    changes: z.record(z.string(), z.union([z.string(), z.literal(true)])),
    version: z.int(),
  }),
  2,
);

const slug = z.strictObject({ slug: z.string() });
export const workspaceArchived = defineEvent('workspace.archived', 'workspace', slug);
export const workspaceRestored = defineEvent('workspace.restored', 'workspace', slug);

export const workspaceMoved = defineEvent(
  'workspace.moved',
  'workspace',
  z.strictObject({ fromParentId: Uuid.nullable(), toParentId: Uuid.nullable() }),
);
