// GENERATED from migrations/ by: npm run generate
import type { Generated, GeneratedAlways } from '@baton/kernel/database/db';

export interface Tables {
  administration_tokens: AdministrationTokensTable;
  agent_connectors: AgentConnectorsTable;
  audiences: AudiencesTable;
  audit_records: AuditRecordsTable;
  audit_removals: AuditRemovalsTable;
  audit_seals: AuditSealsTable;
  audit_starts: AuditStartsTable;
  authentication_contexts: AuthenticationContextsTable;
  browser_sessions: BrowserSessionsTable;
  endings: EndingsTable;
  events: EventsTable;
  external_identities: ExternalIdentitiesTable;
  group_members: GroupMembersTable;
  groups: GroupsTable;
  identity_providers: IdentityProvidersTable;
  invitations: InvitationsTable;
  journal_epoch: JournalEpochTable;
  journal_epochs: JournalEpochsTable;
  journal_floor: JournalFloorTable;
  memberships: MembershipsTable;
  oauth_clients: OauthClientsTable;
  oauth_grants: OauthGrantsTable;
  oauth_handles: OauthHandlesTable;
  passkeys: PasskeysTable;
  platform_access_tokens: PlatformAccessTokensTable;
  principals: PrincipalsTable;
  provisioning_sources: ProvisioningSourcesTable;
  provisioning_tokens: ProvisioningTokensTable;
  scim_groups: ScimGroupsTable;
  scim_users: ScimUsersTable;
  service_accounts: ServiceAccountsTable;
  sign_in_requests: SignInRequestsTable;
  signing_algorithm_uses: SigningAlgorithmUsesTable;
  signing_keys: SigningKeysTable;
  tenants: TenantsTable;
  upstream_accounts: UpstreamAccountsTable;
  used_assertions: UsedAssertionsTable;
  used_challenges: UsedChallengesTable;
  workload_rules: WorkloadRulesTable;
}

interface AdministrationTokensTable {
  id: string;
  tenant_id: string;
  principal_id: string;
  external_identity_id: string;
  browser_session_id: string | null;
  public_prefix: string;
  secret_hash: string;
  auth_time: string;
  created_at: Generated<string>;
  expires_at: string;
  revoked_at: string | null;
}

interface AgentConnectorsTable {
  agent_id: string;
  person_id: string;
  tenant_id: string;
  created_at: Generated<string>;
}

interface AudiencesTable {
  id: string;
  tenant_id: string;
  key: string;
  allowed_scopes: string[];
  status: Generated<'active' | 'disabled'>;
  created_at: Generated<string>;
  signing_algorithm: Generated<'RS256' | 'ES256' | 'EdDSA'>;
}

interface AuditRecordsTable {
  sequence: GeneratedAlways<number>;
  id: Generated<string>;
  tenant_id: string;
  action: string;
  actor_ref: string;
  resource_type: string;
  resource_id: string;
  outcome: 'allowed' | 'denied';
  reason: Generated<string>;
  request_id: string;
  occurred_at: Generated<string>;
  written_at: string | null;
  mac: Buffer | null;
}

interface AuditRemovalsTable {
  tenant_id: string;
  position: number;
  hmac: Buffer;
  key_id: string;
  removed_at: Generated<string>;
}

interface AuditSealsTable {
  tenant_id: string;
  position: number;
  first_sequence: number;
  last_sequence: number;
  records: number;
  occurred_from: string;
  occurred_to: string;
  digest: Buffer;
  previous_hmac: Buffer;
  hmac: Buffer;
  key_id: string;
  sealed_at: Generated<string>;
}

interface AuditStartsTable {
  through: number;
  hmac: Buffer;
  key_id: string;
  started_at: Generated<string>;
}

interface AuthenticationContextsTable {
  id: string;
  tenant_id: string;
  principal_id: string;
  external_identity_id: string | null;
  issuer: string;
  acr: string | null;
  amr: string[];
  auth_time: string;
  source: 'bootstrap' | 'federation' | 'passkey';
  recorded_at: Generated<string>;
  is_time_stated: Generated<boolean>;
}

interface BrowserSessionsTable {
  id: string;
  tenant_id: string;
  principal_id: string;
  external_identity_id: string;
  authentication_context_id: string;
  passkey_id: string | null;
  client_id: string;
  public_prefix: string;
  secret_hash: string;
  acr: string | null;
  auth_time: string;
  created_at: Generated<string>;
  expires_at: string;
  last_used_at: Generated<string>;
  ended_at: string | null;
  end_reason: Generated<string>;
}

interface EndingsTable {
  id: string;
  tenant_id: string;
  principal_id: string | null;
  token_generation: number | null;
  reason: string;
  actor_ref: string;
  request_id: string;
  acknowledged_at: Generated<string>;
  group_id: string | null;
  provisioning_source: string | null;
}

interface EventsTable {
  sequence: GeneratedAlways<number>;
  id: string;
  tenant_id: string;
  type: string;
  aggregate_type: string;
  aggregate_id: string;
  payload: unknown;
  occurred_at: Generated<string>;
}

interface ExternalIdentitiesTable {
  id: string;
  tenant_id: string;
  principal_id: string;
  issuer: string;
  subject: string;
  status: Generated<'active' | 'disabled'>;
  source: 'manual' | 'federated' | 'provisioned' | 'passkey';
  identity_provider_id: string | null;
  external_id: Generated<string>;
  last_sign_in_at: string | null;
  last_acr: string | null;
  created_at: Generated<string>;
}

interface GroupMembersTable {
  id: string;
  tenant_id: string;
  group_id: string;
  principal_id: string;
  source: 'local' | 'federated' | 'scim';
  identity_provider_id: string | null;
  created_at: Generated<string>;
}

interface GroupsTable {
  id: string;
  tenant_id: string;
  key: string;
  name: string;
  status: Generated<'active' | 'disabled'>;
  source: 'local' | 'federated' | 'scim';
  created_at: Generated<string>;
  deleted_at: string | null;
}

interface IdentityProvidersTable {
  id: string;
  tenant_id: string;
  key: string;
  issuer: string;
  registered_issuer: string;
  audience: string;
  jwks_uri: Generated<string>;
  subject_claim: Generated<string>;
  external_id_claim: Generated<string>;
  group_claim: Generated<string>;
  group_mappings: Generated<unknown>;
  required_acr_values: Generated<string[]>;
  required_amr_values: Generated<string[]>;
  lifecycle_profile: Generated<'read_only' | 'managed'>;
  jwks_cache_ttl_seconds: Generated<number>;
  jwks_stale_grace_seconds: Generated<number>;
  status: Generated<'active' | 'disabled'>;
  created_at: Generated<string>;
  display_name_claim: Generated<string>;
  authorized_parties: Generated<string[]>;
  principal_kind: Generated<'human' | 'workload' | 'none'>;
  required_claims: Generated<unknown>;
  key_set: unknown;
  email_claim: Generated<string>;
  unknown_people: Generated<'create' | 'request'>;
  admit: unknown;
  offered: Generated<boolean>;
  own_issuer: Generated<boolean>;
}

interface InvitationsTable {
  id: string;
  tenant_id: string;
  principal_id: string;
  kind: 'invitation' | 'recovery';
  email: string | null;
  role: string | null;
  invited_by: string;
  message: string;
  activates: boolean;
  replaces: boolean;
  public_prefix: string;
  secret_hash: string;
  created_at: Generated<string>;
  expires_at: string;
  accepted_at: string | null;
  accepted_by: 'passkey' | 'identity_provider' | null;
  revoked_at: string | null;
  revoke_reason: Generated<string>;
}

interface JournalEpochTable {
  only_row: Generated<boolean>;
  server_started_at: string | null;
  table_number: number | null;
  database_number: number | null;
  cluster: string | null;
}

interface JournalEpochsTable {
  first_sequence: number;
  previous_end: number;
  began_at: Generated<string>;
  cluster: string | null;
  reason: 'restart' | 'another_cluster' | 'restored' | 'requested';
}

interface JournalFloorTable {
  only_row: Generated<boolean>;
  floor: Generated<number>;
}

interface MembershipsTable {
  tenant_id: string;
  principal_id: string;
  status: Generated<'active' | 'disabled'>;
  created_at: Generated<string>;
}

interface OauthClientsTable {
  id: string;
  tenant_id: string;
  client_id: string;
  name: string;
  redirect_uris: string[];
  created_at: Generated<string>;
}

interface OauthGrantsTable {
  credential_id: string;
  tenant_id: string;
  granted_by: string;
  client_id: string;
  resource: string;
  created_at: Generated<string>;
  browser_session_id: string | null;
}

interface OauthHandlesTable {
  kind: 'AuthorizationCode' | 'RefreshToken' | 'DeviceCode';
  handle_hash: string;
  user_code_hash: string | null;
  credential_id: string | null;
  requested_by: string | null;
  payload: unknown;
  created_at: Generated<string>;
  expires_at: string;
  consumed_at: string | null;
  polled_at: string | null;
}

interface PasskeysTable {
  id: string;
  tenant_id: string;
  principal_id: string;
  external_identity_id: string;
  name: string;
  credential_id: string;
  public_key: string;
  sign_count: number;
  transports: Generated<string[]>;
  is_synced: boolean;
  is_backed_up: boolean;
  created_at: Generated<string>;
  last_used_at: string | null;
}

interface PlatformAccessTokensTable {
  id: string;
  tenant_id: string;
  principal_id: string;
  kind: 'platform_access_token' | 'legacy_control_plane_api_key' | 'oauth_grant';
  name: string;
  public_prefix: string;
  secret_hash: string;
  audiences: string[];
  scope_ceiling: string[];
  origin: 'sign_in' | 'agent' | 'migration';
  authentication_context_id: string | null;
  auth_issuer: string | null;
  acr: string | null;
  amr: string[] | null;
  auth_time: string | null;
  created_at: Generated<string>;
  expires_at: string;
  last_used_at: string | null;
  revoked_at: string | null;
  revoke_reason: Generated<string>;
  rotated_from_id: string | null;
  idempotency_key: string | null;
  idempotency_fingerprint: string | null;
  generation: Generated<number>;
}

interface PrincipalsTable {
  id: string;
  kind: 'human' | 'agent' | 'service_account' | 'workload';
  display_name: string;
  status: Generated<'active' | 'paused' | 'disabled'>;
  created_at: Generated<string>;
  disabled_by_admin: Generated<boolean>;
  token_generation: Generated<number>;
}

interface ProvisioningSourcesTable {
  id: string;
  tenant_id: string;
  key: string;
  kind: 'scim' | 'ldap';
  identity_provider_id: string;
  service_principal_id: string | null;
  upstream_mode: 'off' | 'scim' | 'admin' | 'auto';
  upstream_base_url: string;
  upstream_realm: string;
  status: Generated<'active' | 'disabled'>;
  stale_after_seconds: number;
  last_sync_at: string | null;
  stale_detected_at: string | null;
  created_at: Generated<string>;
  users_count: Generated<number>;
  active_users_count: Generated<number>;
}

interface ProvisioningTokensTable {
  id: string;
  tenant_id: string;
  provisioning_source_id: string;
  name: string;
  public_prefix: string;
  secret_hash: string;
  created_at: Generated<string>;
  expires_at: string;
  revoked_at: string | null;
  idempotency_key: string | null;
  idempotency_fingerprint: string | null;
}

interface ScimGroupsTable {
  id: string;
  provisioning_source_id: string;
  tenant_id: string;
  group_id: string;
  display_name: string;
  external_id: string | null;
  version: Generated<number>;
  created_at: Generated<string>;
  modified_at: Generated<string>;
}

interface ScimUsersTable {
  id: string;
  provisioning_source_id: string;
  tenant_id: string;
  principal_id: string;
  external_identity_id: string;
  user_name: string;
  external_id: string | null;
  display_name: string | null;
  active: boolean;
  document: unknown;
  version: Generated<number>;
  created_at: Generated<string>;
  modified_at: Generated<string>;
  search: GeneratedAlways<string | null>;
  upstream_id: string | null;
  suspended: Generated<boolean>;
  upstream_restores: Generated<number>;
}

interface ServiceAccountsTable {
  id: string;
  tenant_id: string;
  principal_id: string;
  client_id: string;
  secret_hash: string;
  audiences: string[];
  scope_ceiling: string[];
  last_used_at: string | null;
  revoked_at: string | null;
  created_at: Generated<string>;
}

interface SignInRequestsTable {
  id: string;
  tenant_id: string;
  identity_provider_id: string;
  principal_id: string;
  issuer: string;
  subject: string;
  external_id: string;
  display_name: string;
  email: string | null;
  email_verified: boolean;
  status: Generated<'pending' | 'admitted' | 'refused'>;
  attempts: Generated<number>;
  created_at: Generated<string>;
  last_attempt_at: Generated<string>;
  expires_at: string;
  decided_at: string | null;
  decision_reason: Generated<string>;
  address_hash: string | null;
}

interface SigningAlgorithmUsesTable {
  algorithm: 'ES256' | 'EdDSA';
  left_at: string;
}

interface SigningKeysTable {
  kid: string;
  thumbprint: string;
  first_seen_at: Generated<string>;
  needed_until: string | null;
}

interface TenantsTable {
  id: string;
  slug: string;
  name: string;
  status: Generated<'active' | 'disabled'>;
  created_at: Generated<string>;
}

interface UpstreamAccountsTable {
  provisioning_source_id: string;
  name_hash: string;
  tenant_id: string;
  upstream_id: string | null;
  is_tried: Generated<boolean>;
  tried_at: Generated<string>;
  held_by: string | null;
  held_until: string;
}

interface UsedAssertionsTable {
  identity_provider_id: string;
  jti_hash: string;
  expires_at: string;
  workload_rule_id: string | null;
}

interface UsedChallengesTable {
  challenge_hash: string;
  expires_at: string;
}

interface WorkloadRulesTable {
  id: string;
  tenant_id: string;
  identity_provider_id: string;
  key: string;
  principal_id: string;
  claims: unknown;
  audiences: string[];
  scope_ceiling: string[];
  single_use: boolean;
  lifetime_seconds_max: number;
  status: Generated<'active' | 'disabled'>;
  created_at: Generated<string>;
  last_used_at: string | null;
}
