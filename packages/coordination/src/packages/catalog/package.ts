import { z } from 'zod';
import { PackageName } from '../../organisation/package-link.ts';
import type { Permission } from '../../service/permissions.ts';

/** The kinds that an installer records, with the permission for changing an object of each kind. */
export const recordedKinds = {
  ArtifactType: 'artifact_types.manage',
  TaskType: 'task_types.manage',
  ProjectTemplate: 'project_templates.manage',
  WorkspaceType: 'workspaces.manage',
  Role: 'org.manage',
  Capability: 'org.manage',
  ConnectionType: 'connections.manage',
  Skill: 'org.manage',
  WorkRule: 'rules.write',
  Agent: 'agents.manage',
} as const satisfies Record<string, Permission>;
export type RecordedKind = keyof typeof recordedKinds;

const PackageObject = z
  .strictObject({
    kind: z.enum(Object.keys(recordedKinds) as [RecordedKind, ...RecordedKind[]]),
    key: z.string().min(1).max(251).meta({
      description:
        'The slug of a role of the tenant, the name of a capability, the name or name@version of a skill.',
    }),
  })
  .meta({ id: 'PackageObject' });
export type PackageObject = z.infer<typeof PackageObject>;

export const objectsMax = 1000;

export const PackageRecord = z
  .strictObject({
    package: PackageName,
    installHash: z.string().min(1).max(200).nullish(),
    objects: z.array(PackageObject).min(1).max(objectsMax),
  })
  .meta({ id: 'PackageRecord' });
export type PackageRecord = z.output<typeof PackageRecord>;

export const RecordedPackage = z
  .strictObject({
    package: PackageName,
    installHash: z.string().nullable(),
    objects: z.array(PackageObject).meta({ description: 'The objects of the request, each once.' }),
  })
  .meta({ id: 'RecordedPackage' });
export type RecordedPackage = z.infer<typeof RecordedPackage>;
