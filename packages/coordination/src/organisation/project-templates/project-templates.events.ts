import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';

const version = { key: z.string(), version: z.int() };

export const projectTemplateCreated = defineEvent(
  'project_template.created',
  'project_template',
  z.strictObject({ ...version, displayName: z.string(), initialStatus: z.string() }),
);
export const projectTemplateDeprecated = defineEvent(
  'project_template.deprecated',
  'project_template',
  z.strictObject(version),
);
