import { pageOf, QueryWord } from '@baton/values/wire';
import { PackageKey } from '../../organisation/package-link.ts';
import { endpoint } from '../context.ts';
import { packageSettingsChanged } from './package-settings.events.ts';
import {
  PackageSettings,
  PackageSettingsChange,
  PackageSettingsItem,
  PackageSettingsVersion,
} from './package-settings.ts';
import {
  getPackageSettings,
  listPackageSettings,
  listSettingsVersions,
  setPackageSettings,
} from './settings-of-packages.ts';

const params = { key: PackageKey };

export const packageSettingsApi = [
  endpoint({
    id: 'listPackageSettings',
    method: 'GET',
    path: '/package-settings',
    summary: 'List the packages that have settings, sorted by key.',
    description: 'Returns the whole list.',
    permission: 'packages.settings.read',
    query: { locale: QueryWord.optional().describe('Has no effect: settings have a single title.') },
    returns: { 200: pageOf(PackageSettingsItem) },
    handle: (_input, context) => listPackageSettings(context),
  }),
  endpoint({
    id: 'getPackageSettings',
    method: 'GET',
    path: '/packages/{key}/settings',
    summary: 'Read the settings of a package, their schema and the effective values.',
    permission: 'packages.settings.read',
    params,
    returns: { 200: PackageSettings },
    etag: 'package-settings',
    errors: ['package_not_installed', 'settings_not_declared'],
    handle: ({ params: { key } }, context) => getPackageSettings(context, key),
  }),
  endpoint({
    id: 'setPackageSettings',
    method: 'PUT',
    path: '/packages/{key}/settings',
    summary: 'Replace the settings of a package.',
    description:
      'The values must match the schema of the package. A string whose schema has `x-ref` refers to an object of the ' +
      'tenant: a principal, workspace or project by its id, a role by its slug, a capability or skill by its ' +
      'name, a taskType, artifactType or calendar by its key. Values equal to the current ones create no ' +
      'version.',
    permission: 'packages.settings.manage',
    ifMatch: 'package-settings',
    etag: 'package-settings',
    params,
    body: PackageSettingsChange,
    returns: { 200: PackageSettings },
    errors: [
      'package_not_installed',
      'settings_not_declared',
      'version_conflict',
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'secret_material_rejected',
      'settings_invalid',
      'unknown_ref',
    ],
    emits: [packageSettingsChanged],
    example: { values: {} },
    handle: ({ params: { key }, ifMatch, body }, context) =>
      setPackageSettings(context, key, ifMatch, body.values),
  }),
  endpoint({
    id: 'listPackageSettingsVersions',
    method: 'GET',
    path: '/packages/{key}/settings/versions',
    summary: 'List the versions of the settings of a package, newest first.',
    permission: 'packages.settings.read',
    params,
    paging: true,
    returns: { 200: pageOf(PackageSettingsVersion) },
    errors: ['package_not_installed', 'settings_not_declared', 'invalid_cursor'],
    handle: ({ params: { key }, page }, context) => listSettingsVersions(context, key, page),
  }),
];
