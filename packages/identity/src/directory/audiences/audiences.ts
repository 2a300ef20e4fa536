import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import { changeReason, changesOf } from '../../service/changes.ts';
import { isScope, sortedSet } from '../../service/fields.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { tenantExists } from '../tenants/tenants.ts';
import type { AudienceChange, AudienceRow, NewAudience, SigningAlgorithm } from './audience.ts';
import { audienceCreated, audienceUpdated } from './audiences.events.ts';
import {
  findActiveAudiences,
  findAudience,
  findAudiences,
  insertAudience,
  lockAudience,
  updateAudienceRow,
  upsertAlgorithmUse,
} from './audiences.sql.ts';

/** @throws Refusal `tenant_not_found`, `invalid_scope`, `signing_algorithm_unavailable`, `audience_exists` */
export async function createAudience(
  context: Context,
  tenantId: string,
  { key, ...choices }: NewAudience,
): Promise<AudienceRow> {
  if (!(await tenantExists(context.db, tenantId))) fail('tenant_not_found');
  refuseInvalidScopes(choices.allowedScopes);
  refuseUnavailable(context, choices.signingAlgorithm);
  const wanted = { id: randomUUID(), tenantId, key, ...choices };
  const audience = (await context.db.row(insertAudience(wanted))) ?? fail('audience_exists');
  emit(context, audienceCreated, { tenantId, aggregateId: audience.id }, { audienceId: audience.id, key });
  audit(context, { tenantId, action: 'audiences.create', resource: ['audience', audience.id] });
  return audience;
}

/** @throws Refusal `tenant_not_found` */
export async function listAudiences(db: Db, tenantId: string): Promise<AudienceRow[]> {
  if (!(await tenantExists(db, tenantId))) fail('tenant_not_found');
  return db.rows(findAudiences(tenantId));
}

/** @throws Refusal `audience_not_found` */
export async function getAudience(db: Db, tenantId: string, key: string): Promise<AudienceRow> {
  return (await db.row(findAudience(tenantId, key))) ?? fail('audience_not_found');
}

/**
 * Changes an audience. A smaller set of scopes, a different algorithm or a disabled status applies from the next
 * exchange on; tokens that were already issued are not revoked.
 * @throws Refusal `audience_not_found`, `invalid_scope`, `signing_algorithm_unavailable`
 */
export async function updateAudience(
  context: Context,
  tenantId: string,
  key: string,
  { allowedScopes, signingAlgorithm, status }: AudienceChange,
): Promise<AudienceRow> {
  const audience = (await context.db.row(lockAudience(tenantId, key))) ?? fail('audience_not_found');
  refuseInvalidScopes(allowedScopes ?? []);
  refuseUnavailable(context, signingAlgorithm);
  const wanted = { allowed_scopes: allowedScopes, signing_algorithm: signingAlgorithm, status };
  const changed = changesOf<AudienceRow>(audience, wanted);
  if (Object.keys(changed).length === 0) return audience;
  const next = { ...audience, ...changed };
  await context.db.run(updateAudienceRow(next));
  // The previous algorithm's key stays published until the tokens that it signed have expired.
  if (next.signing_algorithm !== audience.signing_algorithm && audience.signing_algorithm !== 'RS256')
    await context.db.run(upsertAlgorithmUse(audience.signing_algorithm));
  const about = { tenantId, aggregateId: audience.id };
  emit(context, audienceUpdated, about, {
    audienceId: audience.id,
    key,
    allowedScopes: next.allowed_scopes,
    status: changed.status,
    signingAlgorithm: changed.signing_algorithm,
  });
  const resource = ['audience', audience.id] as const;
  audit(context, { tenantId, action: 'audiences.update', resource, reason: changeReason(changed) });
  return next;
}

/**
 * The scopes that the listed audiences allow together, in the order of code points.
 * @throws Refusal `unknown_audience` for a key that isn't an active audience of the tenant, or an unknown tenant
 */
export async function allowedScopesOf(db: Db, tenantId: string, keys: readonly string[]): Promise<string[]> {
  const audiences = await db.rows(findActiveAudiences(tenantId, keys));
  if (audiences.length < new Set(keys).size) fail('unknown_audience');
  return sortedSet(audiences.flatMap((audience) => audience.allowed_scopes));
}

/** @throws Refusal `invalid_scope_ceiling` when `ceiling` contains a scope that isn't allowed */
export function refuseWiderCeiling(ceiling: readonly string[], allowedScopes: readonly string[]): void {
  const allowed = new Set(allowedScopes);
  if (ceiling.some((scope) => !allowed.has(scope))) fail('invalid_scope_ceiling');
}

function refuseInvalidScopes(scopes: readonly string[]): void {
  if (!scopes.every(isScope)) fail('invalid_scope');
}

/**
 * Refuses an algorithm without a key. RS256 always counts as available: without its key, exchanges fail with 500 (see
 * docs/reference/tokens.md#signing-keys).
 */
function refuseUnavailable({ signingAlgorithms }: Context, algorithm: SigningAlgorithm | undefined): void {
  if (algorithm !== undefined && algorithm !== 'RS256' && !signingAlgorithms.isAvailable(algorithm))
    fail('signing_algorithm_unavailable');
}
