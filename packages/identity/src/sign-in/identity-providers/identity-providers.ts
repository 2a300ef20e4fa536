import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/db';
import { audit } from '../../records/audit.ts';
import type { AuditAction } from '../../records/drafts.ts';
import { changeReason, changesOf } from '../../service/changes.ts';
import type { Context } from '../context.ts';
import { emit } from '../../records/journal/journal.ts';
import { fail } from '../errors.ts';
import { tenantExists } from '../../directory/tenants/tenants.ts';
import type { ProviderChanges, ProviderRequest } from './identity-providers.api.ts';
import {
  identityProviderDisabled,
  identityProviderEnabled,
  identityProviderRegistered,
  identityProviderUpdated,
} from './identity-providers.events.ts';
import {
  findOpenProvider,
  findProvider,
  findProviders,
  findScimSource,
  insertProvider,
  lockProvider,
  type ProviderChoices,
  type ProviderRow,
  updateProvider,
  updateProviderStatus,
} from './identity-providers.sql.ts';

/** A provider that people may sign in through now. */
export interface OpenProvider extends ProviderRow {
  /** With the slashes that `issuer` has lost, if there were any. */
  registered_issuer: string;
}

/**
 * Registers an identity provider (contract, section 9.1).
 * @throws Refusal `tenant_not_found`, `invalid_issuer`, `identity_provider_exists` for a taken key or issuer
 */
export async function registerProvider(
  context: Context,
  tenantId: string,
  { key, issuer, ...request }: ProviderRequest,
): Promise<ProviderRow> {
  const { db } = context;
  if (!(await tenantExists(db, tenantId))) fail('tenant_not_found');
  const wanted = {
    id: randomUUID(),
    tenant_id: tenantId,
    key,
    issuer: parseIssuer(issuer),
    registered_issuer: issuer,
    ...(columnsOf(request) as ProviderChoices),
  };
  const provider = (await db.row(insertProvider(wanted))) ?? fail('identity_provider_exists');
  const { id, lifecycle_profile: lifecycleProfile } = provider;
  const about = { tenantId, aggregateId: id };
  emit(context, identityProviderRegistered, about, { identityProviderId: id, key, lifecycleProfile });
  record(context, provider, 'identity_providers.create');
  return provider;
}

/** @throws Refusal `tenant_not_found` */
export async function listProviders(db: Db, tenantId: string): Promise<ProviderRow[]> {
  if (!(await tenantExists(db, tenantId))) fail('tenant_not_found');
  return db.rows(findProviders(tenantId));
}

/** @throws Refusal `identity_provider_not_found` */
export async function readProvider(db: Db, tenantId: string, key: string): Promise<ProviderRow> {
  return (await db.row(findProvider(tenantId, key))) ?? fail('identity_provider_not_found');
}

/** @throws Refusal `identity_provider_not_found` for one that is absent or disabled, or whose tenant is */
export async function requireOpenProvider(db: Db, tenantId: string, key: string): Promise<OpenProvider> {
  return (await db.row(findOpenProvider(tenantId, key))) ?? fail('identity_provider_not_found');
}

/**
 * Changes what is expected of tokens. It acts at the next sign-in; memberships follow then, too.
 * @throws Refusal `identity_provider_not_found`, `population_managed_by_directory` for `read_only` while a SCIM source
 * brings its people
 */
export async function changeProvider(
  context: Context,
  tenantId: string,
  key: string,
  changes: ProviderChanges,
): Promise<ProviderRow> {
  const { db } = context;
  const provider = (await db.row(lockProvider(tenantId, key))) ?? fail('identity_provider_not_found');
  const changed = changesOf<ProviderRow>(provider, columnsOf(changes));
  if (Object.keys(changed).length === 0) return provider;
  const next: ProviderRow = { ...provider, ...changed };
  if ('lifecycle_profile' in changed && next.lifecycle_profile === 'read_only') {
    const source = await db.row(findScimSource(provider.id));
    if (source !== undefined) fail('population_managed_by_directory');
  }
  await db.run(updateProvider(provider.id, next));
  const about = { tenantId, aggregateId: provider.id };
  const { lifecycle_profile: lifecycleProfile } = next;
  emit(context, identityProviderUpdated, about, { identityProviderId: provider.id, key, lifecycleProfile });
  record(context, next, 'identity_providers.update', ` ${changeReason(changed)}`);
  return next;
}

/**
 * Closes or opens a provider. Repeated, it changes nothing and is audited all the same.
 * @throws Refusal `identity_provider_not_found`
 */
export async function switchProvider(
  context: Context,
  tenantId: string,
  key: string,
  status: ProviderRow['status'],
): Promise<ProviderRow> {
  const { db } = context;
  const provider = (await db.row(lockProvider(tenantId, key))) ?? fail('identity_provider_not_found');
  const isOpened = status === 'active';
  record(context, provider, isOpened ? 'identity_providers.enable' : 'identity_providers.disable');
  if (provider.status === status) return provider;
  await db.run(updateProviderStatus(provider.id, status));
  const about = { tenantId, aggregateId: provider.id };
  const event = isOpened ? identityProviderEnabled : identityProviderDisabled;
  emit(context, event, about, { identityProviderId: provider.id, key });
  return { ...provider, status };
}

function record(context: Context, { id, tenant_id, key }: ProviderRow, action: AuditAction, more = ''): void {
  const resource = ['identity_provider', id] as const;
  audit(context, { tenantId: tenant_id, action, resource, reason: `provider:${key}${more}` });
}

/**
 * An issuer without the slashes at its end.
 * @throws Refusal `invalid_issuer` for what isn't an http(s) address, or has a query, a fragment, a user or letters
 * beyond ASCII
 */
function parseIssuer(issuer: string): string {
  const stripped = issuer.replace(/\/+$/, '');
  const isIssuer = /^https?:\/\/[^/?#@\s\\]+(\/[^?#\s\\]*)?$/.test(stripped) && URL.canParse(stripped);
  // An address has no other letters; with them, issuer and subject could be too long for their index.
  if (!isIssuer || !/^[!-~]+$/.test(stripped)) fail('invalid_issuer');
  return stripped;
}

/** The choices of a request in the names of their columns; what is absent is undefined. */
function columnsOf(choices: ProviderChanges): Partial<ProviderChoices> {
  return {
    audience: choices.audience,
    jwks_uri: choices.jwksUri,
    subject_claim: choices.subjectClaim,
    external_id_claim: choices.externalIdClaim,
    group_claim: choices.groupClaim,
    display_name_claim: choices.displayNameClaim,
    group_mappings: choices.groupMappings,
    required_acr_values: choices.requiredAcrValues,
    required_amr_values: choices.requiredAmrValues,
    lifecycle_profile: choices.lifecycleProfile,
    jwks_cache_ttl_seconds: choices.jwksCacheTtlSeconds,
    jwks_stale_grace_seconds: choices.jwksStaleGraceSeconds,
  };
}
