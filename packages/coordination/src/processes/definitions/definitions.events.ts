import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

const entity = 'process_definition';

/** The maximum number of elements in the event about a publication; a larger definition has to be read from the API. */
export const elementsNamedMax = 500;

/** `previousVersion` is null for the first version of a key. */
export const definitionPublished = defineEvent(
  'process.definition_published',
  entity,
  z.strictObject({
    key: z.string(),
    version: z.int(),
    definitionHash: z.string(),
    previousVersion: z.int().nullable(),
    workspaceId: Uuid.nullable(),
    identityAgent: z.string(),
    displayName: z.string(),
    governedBy: z.array(z.string()),
    elements: z.array(z.strictObject({ id: z.string(), kind: z.string() })),
  }),
);

export const definitionRetired = defineEvent(
  'process.definition_retired',
  entity,
  z.strictObject({
    key: z.string(),
    latestVersion: z.int(),
    workspaceId: Uuid.nullable(),
    reason: z.string(),
    openInstances: z.int(),
    byVersion: z.array(z.strictObject({ version: z.int(), openInstances: z.int() })),
  }),
);

/** `package` is absent if a person published a new version. */
export const definitionRestored = defineEvent(
  'process.definition_restored',
  entity,
  z.strictObject({
    key: z.string(),
    latestVersion: z.int(),
    packageKey: z.string().nullable(),
    packageVersion: z.string().nullable(),
  }),
);
