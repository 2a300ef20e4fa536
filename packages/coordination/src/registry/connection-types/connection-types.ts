import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { newId } from '@baton/values/ids';
import { emit } from '../../ledger/journal/journal.ts';
import { lockVersions } from '../../organisation/version-lock.ts';
import { requireVersionOf } from '../../service/changes.ts';
import { canonicalHash } from '../../service/durable-text/canonical.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type ConnectionType,
  type ConnectionTypeChange,
  type ConnectionTypeRef,
  type ConnectionTypeRequest,
  type ConnectionTypeRow,
  connectionTypeOf,
  typeStatuses,
} from './connection-type.ts';
import { connectionTypePublished, connectionTypeStatusChanged } from './connection-types.events.ts';
import {
  findActiveType,
  findType,
  findTypes,
  insertType,
  lockType,
  type TypeFilter,
  updateTypeStatus,
} from './connection-types.sql.ts';
import { parseTypeSpec } from './type-spec.ts';

/**
 * Publishes a version of a type. Publishing the same content again changes nothing. See
 * docs/reference/connections.md#connection-types.
 * @returns the version, and whether it is new
 * @throws Refusal as `parseTypeSpec`, `connection_type_version_exists`
 */
export async function publishType(
  context: Context,
  { key, version, spec: sent }: ConnectionTypeRequest,
): Promise<{ type: ConnectionType; isNew: boolean }> {
  const { db, tenantId, caller, settings } = context;
  const spec = parseTypeSpec(sent, settings.CP_OUTBOUND_ALLOWED_HOSTS);
  // The spec contains a JSON Schema, in which fractions are allowed.
  const specHash = canonicalHash(spec, { fractions: 'allowed' });
  const createdBy = caller.principalId;
  await lockVersions(context, 'connection_types', key);
  const made = await db.row(insertType({ id: newId(), tenantId, key, version, spec, specHash, createdBy }));
  if (made === undefined) {
    const before = await getTypeRow(context, { key, version });
    if (before.spec_hash !== specHash) fail('connection_type_version_exists', { key, version });
    return { type: connectionTypeOf(before), isNew: false };
  }
  emit(context, connectionTypePublished, { entityId: made.id }, { key, version, auth: spec.auth });
  return { type: connectionTypeOf(made), isNew: true };
}

/** @throws Refusal `invalid_cursor` */
export function listTypes(
  { db, tenantId }: Context,
  filter: TypeFilter,
  page: Page,
): Promise<ItemPage<ConnectionType>> {
  return listPage(db, findTypes(tenantId, filter, page), connectionTypeOf);
}

/** @throws Refusal `not_found` */
export async function getType(context: Context, ref: ConnectionTypeRef): Promise<ConnectionType> {
  return connectionTypeOf(await getTypeRow(context, ref));
}

/** @throws Refusal `not_found` */
export async function getTypeRow(
  { db, tenantId }: Context,
  ref: ConnectionTypeRef,
): Promise<ConnectionTypeRow> {
  return (await db.row(findType(tenantId, ref))) ?? fail('not_found', { connectionType: ref.key });
}

/** The newest active version of a key. @throws Refusal `unknown_connection_type` */
export async function requireActiveType({ db, tenantId }: Context, key: string): Promise<ConnectionTypeRow> {
  return (await db.row(findActiveType(tenantId, key))) ?? fail('unknown_connection_type', { type: key });
}

/** A version that is not disabled. @throws Refusal `unknown_connection_type` if it is missing or disabled */
export async function requireUsableType(
  { db, tenantId }: Context,
  key: string,
  version: number,
): Promise<ConnectionTypeRow> {
  const row = await db.row(findType(tenantId, { key, version }));
  return row === undefined || row.status === 'disabled'
    ? fail('unknown_connection_type', { type: key, version })
    : row;
}

/**
 * Advances the status of a version; setting the same status again changes nothing.
 * @throws Refusal `not_found`, `version_conflict`, `empty_update`, `invalid_status_transition`
 */
export async function updateType(
  context: Context,
  ref: ConnectionTypeRef,
  ifMatch: number,
  { status: to }: ConnectionTypeChange,
): Promise<ConnectionType> {
  const { db, tenantId } = context;
  const before = (await db.row(lockType(tenantId, ref))) ?? fail('not_found', { connectionType: ref.key });
  requireVersionOf('connection_type', { id: before.id, version: before.row_version }, ifMatch);
  if (to == null) return fail('empty_update');
  const { status: from, key, version } = before;
  if (to === from) return connectionTypeOf(before);
  if (typeStatuses.indexOf(to) < typeStatuses.indexOf(from)) fail('invalid_status_transition', { from, to });
  const row = (await db.row(updateTypeStatus(tenantId, before.id, to))) as ConnectionTypeRow;
  emit(context, connectionTypeStatusChanged, { entityId: row.id }, { key, version, from, to });
  return connectionTypeOf(row);
}
