import type { RowOf } from '@baton/kernel/database/row';
import type { Tables } from '../service/schema.ts';

/** The actions of the audit record (see docs/reference/audit.md#audit-records). */
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
  | 'workload_rules.create'
  | 'workload_rules.update'
  | 'workload_rules.disable'
  | 'workload_rules.enable'
  | 'workload_rules.delete'
  | 'workload_rules.exchange'
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
  | 'tokens.introspect'
  | 'clients.authenticate'
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

/** An audit row before it is written. `reason` may contain public prefixes, but never secrets or hashes. */
export type AuditDraft = Omit<
  RowOf<Tables['audit_records'], { action: AuditAction }>,
  'sequence' | 'id' | 'occurred_at' | 'written_at' | 'mac'
>;

/** A journal row before it is written (see docs/reference/audit.md#journal). */
export type EventDraft = Omit<RowOf<Tables['events']>, 'sequence' | 'occurred_at'>;
