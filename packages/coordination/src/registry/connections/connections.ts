import { isDeepStrictEqual } from 'node:util';
import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { newId } from '@baton/values/ids';
import { nodesOf } from '@baton/values/json';
import { prepareSchema } from '@baton/values/json-schema/schema';
import type { JsonObject } from '@baton/values/wire';
import { emit } from '../../ledger/journal/journal.ts';
import { requireVersionOf } from '../../service/changes.ts';
import { checkDocument, refuseSecretKeys, refuseSecretText } from '../../service/documents.ts';
import { requireActiveType, requireUsableType } from '../connection-types/connection-types.ts';
import type { ConnectionTypeSpec } from '../connection-types/type-spec.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { agentsWith } from './assigned.ts';
import {
  type Connection,
  type ConnectionChange,
  type ConnectionRequest,
  type ConnectionRow,
  connectionOf,
  type UsedConnection,
} from './connection.ts';
import { connectionCreated, connectionUpdated } from './connections.events.ts';
import {
  type ConnectionFilter,
  findConnection,
  findConnections,
  insertConnection,
  lockConnection,
  updateConnectionValues,
} from './connections.sql.ts';

const errorsMax = 50;

/**
 * Creates a connection, which has no credential yet. See docs/reference/connections.md#connections.
 * @throws Refusal `unknown_connection_type`, `payload_too_large`, `payload_too_deep`, `invalid_document`,
 * `secret_material_rejected`, `invalid_connection_settings`, `connection_key_taken`
 */
export async function createConnection(
  context: Context,
  { type, key: wanted, displayName, settings = {} }: ConnectionRequest,
): Promise<Connection> {
  const { db, tenantId, caller } = context;
  const { spec, version: typeVersion } = await requireActiveType(context, type);
  checkSettings(settings, spec);
  const key = wanted ?? spec.defaultKey ?? type;
  const row = await db.row(
    insertConnection({
      id: newId(),
      tenantId,
      key,
      typeKey: type,
      typeVersion,
      displayName: displayName ?? spec.displayName,
      settings,
      createdBy: caller.principalId,
    }),
  );
  if (row === undefined) return fail('connection_key_taken', { key });
  emit(context, connectionCreated, { entityId: row.id }, { key, type, typeVersion, status: row.status });
  return connectionOf(row);
}

/** @throws Refusal `invalid_cursor` */
export function listConnections(
  { db, tenantId }: Context,
  filter: ConnectionFilter,
  page: Page,
): Promise<ItemPage<Connection>> {
  return listPage(db, findConnections(tenantId, filter, page), connectionOf);
}

/** @throws Refusal `not_found` */
export async function getConnection(context: Context, key: string): Promise<UsedConnection> {
  const row = await getConnectionRow(context, key);
  return { ...connectionOf(row), agents: await agentsWith(context, key) };
}

/** @throws Refusal `not_found` */
export async function getConnectionRow({ db, tenantId }: Context, key: string): Promise<ConnectionRow> {
  return (await db.row(findConnection(tenantId, key))) ?? fail('not_found', { connection: key });
}

/** @throws Refusal `not_found` */
export async function lockConnectionRow({ db, tenantId }: Context, key: string): Promise<ConnectionRow> {
  return (await db.row(lockConnection(tenantId, key))) ?? fail('not_found', { connection: key });
}

/**
 * Changes the name of a connection, its settings, or the version of its type; equal values change nothing.
 * @throws Refusal `not_found`, `version_conflict`, `empty_update`, and as `createConnection`
 */
export async function updateConnection(
  context: Context,
  key: string,
  ifMatch: number,
  change: ConnectionChange,
): Promise<Connection> {
  const { db, tenantId } = context;
  const before = await lockConnectionRow(context, key);
  requireVersionOf('connection', before, ifMatch);
  if (Object.keys(change).length === 0) fail('empty_update');
  const {
    displayName = before.display_name,
    settings = before.settings,
    typeVersion = before.type_version,
  } = change;
  const changes = [
    ...(displayName === before.display_name ? [] : ['displayName']),
    ...(isDeepStrictEqual(settings, before.settings) ? [] : ['settings']),
    ...(typeVersion === before.type_version ? [] : ['typeVersion']),
  ];
  if (change.settings !== undefined || change.typeVersion !== undefined) {
    const { spec } = await requireUsableType(context, before.type_key, typeVersion);
    checkSettings(settings, spec);
  }
  if (changes.length === 0) return connectionOf(before);
  const values = { displayName, settings, typeVersion };
  const row = (await db.row(updateConnectionValues(tenantId, before.id, values))) as ConnectionRow;
  emit(context, connectionUpdated, { entityId: row.id }, { key, version: row.version, changes });
  return connectionOf(row);
}

/** Validates in this order: size, secrets, then the schema of the type. */
function checkSettings(
  settings: unknown,
  { settingsSchema }: ConnectionTypeSpec,
): asserts settings is JsonObject {
  const field = 'settings';
  checkDocument(settings, { field });
  refuseSecretKeys(settings, field);
  const texts = [...nodesOf(settings)].flatMap(({ value }) => (typeof value === 'string' ? [value] : []));
  refuseSecretText(texts.join('\n'), field);
  const errors = prepareSchema(settingsSchema ?? { maxProperties: 0 })
    .faultsOf(settings)
    .slice(0, errorsMax)
    .map(({ path, message }) => ({ path, code: 'schema', message }));
  if (errors.length > 0) fail('invalid_connection_settings', { field, errors });
}
