import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import type { ProcessSpec } from '@baton/process-engine/language/definition';
import { Assignee } from '@baton/process-engine/language/forms';
import { ProcessProblem } from '@baton/process-engine/language/problems';
import { specBytesMax } from '@baton/process-engine/language/read-definition';
import { TypeKey } from '@baton/values/keys';
import { FreeObject, type JsonObject, pageOf, Timestamp, Uuid } from '@baton/values/wire';
import { PackageLink } from '../../organisation/package-link.ts';
import type { Tables } from '../../service/schema.ts';

export const definitionStatuses = ['active', 'retired'] as const;

const Retired = z.strictObject({ at: Timestamp, by: Uuid, reason: z.string() }).nullable();

/** One version of a process (docs/reference/processes.md#definitions). */
export const ProcessDefinition = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    workspaceId: Uuid.nullable(),
    key: z.string(),
    version: z.int().positive(),
    latestVersion: z.int().positive(),
    displayName: z.string(),
    definitionHash: z.string().describe('The hash of the definition in canonical form, defaults included.'),
    identityAgent: z.string().describe('The agent that the process acts as.'),
    owner: z.array(Assignee).nullable(),
    expressionProfile: z.string(),
    engineRevision: z.int(),
    spec: FreeObject.describe('The definition, with defaults for omitted members.'),
    warnings: z.array(ProcessProblem),
    status: z.enum(definitionStatuses).describe('The status of the key, which all versions share.'),
    retired: Retired,
    createdBy: Uuid,
    createdAt: Timestamp,
    package: PackageLink.nullable(),
  })
  .meta({ id: 'ProcessDefinition' });
export type ProcessDefinition = z.infer<typeof ProcessDefinition>;

export const ProcessDefinitionPage = pageOf(ProcessDefinition);

export const ProcessDefinitionRequest = z
  .strictObject({
    key: TypeKey,
    spec: z.unknown().meta({
      'x-maxBytes': specBytesMax,
      description: `The definition: an object of at most ${specBytesMax} bytes of JSON, or a text of YAML of at most 65536 characters.`,
    }),
  })
  .meta({ id: 'ProcessDefinitionRequest' });
export type ProcessDefinitionRequest = z.output<typeof ProcessDefinitionRequest>;

export const ProcessRetirement = z
  .strictObject({ reason: z.string().min(1).max(500) })
  .meta({ id: 'ProcessRetirement' });

/** A retired process, and its number of open instances, which continue with the version that they started with. */
export const RetiredProcess = z
  .strictObject({
    key: z.string(),
    status: z.enum(definitionStatuses),
    retired: Retired,
    openInstances: z.int(),
    byVersion: z.array(z.strictObject({ version: z.int(), openInstances: z.int() })),
  })
  .meta({ id: 'RetiredProcess' });
export type RetiredProcess = z.infer<typeof RetiredProcess>;

/** A version as stored. */
export type ProcessDefinitionRow = RowOf<
  Tables['process_definitions'],
  {
    spec: ProcessSpec;
    warnings: ProcessProblem[];
    status: (typeof definitionStatuses)[number];
    package: PackageLink | null;
  }
>;

/** A version, with the current state of its key. */
export type KeyedDefinitionRow = ProcessDefinitionRow & { latest_version: number };

export const definitionOf = wireMapper<KeyedDefinitionRow>()(ProcessDefinition, {
  displayName: ({ spec }) => spec.displayName,
  spec: ({ spec }) => spec as unknown as JsonObject,
  owner: ({ spec }) => spec.owner ?? null,
  retired: retiredOf,
});

export function retiredOf({
  retired_at: at,
  retired_by: by,
  retired_reason: reason,
}: Pick<ProcessDefinitionRow, 'retired_at' | 'retired_by' | 'retired_reason'>): ProcessDefinition['retired'] {
  return at === null || by === null || reason === null ? null : { at, by, reason };
}
