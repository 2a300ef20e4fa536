import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

export const projectCreated = defineEvent(
  'project.created',
  'project',
  z.strictObject({
    workspaceId: Uuid,
    parentProjectId: Uuid.nullable(),
    templateKey: z.string(),
    templateVersion: z.int(),
    statusKey: z.string(),
    systemStatusCategory: z.string(),
  }),
);

/** `changes` holds names, never values. */
export const projectUpdated = defineEvent(
  'project.updated',
  'project',
  z.strictObject({ changes: z.array(z.string()), version: z.int() }),
);

export const projectStatusChanged = defineEvent(
  'project.status_changed',
  'project',
  z.strictObject({
    fromStatusKey: z.string(),
    fromSystemStatusCategory: z.string(),
    statusKey: z.string(),
    systemStatusCategory: z.string(),
    comment: z.string(),
    version: z.int(),
  }),
);

const record = z.strictObject({ workspaceId: Uuid, version: z.int() });
export const projectArchived = defineEvent('project.archived', 'project', record);
export const projectRestored = defineEvent('project.restored', 'project', record);

const revision = { revision: z.int(), revisionId: Uuid };
export const projectConfigRevisionCreated = defineEvent(
  'project.config_revision_created',
  'project',
  z.strictObject({ ...revision, comment: z.string() }),
);
export const projectConfigRevisionActivated = defineEvent(
  'project.config_revision_activated',
  'project',
  z.strictObject({ ...revision, version: z.int() }),
);
