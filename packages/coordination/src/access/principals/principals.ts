import { isDeepStrictEqual } from 'node:util';
import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { newId } from '@baton/values/ids';
import type { JsonObject } from '@baton/values/wire';
import { emit } from '../../ledger/journal/journal.ts';
import { requireVersionOf } from '../../service/changes.ts';
import { checkDocument, refuseSecretKeys, refuseSecretText } from '../../service/documents.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type Principal,
  type PrincipalChange,
  type PrincipalRequest,
  type PrincipalRow,
  principalKinds,
  principalOf,
  principalStatuses,
} from './principal.ts';
import { principalCreated, principalUpdated } from './principals.events.ts';
import {
  findActivePeople,
  findCorePrincipal,
  findPrincipal,
  findPrincipals,
  findUnknownPrincipals,
  insertPrincipal,
  lockPrincipalForChange,
  type PrincipalValues,
  updatePrincipalValues,
} from './principals.sql.ts';

/**
 * Creates a principal. It can't act until it has an identity binding or an API key. See
 * docs/reference/access.md#principals.
 * @throws Refusal `invalid_kind`, `invalid_status`, `invalid_display_name`, `payload_too_large`, `payload_too_deep`,
 * `secret_material_rejected`
 */
export async function createPrincipal(context: Context, request: PrincipalRequest): Promise<Principal> {
  const kind = requireKind(request.kind);
  const status = principalStatuses.find((known) => known === request.status);
  if (status === undefined) return fail('invalid_status', { allowed: principalStatuses });
  const displayName = requireDisplayName(request.displayName);
  requireMetadata(request.metadata);
  const { db, tenantId } = context;
  const { metadata } = request;
  const values = { id: newId(), tenantId, kind, displayName, status, metadata, agentId: null };
  const row = await db.row(insertPrincipal(values));
  if (row === undefined) throw new Error('a new principal was not stored');
  emit(context, principalCreated, { entityId: row.id }, { kind, displayName });
  return principalOf(row);
}

/** @throws Refusal `invalid_kind`, `invalid_cursor` */
export async function listPrincipals(
  { db, tenantId }: Context,
  filter: { kind?: string | undefined; q?: string | undefined },
  page: Page,
): Promise<ItemPage<Principal>> {
  const kind = filter.kind === undefined ? undefined : requireKind(filter.kind);
  const search = filter.q === '' ? undefined : filter.q;
  return listPage(db, findPrincipals(tenantId, { kind, search }, page), principalOf);
}

/** @throws Refusal `not_found` with the first id that isn't a principal of the tenant */
export async function requireKnownPrincipals(
  { db, tenantId }: Context,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const unknown = await db.row(findUnknownPrincipals(tenantId, ids));
  if (unknown !== undefined) fail('not_found', { principalId: unknown.id });
}

/** The first of the ids that is an active person, or undefined. */
export async function findActivePerson(
  { db, tenantId }: Context,
  ids: readonly string[],
): Promise<string | undefined> {
  if (ids.length === 0) return undefined;
  const people = new Set((await db.rows(findActivePeople(tenantId, ids))).map(({ id }) => id));
  return ids.find((id) => people.has(id));
}

/** The principal that background work of the core acts as. */
export async function getCorePrincipalId({ db, tenantId }: Context): Promise<string> {
  return ((await db.row(findCorePrincipal(tenantId))) as { id: string }).id;
}

/** @throws Refusal `not_found` */
export async function getPrincipal(context: Context, principalId: string): Promise<Principal> {
  return principalOf(await getPrincipalRow(context, principalId));
}

/** @throws Refusal `not_found` */
export async function getPrincipalRow({ db, tenantId }: Context, principalId: string): Promise<PrincipalRow> {
  return (await db.row(findPrincipal(tenantId, principalId))) ?? fail('not_found', { principalId });
}

/**
 * Changes the display name and profile of a principal; unchanged values have no effect.
 * @throws Refusal `not_found`, `version_conflict`, `principal_managed_by_registry`, `empty_update`,
 * `invalid_display_name`, `payload_too_large`, `payload_too_deep`, `secret_material_rejected`
 */
export async function updatePrincipal(
  context: Context,
  principalId: string,
  ifMatch: number,
  change: PrincipalChange,
): Promise<Principal> {
  const { db, tenantId } = context;
  const before =
    (await db.row(lockPrincipalForChange(tenantId, principalId))) ?? fail('not_found', { principalId });
  requireVersionOf('principal', before, ifMatch);
  if (before.agent_id !== null) fail('principal_managed_by_registry', { principalId });
  if (Object.keys(change).length === 0) fail('empty_update');
  const current = principalOf(before);
  const after: PrincipalValues = {
    displayName: change.displayName == null ? current.displayName : requireDisplayName(change.displayName),
    profile: change.profile ?? current.profile,
    metadata: change.metadata ?? current.metadata,
  };
  if (change.profile != null) refuseSecretsInProfile(change.profile);
  if (change.metadata != null) requireMetadata(change.metadata);
  const names = ['displayName', 'profile', 'metadata'] as const;
  const changes = names.filter((name) => !isDeepStrictEqual(after[name], current[name]));
  if (changes.length === 0) return current;
  const row = await db.row(updatePrincipalValues(tenantId, principalId, after));
  if (row === undefined) throw new Error('a locked principal was not found');
  const payload = { principalId, version: row.version, changes };
  emit(context, principalUpdated, { entityId: principalId }, payload);
  return principalOf(row);
}

/** @throws Refusal `invalid_kind` */
export function requireKind(kind: string): PrincipalRow['kind'] {
  return principalKinds.find((known) => known === kind) ?? fail('invalid_kind', { allowed: principalKinds });
}

function requireDisplayName(text: string): string {
  const displayName = text.trim();
  return displayName === '' ? fail('invalid_display_name') : displayName;
}

function requireMetadata(metadata: JsonObject): void {
  checkDocument(metadata, { field: 'metadata' });
  refuseSecretKeys(metadata, 'metadata');
}

function refuseSecretsInProfile(profile: object): void {
  for (const [name, text] of Object.entries(profile)) {
    if (typeof text === 'string') refuseSecretText(text, `profile.${name}`);
  }
}
