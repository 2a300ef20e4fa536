import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

const reference = z.strictObject({
  externalReferenceId: Uuid,
  externalSystem: z.string(),
  externalType: z.string(),
  externalId: z.string(),
});
export const externalReferenceAdded = defineEvent('task.external_reference_added', 'task', reference);
export const externalReferenceUpdated = defineEvent('task.external_reference_updated', 'task', reference);
export const externalReferenceRemoved = defineEvent('task.external_reference_removed', 'task', reference);
export const projectReferenceAdded = defineEvent('project.external_reference_added', 'project', reference);
export const projectReferenceUpdated = defineEvent(
  'project.external_reference_updated',
  'project',
  reference,
);
export const projectReferenceRemoved = defineEvent(
  'project.external_reference_removed',
  'project',
  reference,
);
