/** What is recorded of each act (contract, section 13). */
export type AuditAction =
  | 'tenants.create'
  | 'tenants.update'
  | 'principals.create'
  | 'principals.disable'
  | 'principals.enable'
  | 'principals.update'
  | 'external_identities.link'
  | 'authentication_contexts.record'
  | 'identity_providers.create'
  | 'identity_providers.update'
  | 'identity_providers.disable'
  | 'identity_providers.enable'
  | 'federation.authenticate'
  | 'federation.exchange'
  | 'federation.identity_adopted'
  | 'federation.subject_rotated'
  | 'audiences.create'
  | 'audiences.update'
  | 'groups.create'
  | 'groups.update'
  | 'groups.delete'
  | 'group_members.add'
  | 'group_members.remove'
  | 'service_accounts.create'
  | 'service_accounts.update'
  | 'service_accounts.rotate_secret'
  | 'service_accounts.revoke'
  | 'tokens.exchange'
  | 'platform_access_tokens.issue'
  | 'platform_access_tokens.rotate'
  | 'platform_access_tokens.revoke'
  | 'platform_access_tokens.exchange'
  | 'platform_access_tokens.introspect'
  | 'legacy_credentials.import'
  | 'provisioning_sources.register'
  | 'provisioning_sources.update'
  | 'provisioning_sources.disable'
  | 'provisioning_sources.enable'
  | 'provisioning_sources.heartbeat'
  | 'provisioning_sources.stale_detected'
  | 'provisioning_tokens.issue'
  | 'provisioning_tokens.revoke'
  | 'scim.access'
  | 'scim.users.create'
  | 'scim.users.replace'
  | 'scim.users.patch'
  | 'scim.users.delete'
  | 'scim.groups.create'
  | 'scim.groups.replace'
  | 'scim.groups.patch'
  | 'scim.groups.delete';

/** An audit row on its way, in the names of its columns. Prefixes may stand in `reason`; secrets and hashes never do. */
export interface AuditDraft {
  tenant_id: string;
  action: AuditAction;
  actor_ref: string;
  resource_type: string;
  resource_id: string;
  outcome: 'allowed' | 'denied';
  reason: string;
  request_id: string;
}

/** A journal row on its way, in the names of its columns (contract, section 12). */
export interface EventDraft {
  id: string;
  tenant_id: string;
  type: string;
  aggregate_type: string;
  aggregate_id: string;
  payload: unknown;
}
