import { z } from 'zod';
import { FreeObject, type JsonObject, Timestamp, Uuid } from '@baton/values/wire';
import { documentBytesMax } from '../../service/documents.ts';

const updated = { updatedBy: Uuid.nullable(), updatedAt: Timestamp.nullable() };

/** The settings of an installed package, as listed. See docs/reference/packages.md#package-settings. */
export const PackageSettingsItem = z
  .strictObject({
    package: z.string(),
    title: z.string(),
    packageVersion: z.string(),
    version: z.int().min(0).meta({ description: '0 until the settings are set.' }),
    ...updated,
  })
  .meta({ id: 'PackageSettingsItem' });
export type PackageSettingsItem = z.infer<typeof PackageSettingsItem>;

export const PackageSettings = z
  .strictObject({
    ...PackageSettingsItem.shape,
    schema: FreeObject,
    uischema: FreeObject.nullable(),
    values: FreeObject.meta({ description: 'The values that were set.' }),
    effective: FreeObject.meta({ description: 'The values merged over the defaults of the schema.' }),
    schemaHash: z.string(),
    canManage: z.boolean().meta({ description: 'Whether the caller may set them.' }),
  })
  .meta({ id: 'PackageSettings' });
export type PackageSettings = z.infer<typeof PackageSettings>;

/** The settings as an agent of the package reads them. See docs/reference/agents.md#read. */
export const SettingsForAgent = z
  .strictObject({
    package: z.string(),
    version: PackageSettingsItem.shape.version,
    schemaRevision: z.int().positive(),
    values: PackageSettings.shape.values,
  })
  .meta({ id: 'SettingsForAgent' });
export type SettingsForAgent = z.infer<typeof SettingsForAgent>;

export const PackageSettingsVersion = z
  .strictObject({
    version: z.int().positive(),
    values: FreeObject,
    schemaRevision: z.int().positive(),
    schemaHash: z.string(),
    changedPaths: z.array(z.string()),
    createdBy: Uuid,
    createdAt: Timestamp,
  })
  .meta({ id: 'PackageSettingsVersion' });
export type PackageSettingsVersion = z.infer<typeof PackageSettingsVersion>;

export const PackageSettingsChange = z
  .strictObject({
    values: z.unknown().meta({
      type: 'object',
      'x-maxBytes': documentBytesMax,
      description: 'The full set of values; omitted ones have their default.',
    }),
  })
  .meta({ id: 'PackageSettingsChange' });

export interface SettingsRow {
  id: string;
  key: string;
  version: string;
  settings_title: string | null;
  settings_schema: JsonObject | null;
  settings_uischema: JsonObject | null;
  settings_schema_hash: string | null;
  settings_schema_revision: number;
  settings_values: JsonObject;
  settings_version: number;
  settings_updated_by: string | null;
  settings_updated_at: string | null;
}

/** A package that declares settings. */
export type DeclaredRow = SettingsRow & {
  settings_title: string;
  settings_schema: JsonObject;
  settings_schema_hash: string;
};

export type SettingsVersionRow = {
  version: number;
  values: JsonObject;
  schema_revision: number;
  schema_hash: string;
  changed_paths: string[];
  created_by: string;
  created_at: string;
};

/** Validated settings of a package, ready to be stored. */
export interface SettingsDeclaration {
  readonly title: string;
  readonly schema: JsonObject;
  readonly uischema: JsonObject | null;
  readonly schemaHash: string;
}
