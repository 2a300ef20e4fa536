import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Db, violatedConstraint } from '@baton/kernel/database/db';
import { tenantExists } from '../../directory/tenants/tenants.ts';
import { audit } from '../../records/audit.ts';
import type { AuditAction } from '../../records/drafts.ts';
import { emit } from '../../records/journal/journal.ts';
import { changeReason, changesOf } from '../../service/changes.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { refuseBeyondAdministration } from './administrator-limits.ts';
import {
  columnsOf,
  type IdentityProviderChange,
  type NewIdentityProvider,
  type OpenProvider,
  type ProviderChoices,
  type ProviderRow,
  type StoredProvider,
} from './identity-provider.ts';
import {
  identityProviderDisabled,
  identityProviderEnabled,
  identityProviderRegistered,
  identityProviderUpdated,
} from './identity-providers.events.ts';
import {
  countProviders,
  detachLinks,
  endRequestsOfProvider,
  findConditionsOfRules,
  findOpenProvider,
  findProvider,
  findProviders,
  findScimSource,
  findStoredProvider,
  insertProvider,
  lockProvider,
  lockTenantForProviders,
  moveLinks,
  shareOpenProvider,
  updateIssuer,
  updateProvider,
  updateProviderStatus,
} from './identity-providers.sql.ts';
import { opensToStrangers, refuseSignInOfStrangers } from './shared-by-strangers.ts';

/** A list of them is returned as a whole, and each may have uploaded keys and thousands of group mappings. */
const providersOfTenantMax = 200;

/**
 * Registers an identity provider (see docs/reference/providers.md#providers).
 * @throws Refusal `tenant_not_found`, `invalid_issuer`, `outside_administration`, `too_many_identity_providers`,
 * `identity_provider_exists` for a taken key or issuer; InvalidRequest if strangers could sign in
 */
export async function createIdentityProvider(
  context: Context,
  tenantId: string,
  { key, issuer, ...request }: NewIdentityProvider,
): Promise<ProviderRow> {
  const { db } = context;
  if (!(await tenantExists(db, tenantId))) fail('tenant_not_found');
  const parsed = requireIssuer(context, issuer);
  const wanted = {
    id: randomUUID(),
    tenant_id: tenantId,
    key,
    issuer: parsed,
    registered_issuer: issuer,
    ...(columnsOf(request) as ProviderChoices),
  };
  await refuseBeyondAdministration(context, wanted);
  refuseSignInOfStrangers(wanted);
  await db.run(lockTenantForProviders(tenantId));
  const { providers = 0 } = (await db.row(countProviders(tenantId))) ?? {};
  if (providers >= providersOfTenantMax) fail('too_many_identity_providers');
  const provider = (await db.row(insertProvider(wanted))) ?? fail('identity_provider_exists');
  const { id, lifecycle_profile: lifecycleProfile } = provider;
  const about = { tenantId, aggregateId: id };
  emit(context, identityProviderRegistered, about, { identityProviderId: id, key, lifecycleProfile });
  record(context, provider, 'identity_providers.create');
  return provider;
}

/** @throws Refusal `tenant_not_found` */
export async function listIdentityProviders(db: Db, tenantId: string): Promise<ProviderRow[]> {
  if (!(await tenantExists(db, tenantId))) fail('tenant_not_found');
  return db.rows(findProviders(tenantId));
}

/** @throws Refusal `identity_provider_not_found` */
export async function getIdentityProvider(db: Db, tenantId: string, key: string): Promise<ProviderRow> {
  return (await db.row(findProvider(tenantId, key))) ?? fail('identity_provider_not_found');
}

/** A provider in any status, with its issuer as registered. @throws Refusal `identity_provider_not_found` */
export async function getStoredProvider(db: Db, tenantId: string, key: string): Promise<StoredProvider> {
  return (await db.row(findStoredProvider(tenantId, key))) ?? fail('identity_provider_not_found');
}

/**
 * @throws Refusal `identity_provider_not_found` for a provider that is absent or disabled, or whose tenant is absent or
 * disabled
 */
export async function requireOpenProvider(db: Db, tenantId: string, key: string): Promise<OpenProvider> {
  return (await db.row(findOpenProvider(tenantId, key))) ?? fail('identity_provider_not_found');
}

const changedRetrySeconds = 1;

/**
 * The provider with which a token was verified, with a shared lock until the commit. A token that was verified with
 * other settings proves nothing: if the issuer has moved since, its subject may be another person at the new issuer.
 * @throws Refusal `identity_provider_not_found` as `requireOpenProvider`; `identity_provider_unavailable` if anything
 * about the provider has changed since
 */
export async function shareVerifiedProvider(db: Db, verified: OpenProvider): Promise<OpenProvider> {
  const { tenant_id, key } = verified;
  const open = (await db.row(shareOpenProvider(tenant_id, key))) ?? fail('identity_provider_not_found');
  if (isDeepStrictEqual(open, verified)) return open;
  const headers = { 'retry-after': String(changedRetrySeconds) };
  return fail('identity_provider_unavailable', {}, { headers, reason: 'the provider has changed' });
}

/** What determines whether strangers could sign in. */
const signInColumns = [
  'issuer',
  'principal_kind',
  'unknown_people',
  'required_claims',
  'own_issuer',
] as const satisfies readonly (keyof ProviderRow)[];

/** What determines which conditions of workload rules suffice. */
const ownerColumns = ['issuer', 'key_set', 'own_issuer'] as const satisfies readonly (keyof ProviderRow)[];

/**
 * Changes the requirements for tokens. They apply from the next sign-in on, which also updates the person's
 * memberships.
 * @throws Refusal `identity_provider_not_found`, `invalid_issuer`, `outside_administration`, `issuer_not_changeable`,
 * `workload_rules_too_wide`, `identity_provider_exists`, `linked_people_undecided`, `external_identity_conflict`;
 * `population_managed_by_directory` for `read_only`, and to detach people, while a SCIM source provisions the people of
 * this provider; InvalidRequest if strangers could sign in
 */
export async function updateIdentityProvider(
  context: Context,
  tenantId: string,
  key: string,
  { issuer, linkedPeople, ...changes }: IdentityProviderChange,
): Promise<ProviderRow> {
  const { db } = context;
  const provider = (await db.row(lockProvider(tenantId, key))) ?? fail('identity_provider_not_found');
  const moved = issuer === undefined ? {} : { issuer: requireIssuer(context, issuer) };
  const changed = changesOf<ProviderRow>(provider, { ...columnsOf(changes), ...moved });
  if (Object.keys(changed).length === 0) return provider;
  const next: ProviderRow = { ...provider, ...changed };
  await refuseBeyondAdministration(context, next, changed);
  if (signInColumns.some((column) => column in changed)) refuseSignInOfStrangers(next);
  if (ownerColumns.some((column) => column in changed)) {
    const rules = await db.rows(findConditionsOfRules(provider.id));
    const conditions = rules.map(({ claims }) => claims);
    if (opensToStrangers(provider, next, conditions)) fail('workload_rules_too_wide');
  }
  if ('lifecycle_profile' in changed && next.lifecycle_profile === 'read_only') {
    const source = await db.row(findScimSource(provider.id));
    if (source !== undefined) fail('population_managed_by_directory');
  }
  if (issuer !== undefined && 'issuer' in changed)
    await moveIssuer(context, provider, { ...next, registered: issuer, linkedPeople });
  await db.run(updateProvider(provider.id, next));
  const about = { tenantId, aggregateId: provider.id };
  const { lifecycle_profile: lifecycleProfile } = next;
  emit(context, identityProviderUpdated, about, { identityProviderId: provider.id, key, lifecycleProfile });
  record(context, next, 'identity_providers.update', ` ${changeReason(changed)}`);
  return next;
}

/**
 * The changed provider, with its new issuer as it was sent and what happens to the people who are linked to the
 * provider.
 */
type Move = ProviderRow & Pick<IdentityProviderChange, 'linkedPeople'> & { registered: string };

/**
 * Moves a provider to another issuer. Its pending sign-in requests end: an administrator must not admit the subject of
 * one issuer as that of another.
 */
async function moveIssuer(
  { db }: Context,
  before: ProviderRow,
  { registered, linkedPeople, ...next }: Move,
): Promise<void> {
  const issuer = registered.replace(/\/+$/, '');
  if (before.principal_kind !== 'human' || next.principal_kind !== 'human') fail('issuer_not_changeable');
  const moved = await db.row(updateIssuer(before.id, issuer, registered)).catch((error: unknown) => {
    if (violatedConstraint(error) !== 'identity_providers_issuer') throw error;
    return fail('identity_provider_exists', {}, { cause: error });
  });
  if (moved?.has_people === true) {
    if (linkedPeople === undefined) return fail('linked_people_undecided');
    if (linkedPeople === 'detach' && (await db.row(findScimSource(before.id))) !== undefined)
      fail('population_managed_by_directory');
    const update = linkedPeople === 'move' ? moveLinks(before, issuer) : detachLinks(before.id);
    await db.run(update).catch((error: unknown) => {
      if (violatedConstraint(error) === undefined) throw error;
      return fail('external_identity_conflict', {}, { cause: error });
    });
  }
  await db.run(endRequestsOfProvider(before.id));
}

/**
 * Enables or disables a provider. Repeating the call changes nothing but is audited.
 * @throws Refusal `identity_provider_not_found`
 */
export async function setIdentityProviderStatus(
  context: Context,
  tenantId: string,
  key: string,
  status: ProviderRow['status'],
): Promise<ProviderRow> {
  const { db } = context;
  const provider = (await db.row(lockProvider(tenantId, key))) ?? fail('identity_provider_not_found');
  const isEnabled = status === 'active';
  record(context, provider, isEnabled ? 'identity_providers.enable' : 'identity_providers.disable');
  if (provider.status === status) return provider;
  await db.run(updateProviderStatus(provider.id, status));
  const about = { tenantId, aggregateId: provider.id };
  const event = isEnabled ? identityProviderEnabled : identityProviderDisabled;
  emit(context, event, about, { identityProviderId: provider.id, key });
  return { ...provider, status };
}

function record(context: Context, { id, tenant_id, key }: ProviderRow, action: AuditAction, more = ''): void {
  const resource = ['identity_provider', id] as const;
  audit(context, { tenantId: tenant_id, action, resource, reason: `provider:${key}${more}` });
}

/** An issuer that may be registered. @throws Refusal `invalid_issuer` */
export function requireIssuer({ settings }: Context, issuer: string): string {
  const parsed = parseIssuer(issuer);
  // Our own access tokens could be exchanged for new ones without end, and those of one tenant would be accepted in
  // another. Tokens from the relying party's issuer would sign people in by their passkeys' identities, which have the
  // same issuer.
  const own = [settings.issuer, settings.relyingParty.issuer];
  return own.includes(parsed) ? fail('invalid_issuer') : parsed;
}

/**
 * An issuer without trailing slashes. @throws Refusal `invalid_issuer` for a string that isn't an http(s) URL, or that
 * has a query, a fragment, a user or letters beyond ASCII
 */
function parseIssuer(issuer: string): string {
  const stripped = issuer.replace(/\/+$/, '');
  const isIssuer = /^https?:\/\/[^/?#@\s\\]+(\/[^?#\s\\]*)?$/.test(stripped) && URL.canParse(stripped);
  // Only ASCII is accepted in the URL; with other characters, issuer and subject could be too long for their index.
  if (!isIssuer || !/^[!-~]+$/.test(stripped)) fail('invalid_issuer');
  return stripped;
}
