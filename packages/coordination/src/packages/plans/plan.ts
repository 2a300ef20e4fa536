import { z } from 'zod';
import { Timestamp, Uuid } from '@baton/values/wire';
import { PackageName } from '../../organisation/package-link.ts';
import { AnyJson } from '../../rules/documents/any-json.ts';
import { objectKinds, PackageProblem, PackageSource } from '../source/package-source.ts';

/** Schemas of plans (docs/reference/packages.md#plan). */

export const changeActions = ['create', 'update', 'rename', 'restore', 'retire', 'unchanged'] as const;

/** The maximum number of changes per apply: each takes about 10 ms under the locks of the tenant's catalogue. */
export const changesMax = 100;
export const replaysMax = 200;

export const PackagePlanRequest = z
  .strictObject({
    package: PackageSource,
    workspaceId: Uuid.nullish().describe('The default workspace of processes and rules.'),
    replayLimit: z.int().min(0).max(replaysMax).default(50),
    overwriteConsole: z
      .boolean()
      .default(false)
      .describe('Also overwrite changes that people made since the last apply.'),
  })
  .meta({ id: 'PackagePlanRequest' });
export type PackagePlanRequest = z.output<typeof PackagePlanRequest>;

const PlannedField = z
  .strictObject({
    path: z.string(),
    before: AnyJson,
    after: AnyJson,
    owner: z.enum(['package', 'console']).describe('The source of the last change.'),
    applies: z.boolean(),
  })
  .meta({
    id: 'PlannedField',
    description:
      'A field of the document. A value of more than 2048 bytes, or after the first 1 MiB of all values, is shown as its `sha256` and `bytes`.',
  });
export type PlannedField = z.infer<typeof PlannedField>;

const PlannedChange = z
  .strictObject({
    kind: z.enum(objectKinds),
    key: z.string(),
    action: z.enum(changeActions),
    renamedFrom: z.string().nullable(),
    fields: z.array(PlannedField),
    deprecates: z.array(z.int()).describe('For a task type: the versions that are deprecated.'),
  })
  .meta({ id: 'PlannedChange' });
export type PlannedChange = z.infer<typeof PlannedChange>;

const PlannedProcess = z
  .strictObject({
    key: z.string(),
    fromVersion: z.int().nullable(),
    toVersion: z.int().nullable().describe('Null for a retired object.'),
    behaviour: z
      .strictObject({ replayed: z.int(), diverged: z.int(), instanceIds: z.array(Uuid) })
      .describe('The number of instances replayed with the new version, and those that took another path.'),
    instances: z.array(
      z.strictObject({
        version: z.int(),
        open: z.int(),
        fate: z.enum(['pin', 'migrate', 'unaffected']),
        migrationRequired: z.boolean(),
      }),
    ),
    deadlines: z.array(z.strictObject({ instanceId: Uuid, dueAt: Timestamp })),
    deadlinesTotal: z.int(),
  })
  .meta({ id: 'PlannedProcess' });
export type PlannedProcess = z.infer<typeof PlannedProcess>;

const PlannedSettings = z
  .strictObject({
    action: z.enum(['create', 'update', 'retire', 'unchanged']),
    title: z.string().nullable(),
    schemaHash: z.string().nullable(),
    previousSchemaHash: z.string().nullable(),
  })
  .meta({ id: 'PlannedSettings' });
export type PlannedSettings = z.infer<typeof PlannedSettings>;

const PlanHash = z.string().regex(/^sha256:[0-9a-f]{64}$/);

export const PackagePlan = z
  .strictObject({
    planHash: PlanHash,
    catalogEtag: z.string(),
    package: PackageName.nullable().describe('Null if package.yaml cannot be read.'),
    changes: z.array(PlannedChange),
    outside: z
      .array(
        z.strictObject({
          kind: z.string(),
          key: z.string(),
          appliedBy: z.enum(['installer', 'notification-service']),
        }),
      )
      .describe('Objects of the package that do not change.'),
    processes: z.array(PlannedProcess),
    regulationCoverage: z.array(z.strictObject({ document: z.string(), processes: z.array(z.string()) })),
    settings: PlannedSettings.nullable(),
    problems: z.array(PackageProblem),
    createdAt: Timestamp,
  })
  .meta({ id: 'PackagePlan' });
export type PackagePlan = z.infer<typeof PackagePlan>;

export const PackageApplication = z
  .strictObject({
    package: PackageSource,
    planHash: PlanHash.describe('The hash of the plan to apply.'),
    workspaceId: Uuid.nullish(),
    overwriteConsole: z.boolean().default(false),
  })
  .meta({ id: 'PackageApplication' });

export const AppliedPackage = z
  .strictObject({
    planHash: PlanHash,
    catalogEtag: z.string(),
    applied: z.array(
      z.strictObject({
        kind: z.enum(objectKinds),
        key: z.string(),
        action: z.enum(changeActions),
        version: z.int().nullable(),
      }),
    ),
  })
  .meta({ id: 'AppliedPackage' });
export type AppliedPackage = z.infer<typeof AppliedPackage>;

/** The inputs of a plan. */
export interface PlanOptions {
  readonly workspaceId: string | null;
  readonly overwriteConsole: boolean;
}
