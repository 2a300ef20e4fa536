import { z } from 'zod';
import type { RowOf } from '@baton/kernel/database/row';
import { Timestamp, textsByName, Uuid, valuesByName } from '@baton/values/wire';
import { characters, Issuer, Key, NameSet, Status, sortedSet, tenantParam } from '../../service/fields.ts';
import type { Tables } from '../../service/schema.ts';
import { KeySetDocument, StoredKeySet } from './key-set-document.ts';
import { Admit, ProviderAdmission, type StoredAdmit } from './self-admission.ts';

const LifecycleProfile = z.enum(['read_only', 'managed']);
/** `human` if its tokens identify people, `workload` if they identify programs such as CI jobs, `none` for workload rules only. */
const ProviderPrincipalKind = z.enum(['human', 'workload', 'none']);
/**
 * The result of the first sign-in of an unknown person: a new principal, or a request for an administrator to decide.
 */
const UnknownPeople = z.enum(['create', 'request']);
const CacheSeconds = z.int().min(0).max(86_400);

export const providerParams = { ...tenantParam, key: z.string().max(120) };

/** The returned columns: a row of `identity_providers` without the issuer as registered. */
export const IdentityProvider = z
  .strictObject({
    id: Uuid,
    tenant_id: Uuid,
    key: z.string(),
    issuer: z
      .string()
      .describe('The issuer without trailing slashes; tokens may also contain the registered issuer.'),
    audience: z.string(),
    jwks_uri: z.string(),
    key_set: StoredKeySet.nullable().describe('The uploaded keys; null: they are fetched.'),
    subject_claim: z.string(),
    external_id_claim: z.string(),
    group_claim: z.string(),
    display_name_claim: z.string(),
    email_claim: z.string(),
    unknown_people: UnknownPeople,
    admit: ProviderAdmission.nullable(),
    offered: z.boolean(),
    own_issuer: z.boolean(),
    group_mappings: z.record(z.string(), z.string()),
    required_acr_values: z.array(z.string()),
    required_amr_values: z.array(z.string()),
    required_claims: z.record(z.string(), z.array(z.string())),
    authorized_parties: z.array(z.string()),
    lifecycle_profile: LifecycleProfile,
    principal_kind: ProviderPrincipalKind,
    jwks_cache_ttl_seconds: CacheSeconds,
    jwks_stale_grace_seconds: CacheSeconds,
    status: Status,
    created_at: Timestamp,
  })
  .meta({ id: 'IdentityProvider' });

/** The address of a key document; empty means discovery. */
const JwksUri = characters(0, 500).refine(
  (uri) => uri === '' || (/^https?:\/\//.test(uri) && URL.canParse(uri)),
  'must be an http or https address',
);

/**
 * Maps an upstream group to a Baton group. Upstream names are compared without surrounding spaces and leading slashes.
 */
const GroupMappings = textsByName(
  z
    .string()
    .regex(/[^\s/]/, 'must name a group')
    .max(1000),
  Key,
  10_000,
);

/** Client ids of the provider, deduplicated and sorted. */
const AuthorizedParties = z.array(characters(1, 200)).max(50).transform(sortedSet);

const requiredClaimsMax = 20;

/** Names of token claims, each with its allowed values. */
const RequiredClaims = valuesByName(
  z.string().min(1).max(200),
  z.array(z.string().min(1).max(500)).min(1).max(100),
  requiredClaimsMax,
);

/** The fields that are set at registration and can be changed later. */
const choices = {
  audience: characters(1, 200).describe('Must be in the `aud` of upstream tokens, alone or with others.'),
  jwksUri: JwksUri.describe('The address of the JWKS document; empty uses discovery.'),
  keySet: KeySetDocument.nullable().describe(
    'The JWKS document of an issuer that can not be reached, such as that of a private Kubernetes cluster; no keys are fetched then. Replace it when the issuer rotates its keys. null: keys are fetched.',
  ),
  subjectClaim: characters(1, 80),
  externalIdClaim: characters(0, 80),
  groupClaim: characters(0, 80),
  displayNameClaim: characters(0, 80).describe(
    'The claim with the name of a person, used at the first sign-in only. If it is empty or absent in a token, the name consists of the provider and the external id.',
  ),
  emailClaim: characters(0, 80).describe(
    'The claim with the e-mail address of a person with a sign-in request. It counts as verified only if it is `email` and the token has `email_verified: true`.',
  ),
  unknownPeople: UnknownPeople.describe(
    'The result of the first sign-in of an unknown person: `create` makes a principal, `request` a sign-in request that an administrator admits or refuses.',
  ),
  admit: Admit.nullable().describe(
    'The unknown people who are admitted without an administrator. Each list that is present must match. Coordination gives the role only if its own administrator allowed it.',
  ),
  offered: z
    .boolean()
    .describe(
      "Whether the console's sign-in page has a button for the provider; `audience` is then the console's client id there.",
    ),
  groupMappings: GroupMappings.describe(
    'Upstream group to key of a group of the tenant; other groups are ignored.',
  ),
  requiredAcrValues: NameSet.describe('The `acr` must be one of these.'),
  requiredAmrValues: NameSet.describe('The `amr` must contain all of these.'),
  requiredClaims: RequiredClaims.describe(
    'Claims that each token must have, with the values allowed for each, for instance `{"repository_owner": ["acme"]}`. Required if the issuer is shared with other customers, as with hosted CI services, because it signs tokens for any audience.',
  ),
  authorizedParties: AuthorizedParties.describe(
    'The clients for which an upstream token may be issued: its `azp` must be one of them, or, without `azp`, its only `aud`. Empty allows any client.',
  ),
  lifecycleProfile: LifecycleProfile.describe('`managed` allows manual links and SCIM.'),
  principalKind: ProviderPrincipalKind.describe(
    'The kind of principal that a first sign-in creates. `workload`, for tokens of programs such as CI jobs, creates workloads, and also lets linked agents and workloads exchange such tokens. `none` lets nobody sign in: tokens are accepted by workload rules only. Existing principals keep their kind.',
  ),
  ownIssuer: z
    .boolean()
    .describe(
      'The issuer signs tokens for programs of your organization only, so a workload rule may have any condition. Otherwise a rule must fix a subject or an owner, unless the keys are uploaded.',
    ),
  jwksCacheTtlSeconds: CacheSeconds.describe('The cache time of keys.'),
  jwksStaleGraceSeconds: CacheSeconds.describe(
    'The additional time for which cached keys are used while the provider does not respond.',
  ),
};

export const NewIdentityProvider = z
  .strictObject({
    key: Key.describe('The key that clients send as `identityProvider`.'),
    issuer: Issuer.describe('The `iss` of upstream tokens: an http or https address.'),
    ...choices,
    jwksUri: choices.jwksUri.default(''),
    keySet: choices.keySet.default(null),
    subjectClaim: choices.subjectClaim.default('sub'),
    externalIdClaim: choices.externalIdClaim.default('sub'),
    groupClaim: choices.groupClaim.default('groups'),
    displayNameClaim: choices.displayNameClaim.default(''),
    emailClaim: choices.emailClaim.default('email'),
    unknownPeople: choices.unknownPeople.default('create'),
    admit: choices.admit.default(null),
    offered: choices.offered.default(false),
    groupMappings: choices.groupMappings.default({}),
    requiredAcrValues: choices.requiredAcrValues.default([]),
    requiredAmrValues: choices.requiredAmrValues.default([]),
    requiredClaims: choices.requiredClaims.default({}),
    authorizedParties: choices.authorizedParties.default([]),
    lifecycleProfile: choices.lifecycleProfile.default('read_only'),
    principalKind: choices.principalKind.default('human'),
    ownIssuer: choices.ownIssuer.default(false),
    jwksCacheTtlSeconds: choices.jwksCacheTtlSeconds.default(300),
    jwksStaleGraceSeconds: choices.jwksStaleGraceSeconds.default(900),
  })
  .meta({ id: 'NewIdentityProvider' });
export type NewIdentityProvider = z.infer<typeof NewIdentityProvider>;

/** The key can't change, because clients and tokens identify the provider by it. */
export const IdentityProviderChange = z
  .strictObject({
    ...choices,
    issuer: Issuer.describe('The new `iss` of its tokens. Pending sign-in requests of the provider end.'),
    linkedPeople: z
      .enum(['move', 'detach'])
      .describe(
        'Required to change the issuer of a provider with linked people. `move`: they sign in at the new issuer, with the same subjects; only if it is the same authority. `detach`: nobody of them can sign in through the provider any more.',
      ),
  })
  .partial()
  .meta({ id: 'IdentityProviderChange' });
export type IdentityProviderChange = z.infer<typeof IdentityProviderChange>;

/** A provider as it is stored. `registered_issuer` still has its trailing slashes. */
export type StoredProvider = RowOf<
  Tables['identity_providers'],
  {
    group_mappings: Record<string, string>;
    required_claims: Record<string, string[]>;
    key_set: StoredKeySet | null;
    admit: StoredAdmit | null;
  }
>;

/** A provider through which people or workloads may currently sign in. */
export type OpenProvider = StoredProvider & {
  readonly principal_kind: Exclude<StoredProvider['principal_kind'], 'none'>;
};

/** A provider in responses. */
export type ProviderRow = Omit<StoredProvider, 'registered_issuer'>;

/** The columns that an administrator chooses and may change. */
export type ProviderChoices = Omit<
  ProviderRow,
  'id' | 'tenant_id' | 'key' | 'issuer' | 'status' | 'created_at'
>;

/** The fields of a request, by column name; absent ones are undefined. */
export function columnsOf(change: IdentityProviderChange): Partial<ProviderChoices> {
  return {
    audience: change.audience,
    jwks_uri: change.jwksUri,
    key_set: change.keySet,
    subject_claim: change.subjectClaim,
    external_id_claim: change.externalIdClaim,
    group_claim: change.groupClaim,
    display_name_claim: change.displayNameClaim,
    email_claim: change.emailClaim,
    unknown_people: change.unknownPeople,
    admit: change.admit,
    offered: change.offered,
    group_mappings: change.groupMappings,
    required_acr_values: change.requiredAcrValues,
    required_amr_values: change.requiredAmrValues,
    required_claims: change.requiredClaims,
    authorized_parties: change.authorizedParties,
    lifecycle_profile: change.lifecycleProfile,
    principal_kind: change.principalKind,
    own_issuer: change.ownIssuer,
    jwks_cache_ttl_seconds: change.jwksCacheTtlSeconds,
    jwks_stale_grace_seconds: change.jwksStaleGraceSeconds,
  };
}
