import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { canonicalJson } from '@baton/values/canonical-json';
import { prepareSchema } from '@baton/values/json-schema/schema';
import type { JsonObject } from '@baton/values/wire';
import { emit } from '../../ledger/journal/journal.ts';
import { packagesMax } from '../../organisation/package-link.ts';
import { requireVersionOf } from '../../service/changes.ts';
import { checkDocument, refuseSecretKeys, refuseSecretText } from '../../service/documents.ts';
import { holds } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { packageSettingsChanged } from './package-settings.events.ts';
import {
  findAllSettings,
  findSettings,
  findSettingsVersions,
  findUnknownNames,
  lockSettings,
  updateSettingsValues,
} from './package-settings.sql.ts';
import type {
  DeclaredRow,
  PackageSettings,
  PackageSettingsItem,
  PackageSettingsVersion,
  SettingsForAgent,
  SettingsRow,
  SettingsVersionRow,
} from './package-settings.ts';
import { differingPaths, effectiveValues, namedObjects } from './schema-walk.ts';

/** The packages that declare settings, by key; a tenant has at most 1000 packages. */
export async function listPackageSettings({ db, tenantId }: Context): Promise<ItemPage<PackageSettingsItem>> {
  const rows = await db.rows(findAllSettings(tenantId, packagesMax));
  return { items: rows.map((row) => itemOf(row as DeclaredRow)), nextCursor: null };
}

function itemOf(
  row: Pick<
    DeclaredRow,
    'key' | 'version' | 'settings_title' | 'settings_version' | 'settings_updated_by' | 'settings_updated_at'
  >,
): PackageSettingsItem {
  return {
    package: row.key,
    title: row.settings_title,
    packageVersion: row.version,
    version: row.settings_version,
    updatedBy: row.settings_updated_by,
    updatedAt: row.settings_updated_at,
  };
}

/** @throws Refusal `package_not_installed`, `settings_not_declared` */
export async function getPackageSettings(context: Context, key: string): Promise<PackageSettings> {
  return settingsOf(context, requireDeclared(key, await context.db.row(findSettings(context.tenantId, key))));
}

/** The settings of the package that installed an agent, as the agent reads them; null if the package declares none. */
export async function findSettingsForAgent(
  { db, tenantId }: Context,
  packageKey: string,
): Promise<SettingsForAgent | null> {
  const row = await db.row(findSettings(tenantId, packageKey));
  if (row === undefined || row.settings_schema === null) return null;
  const { key, settings_version: version, settings_schema_revision: schemaRevision } = row;
  return { package: key, version, schemaRevision, values: row.settings_values };
}

function requireDeclared(key: string, row: SettingsRow | undefined): DeclaredRow {
  if (row === undefined) return fail('package_not_installed', { package: key });
  if (row.settings_schema === null) return fail('settings_not_declared', { package: key });
  return row as DeclaredRow;
}

function settingsOf({ caller }: Context, row: DeclaredRow): PackageSettings {
  return {
    ...itemOf(row),
    schema: row.settings_schema,
    uischema: row.settings_uischema,
    values: row.settings_values,
    effective: effectiveValues(row.settings_schema, row.settings_values),
    schemaHash: row.settings_schema_hash,
    canManage: holds(caller.permissions, 'packages.settings.manage'),
  };
}

/**
 * Replaces all settings of a package; values equal to the current ones create no version. See
 * docs/reference/packages.md#package-settings.
 * @param sent omitted values get their defaults
 * @throws Refusal `package_not_installed`, `settings_not_declared`, `version_conflict`, those of a document,
 * `secret_material_rejected`, `settings_invalid`, `unknown_ref`
 */
export async function setPackageSettings(
  context: Context,
  key: string,
  ifMatch: number,
  sent: unknown,
): Promise<PackageSettings> {
  const { db, tenantId, caller } = context;
  const before = requireDeclared(key, await db.row(lockSettings(tenantId, key)));
  requireVersionOf('package_settings', { id: before.id, version: before.settings_version }, ifMatch);
  const values = parseValues(sent);
  await requireFit(context, before.settings_schema, values);
  if (canonicalJson(values) === canonicalJson(before.settings_values)) return settingsOf(context, before);
  const changedPaths = changedIn(before.settings_values, values);
  const next = { values, changedPaths, principalId: caller.principalId };
  const row = (await db.row(updateSettingsValues(tenantId, key, next))) as DeclaredRow;
  emit(
    context,
    packageSettingsChanged,
    { entityId: row.id },
    {
      package: key,
      version: row.settings_version,
      previousVersion: before.settings_version,
      schemaRevision: row.settings_schema_revision,
      changedPaths,
      actorId: caller.principalId,
    },
  );
  return settingsOf(context, row);
}

/** Limits on the number and length of the paths in a version and its event. */
const changedPathsMax = 100;
const pathCharactersMax = 200;

function changedIn(before: JsonObject, after: JsonObject): string[] {
  return differingPaths(before, after)
    .slice(0, changedPathsMax)
    .map((path) => path.slice(0, pathCharactersMax).toWellFormed());
}

function parseValues(sent: unknown): JsonObject {
  const field = 'values';
  checkDocument(sent, { field });
  refuseSecretKeys(sent, field);
  refuseSecretText(JSON.stringify(sent), field);
  return sent;
}

const namesMax = 500;

/**
 * @throws Refusal `settings_invalid` with the first 20 problems, `unknown_ref`
 */
export async function requireFit(context: Context, schema: JsonObject, values: JsonObject): Promise<void> {
  const errors = prepareSchema(schema).faultsOf(values);
  if (errors.length > 0) fail('settings_invalid', { errors });
  const named = namedObjects(schema, values);
  if (named.length > namesMax)
    fail('settings_invalid', { errors: [{ path: '', message: `refers to more than ${namesMax} objects` }] });
  if (named.length === 0) return;
  const unknown = new Set(
    (await context.db.rows(findUnknownNames(context.tenantId, named))).map(({ n }) => n),
  );
  const first = named.find((_, n) => unknown.has(n + 1));
  if (first !== undefined) fail('unknown_ref', { path: first.path, kind: first.kind, value: first.value });
}

/** @throws Refusal `package_not_installed`, `settings_not_declared`, `invalid_cursor` */
export async function listSettingsVersions(
  context: Context,
  key: string,
  page: Page,
): Promise<ItemPage<PackageSettingsVersion>> {
  const found = findSettingsVersions(context.tenantId, key, page);
  requireDeclared(key, await context.db.row(findSettings(context.tenantId, key)));
  return listPage(context.db, found, versionOf);
}

function versionOf(row: SettingsVersionRow): PackageSettingsVersion {
  const { version, values } = row;
  return {
    version,
    values,
    schemaRevision: row.schema_revision,
    schemaHash: row.schema_hash,
    changedPaths: row.changed_paths,
    createdBy: row.created_by,
    createdAt: row.created_at,
  };
}
