// GENERATED from migrations/ by: npm run generate
import type { Generated, GeneratedAlways } from '@baton/kernel/database/db';

export interface Tables {
  access_roles: AccessRolesTable;
  admission_rules: AdmissionRulesTable;
  agent_connections: AgentConnectionsTable;
  agent_revisions: AgentRevisionsTable;
  agent_secrets: AgentSecretsTable;
  agent_statuses: AgentStatusesTable;
  agents: AgentsTable;
  api_keys: ApiKeysTable;
  approval_outcomes: ApprovalOutcomesTable;
  approvals: ApprovalsTable;
  archived_events: ArchivedEventsTable;
  artifact_contents: ArtifactContentsTable;
  artifact_types: ArtifactTypesTable;
  artifact_uploads: ArtifactUploadsTable;
  artifacts: ArtifactsTable;
  basis_losses: BasisLossesTable;
  calendar_versions: CalendarVersionsTable;
  calendars: CalendarsTable;
  capabilities: CapabilitiesTable;
  capability_assignments: CapabilityAssignmentsTable;
  checkpoints: CheckpointsTable;
  child_handles: ChildHandlesTable;
  claims: ClaimsTable;
  comment_revisions: CommentRevisionsTable;
  comments: CommentsTable;
  connection_authorizations: ConnectionAuthorizationsTable;
  connection_oauth_apps: ConnectionOauthAppsTable;
  connection_types: ConnectionTypesTable;
  connections: ConnectionsTable;
  context_packs: ContextPacksTable;
  delegations: DelegationsTable;
  endings: EndingsTable;
  ensured_work: EnsuredWorkTable;
  event_consumers: EventConsumersTable;
  events: EventsTable;
  exhausted_tasks: ExhaustedTasksTable;
  external_references: ExternalReferencesTable;
  goals: GoalsTable;
  harness_manifests: HarnessManifestsTable;
  iam_bindings: IamBindingsTable;
  idempotency_keys: IdempotencyKeysTable;
  identity_administrations: IdentityAdministrationsTable;
  invitation_mails: InvitationMailsTable;
  journal_epoch: JournalEpochTable;
  journal_epochs: JournalEpochsTable;
  journal_floors: JournalFloorsTable;
  knowledge_documents: KnowledgeDocumentsTable;
  knowledge_intents: KnowledgeIntentsTable;
  left_sets: LeftSetsTable;
  mentions: MentionsTable;
  notification_deliveries: NotificationDeliveriesTable;
  notification_digest_items: NotificationDigestItemsTable;
  notification_digests: NotificationDigestsTable;
  notification_pauses: NotificationPausesTable;
  notification_preferences: NotificationPreferencesTable;
  notification_webhooks: NotificationWebhooksTable;
  observations: ObservationsTable;
  outbox: OutboxTable;
  outbox_deliveries: OutboxDeliveriesTable;
  outbox_sinks: OutboxSinksTable;
  package_objects: PackageObjectsTable;
  package_settings_versions: PackageSettingsVersionsTable;
  packages: PackagesTable;
  principals: PrincipalsTable;
  process_definitions: ProcessDefinitionsTable;
  process_inputs: ProcessInputsTable;
  process_instance_journal: ProcessInstanceJournalTable;
  process_instances: ProcessInstancesTable;
  process_keys: ProcessKeysTable;
  process_migrations: ProcessMigrationsTable;
  process_orders: ProcessOrdersTable;
  process_recalls: ProcessRecallsTable;
  process_references: ProcessReferencesTable;
  process_timers: ProcessTimersTable;
  process_trigger_places: ProcessTriggerPlacesTable;
  process_triggers: ProcessTriggersTable;
  process_waits: ProcessWaitsTable;
  project_config_revisions: ProjectConfigRevisionsTable;
  project_templates: ProjectTemplatesTable;
  projects: ProjectsTable;
  queued_requirements: QueuedRequirementsTable;
  refused_writes: RefusedWritesTable;
  requirement_items: RequirementItemsTable;
  requirement_sets: RequirementSetsTable;
  role_assignments: RoleAssignmentsTable;
  roles: RolesTable;
  rule_evaluations: RuleEvaluationsTable;
  rule_touched_tasks: RuleTouchedTasksTable;
  rule_versions: RuleVersionsTable;
  rule_work: RuleWorkTable;
  rules: RulesTable;
  run_actions: RunActionsTable;
  run_cascades: RunCascadesTable;
  run_control_messages: RunControlMessagesTable;
  runs: RunsTable;
  sealed_secrets: SealedSecretsTable;
  secret_leftovers: SecretLeftoversTable;
  sessions: SessionsTable;
  skill_assignments: SkillAssignmentsTable;
  skill_invocations: SkillInvocationsTable;
  skills: SkillsTable;
  task_addressees: TaskAddresseesTable;
  task_relations: TaskRelationsTable;
  task_search: TaskSearchTable;
  task_turns: TaskTurnsTable;
  task_type_statuses: TaskTypeStatusesTable;
  task_types: TaskTypesTable;
  tasks: TasksTable;
  tenants: TenantsTable;
  verifications: VerificationsTable;
  views: ViewsTable;
  work_offers: WorkOffersTable;
  work_queue: WorkQueueTable;
  workspace_knowledge_packs: WorkspaceKnowledgePacksTable;
  workspace_members: WorkspaceMembersTable;
  workspace_types: WorkspaceTypesTable;
  workspaces: WorkspacesTable;
  zone_changes: ZoneChangesTable;
}

interface AccessRolesTable {
  id: string;
  tenant_id: string;
  key: string;
  name: string;
  description: Generated<string>;
  permissions: string[];
  version: Generated<number>;
  created_at: Generated<string>;
  updated_at: Generated<string>;
}

interface AdmissionRulesTable {
  id: string;
  issuer: string;
  iam_tenant_id: string;
  identity_provider: string;
  tenant_id: string;
  access_role: string;
  created_at: Generated<string>;
  updated_at: Generated<string>;
}

interface AgentConnectionsTable {
  agent_id: string;
  tenant_id: string;
  connection_key: string;
}

interface AgentRevisionsTable {
  id: string;
  tenant_id: string;
  agent_id: string;
  revision: number;
  spec: unknown;
  spec_hash: string;
  grants: unknown;
  changed_fields: string[] | null;
  spec_bytes: number;
  created_by: string;
  created_at: Generated<string>;
  source: unknown;
}

interface AgentSecretsTable {
  agent_id: string;
  name: string;
  tenant_id: string;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  updated_by: string;
}

interface AgentStatusesTable {
  agent_id: string;
  tenant_id: string;
  phase: string;
  reason: unknown;
  observed_revision: number | null;
  node: string | null;
  instances: unknown;
  observed_at: string;
  reported_at: Generated<string>;
  reported_by: string;
}

interface AgentsTable {
  id: string;
  tenant_id: string;
  key: string;
  kind: 'agent' | 'service';
  display_name: string;
  status: Generated<'active' | 'retired'>;
  state: 'running' | 'stopped';
  replicas: number;
  current_revision: number;
  principal_id: string | null;
  binding_id: string | null;
  workspace_id: string | null;
  retired_at: string | null;
  retired_by: string | null;
  retired_reason: string | null;
  version: Generated<number>;
  created_by: string;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  package: unknown;
  package_key: GeneratedAlways<string | null>;
  work: unknown;
}

interface ApiKeysTable {
  id: string;
  tenant_id: string;
  principal_id: string;
  key_prefix: string;
  key_hash: string;
  permissions: string[];
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
  created_at: Generated<string>;
}

interface ApprovalOutcomesTable {
  approval_id: string;
  tenant_id: string;
  outcome: 'approved' | 'rejected';
  credential: unknown;
  decision_event_id: string;
  declared: unknown;
  actions: Generated<unknown>;
  attempts: Generated<number>;
  failures: Generated<number>;
  last_error: unknown;
  next_attempt_at: Generated<string | null>;
  failure_task_id: string | null;
  expression_values: unknown;
}

interface ApprovalsTable {
  id: string;
  tenant_id: string;
  workspace_id: string | null;
  task_id: string | null;
  artifact_id: string | null;
  requested_by_principal_id: string;
  status: Generated<'pending' | 'approved' | 'rejected' | 'cancelled'>;
  gate: boolean;
  required_role_id: string | null;
  assigned_principal_id: string | null;
  excluded_principals: Generated<string[]>;
  comment: Generated<string>;
  decision_by_principal_id: string | null;
  decision_at: string | null;
  decision_comment: string | null;
  outcome_status: 'pending' | 'deferred' | 'executed' | 'failed' | null;
  version: Generated<number>;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  subject: unknown;
  subject_digest: string | null;
  requested_subject: unknown;
  supersedes_approval_id: string | null;
  verification_id: string | null;
  check_key: string | null;
}

interface ArchivedEventsTable {
  sequence: number;
  id: string;
  tenant_id: string;
  position: number;
  type: string;
  schema_version: number;
  entity_type: string;
  entity_id: string;
  workspace_id: string | null;
  actor_id: string | null;
  iam_actor_id: string | null;
  session_id: string | null;
  correlation_id: string | null;
  causation_id: string | null;
  request_id: string | null;
  trace_run_id: string | null;
  payload: unknown;
  occurred_at: string;
}

interface ArtifactContentsTable {
  id: string;
  tenant_id: string;
  state: Generated<'writing' | 'stored' | 'doomed'>;
  sha256: string | null;
  size_bytes: number | null;
  state_since: Generated<string>;
}

interface ArtifactTypesTable {
  id: string;
  tenant_id: string;
  key: string;
  version: number;
  display_name: string;
  description: Generated<string>;
  metadata_schema: Generated<unknown>;
  media_types: string[];
  max_bytes: number | null;
  created_by: string;
  created_at: Generated<string>;
  package: unknown;
  package_key: GeneratedAlways<string | null>;
}

interface ArtifactUploadsTable {
  id: string;
  tenant_id: string;
  content_id: string;
  created_by: string;
  media_type: string;
  created_at: Generated<string>;
  expires_at: string;
}

interface ArtifactsTable {
  id: string;
  tenant_id: string;
  created_by: string;
  workspace_id: string | null;
  task_id: string | null;
  run_id: string | null;
  type: string;
  type_version: number | null;
  name: string;
  uri: string | null;
  content: unknown;
  metadata: Generated<unknown>;
  supersedes_artifact_id: string | null;
  content_state: Generated<'none' | 'stored' | 'purged'>;
  content_id: string | null;
  size_bytes: number | null;
  media_type: string | null;
  sha256: string | null;
  created_at: Generated<string>;
}

interface BasisLossesTable {
  id: Generated<string>;
  tenant_id: string;
  kind: 'principal' | 'skill' | 'run' | 'task';
  subject_id: string;
  looked_until: Generated<string>;
  noted_at: Generated<string>;
}

interface CalendarVersionsTable {
  id: string;
  tenant_id: string;
  key: string;
  version: number;
  calendar_hash: string;
  spec: unknown;
  provisional_years: number[];
  created_by: string;
  created_at: Generated<string>;
}

interface CalendarsTable {
  tenant_id: string;
  key: string;
  id: string;
  version: number;
  created_at: string;
  status: Generated<'active' | 'retired'>;
  retired_at: string | null;
  retired_by: string | null;
  retired_reason: string | null;
  package: unknown;
  package_key: GeneratedAlways<string | null>;
}

interface CapabilitiesTable {
  id: string;
  tenant_id: string;
  name: string;
  description: Generated<string>;
  version: Generated<number>;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  package: unknown;
  package_key: GeneratedAlways<string | null>;
}

interface CapabilityAssignmentsTable {
  id: string;
  tenant_id: string;
  principal_id: string;
  capability_id: string;
  metadata: Generated<unknown>;
  created_at: Generated<string>;
}

interface CheckpointsTable {
  id: string;
  tenant_id: string;
  run_id: string;
  task_id: string;
  created_by_principal_id: string;
  seq: number;
  kind: string;
  data: unknown;
  data_bytes: number;
  created_at: Generated<string>;
}

interface ChildHandlesTable {
  id: string;
  tenant_id: string;
  parent_run_id: string;
  parent_task_id: string;
  child_task_id: string;
  child_run_id: string | null;
  correlation_id: string;
  secret_hash: string;
  permissions: string[];
  capabilities: string[];
  skills: string[];
  cancellation_policy: 'cascade_cooperative' | 'detach';
  depth: number;
  handle_version: Generated<number>;
  expires_at: string;
  revoked_at: string | null;
  revoke_reason: string | null;
  created_at: Generated<string>;
  outcome: 'succeeded' | 'failed' | 'cancelled' | null;
  summary: string | null;
  data: unknown;
  artifact_refs: string[] | null;
  result_hash: string | null;
  recorded_at: string | null;
}

interface ClaimsTable {
  id: string;
  tenant_id: string;
  task_id: string;
  session_id: string;
  holder_id: string;
  status: Generated<'active' | 'released' | 'stale'>;
  fencing_token: number;
  intent: Generated<string>;
  acquired_at: Generated<string>;
  heartbeat_at: Generated<string>;
  lease_seconds: Generated<number>;
  expires_at: string;
  released_at: string | null;
  release_reason: string | null;
  sweep_at: Generated<string>;
}

interface CommentRevisionsTable {
  id: string;
  tenant_id: string;
  comment_id: string;
  task_id: string;
  version: number;
  body: string;
  author_principal_id: string;
  created_at: string;
  superseded_at: Generated<string>;
  superseded_by: string;
}

interface CommentsTable {
  id: string;
  tenant_id: string;
  task_id: string;
  author_principal_id: string;
  body: string;
  run_id: string | null;
  artifact_id: string | null;
  version: Generated<number>;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  edited_at: string | null;
}

interface ConnectionAuthorizationsTable {
  connection_id: string;
  tenant_id: string;
  state_hash: string;
  epoch: number;
  initiated_by: unknown;
  secret_name: string;
  expires_at: string;
}

interface ConnectionOauthAppsTable {
  tenant_id: string;
  type_key: string;
  client_id: string;
  secret_name: string;
  version: Generated<number>;
  updated_at: Generated<string>;
  type_version: number | null;
}

interface ConnectionTypesTable {
  id: string;
  tenant_id: string;
  key: string;
  version: number;
  status: Generated<'active' | 'deprecated' | 'disabled'>;
  spec: unknown;
  spec_hash: string;
  row_version: Generated<number>;
  created_by: string;
  created_at: Generated<string>;
  package: unknown;
  package_key: GeneratedAlways<string | null>;
}

interface ConnectionsTable {
  id: string;
  tenant_id: string;
  key: string;
  type_key: string;
  type_version: number;
  display_name: string;
  account: string | null;
  auth: 'oauth2' | 'token' | null;
  status: Generated<'pending' | 'active' | 'expired' | 'revoked'>;
  status_reason: string | null;
  status_message: string | null;
  settings: unknown;
  secret_name: string | null;
  authorization_epoch: Generated<number>;
  expires_at: string | null;
  connected_by: string | null;
  connected_at: string | null;
  last_checked_at: string | null;
  created_by: string;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  version: Generated<number>;
}

interface ContextPacksTable {
  id: string;
  tenant_id: string;
  task_id: string;
  claim_id: string;
  created_by: string;
  as_of: string;
  as_of_mode: 'claim' | 'now';
  budget_tokens: number;
  question: unknown;
  pack: unknown;
  trace_id: string | null;
  created_at: Generated<string>;
}

interface DelegationsTable {
  id: string;
  tenant_id: string;
  human_principal_id: string;
  agent_principal_id: string;
  permissions: Generated<string[]>;
  starts_at: Generated<string>;
  expires_at: string | null;
  revoked_at: string | null;
  created_at: Generated<string>;
}

interface EndingsTable {
  id: string;
  tenant_id: string;
  principal_id: string | null;
  session_id: string | null;
  reason: string;
  acknowledged_at: Generated<string>;
}

interface EnsuredWorkTable {
  tenant_id: string;
  key: string;
  task_id: string | null;
  created_at: Generated<string>;
}

interface EventConsumersTable {
  tenant_id: string;
  consumer: string;
  position: Generated<number>;
  sequence: Generated<number>;
  lease_id: string | null;
  leased_until: string | null;
  served_at: Generated<string>;
  has_more: Generated<boolean>;
  parked_at: string | null;
  parked_reason: string | null;
  parked_event_id: string | null;
  failure_count: Generated<number>;
  next_attempt_at: string | null;
  delivered_total: Generated<number>;
  duplicates_total: Generated<number>;
  failures_total: Generated<number>;
  redrives_total: Generated<number>;
  last_delivery_at: string | null;
  created_at: Generated<string>;
  updated_at: Generated<string>;
}

interface EventsTable {
  sequence: GeneratedAlways<number>;
  id: string;
  tenant_id: string;
  position: Generated<number>;
  type: string;
  schema_version: number;
  entity_type: string;
  entity_id: string;
  workspace_id: string | null;
  actor_id: string | null;
  iam_actor_id: string | null;
  session_id: string | null;
  correlation_id: string | null;
  causation_id: string | null;
  request_id: string | null;
  trace_run_id: string | null;
  payload: unknown;
  occurred_at: Generated<string>;
}

interface ExhaustedTasksTable {
  task_id: string;
  tenant_id: string;
  noted_at: Generated<string>;
}

interface ExternalReferencesTable {
  id: string;
  tenant_id: string;
  entity_type: 'project' | 'task';
  entity_id: string;
  external_system: string;
  external_type: string;
  external_id: string;
  reference_key: string;
  metadata: Generated<unknown>;
  version: Generated<number>;
  created_by: string;
  created_at: Generated<string>;
  updated_at: Generated<string>;
}

interface GoalsTable {
  id: string;
  tenant_id: string;
  workspace_id: string | null;
  title: string;
  desired_state: Generated<string>;
  criteria: Generated<unknown>;
  owner_id: string | null;
  status: Generated<'active' | 'achieved' | 'abandoned'>;
  created_from: unknown;
  parent_goal_id: string | null;
  path: string[];
  version: Generated<number>;
  created_by: string;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  closed_at: string | null;
}

interface HarnessManifestsTable {
  run_id: string;
  version: number;
  tenant_id: string;
  reason: 'run_started' | 'recompile' | 'provider_fallback';
  base: unknown;
  captured: unknown;
  declared: Generated<string[]>;
  remarks: Generated<unknown>;
  remarks_bytes: Generated<number>;
  data_bytes: Generated<number>;
  created_at: Generated<string>;
  created_by: string;
}

interface IamBindingsTable {
  id: string;
  tenant_id: string;
  principal_id: string;
  issuer: string;
  iam_tenant_id: string;
  iam_principal_id: string;
  permissions: string[];
  status: Generated<'active' | 'disabled' | 'revoked'>;
  revoked_at: string | null;
  last_used_at: string | null;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  visibility: Generated<'tenant' | 'members'>;
  access_role: string | null;
}

interface IdempotencyKeysTable {
  tenant_id: string;
  key: string;
  fingerprint: string;
  status: number | null;
  body: unknown;
  expires_at: string;
}

interface IdentityAdministrationsTable {
  token_id: string;
  iam_tenant_id: string;
  tenant_id: string;
  principal_id: string;
  binding_id: string;
  expires_at: string;
}

interface InvitationMailsTable {
  id: string;
  tenant_id: string;
  principal_id: string;
  invited_by: string;
  key_id: string;
  sealed: Buffer;
  created_at: Generated<string>;
  expires_at: string;
}

interface JournalEpochTable {
  singleton: Generated<boolean>;
  position_offset: Generated<number>;
  cluster: string | null;
  server_started_at: string | null;
  table_number: number | null;
  database_number: number | null;
  previous_offset: Generated<number>;
  first_transaction: Generated<number>;
}

interface JournalEpochsTable {
  first_position: number;
  previous_end: number;
  began_at: Generated<string>;
  cluster: string | null;
  reason: 'restart' | 'another_cluster' | 'restored' | 'requested';
}

interface JournalFloorsTable {
  tenant_id: string;
  floor_position: Generated<number>;
  floor_sequence: Generated<number>;
  floor_top_sequence: Generated<number>;
  archive_position: Generated<number>;
  archive_sequence: Generated<number>;
  moved_position: Generated<number>;
  moved_sequence: Generated<number>;
  deleted_position: Generated<number>;
  deleted_sequence: Generated<number>;
  archive_due_at: Generated<string>;
}

interface KnowledgeDocumentsTable {
  tenant_id: string;
  natural_key: string;
  root_workspace_id: string;
  workspace_id: string;
}

interface KnowledgeIntentsTable {
  id: string;
  tenant_id: string;
  kind: 'snapshot' | 'document' | 'pack' | 'configuration';
  subject: string;
  path: string;
  body: string;
  facts: unknown;
  principal_id: string;
  iam_principal_id: string | null;
  request_id: string;
  correlation_id: string;
  trace_run_id: string;
  idempotency_key: string | null;
  fingerprint: string | null;
  attempts: Generated<number>;
  due_at: string;
  created_at: Generated<string>;
}

interface LeftSetsTable {
  id: GeneratedAlways<number>;
  tenant_id: string;
  set_id: string;
}

interface MentionsTable {
  source_id: string;
  principal_id: string;
  tenant_id: string;
  task_id: string;
  author_id: string;
  is_present: Generated<boolean>;
  created_at: Generated<string>;
}

interface NotificationDeliveriesTable {
  event_id: string;
  recipient_id: string;
  channel: string;
  tenant_id: string;
  kind: string;
  unknown_attempts: number;
  sent_at: string | null;
  created_at: Generated<string>;
  attempts: Generated<number>;
  refusal: string | null;
  left_out: Generated<boolean>;
  counted_at: string | null;
  counted_as: string | null;
}

interface NotificationDigestItemsTable {
  id: Generated<number>;
  principal_id: string;
  tenant_id: string;
  event_id: string;
  kind: string;
  entity_id: string;
  created_at: Generated<string>;
}

interface NotificationDigestsTable {
  principal_id: string;
  tenant_id: string;
  due_at: string | null;
  left_out: Generated<number>;
}

interface NotificationPausesTable {
  recipient_id: string;
  channel: string;
  tenant_id: string;
  target: string;
  failures: number;
  is_refused: boolean;
  paused_until: string;
}

interface NotificationPreferencesTable {
  tenant_id: string;
  principal_id: string;
  email: string | null;
  modes: Generated<unknown>;
  digest_interval_seconds: Generated<number>;
  version: Generated<number>;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  address_changes: Generated<number>;
  address_changes_since: Generated<string>;
}

interface NotificationWebhooksTable {
  id: string;
  tenant_id: string;
  principal_id: string | null;
  host: string;
  secret_name: string;
  kinds: Generated<string[]>;
  version: Generated<number>;
  created_at: Generated<string>;
  updated_at: Generated<string>;
}

interface ObservationsTable {
  id: string;
  event_id: string;
  tenant_id: string;
  created_by: string;
  kind: string;
  source: string | null;
  dedup_key: string | null;
  task_id: string | null;
  run_id: string | null;
  workspace_id: string | null;
  recorded_at: Generated<string>;
  external_system: string | null;
  external_id: string | null;
  supersedes: string | null;
}

interface OutboxTable {
  event_sequence: number;
  tenant_id: string;
}

interface OutboxDeliveriesTable {
  place: Generated<number>;
  lead: number;
  sink: string;
  tenant_id: string;
  event_sequences: number[];
  oldest_position: number;
  is_new: Generated<boolean>;
  attempts: Generated<number>;
  available_at: Generated<string>;
  dead_at: string | null;
  dropped_at: string | null;
  last_error: string | null;
  unsettled: Generated<number>;
}

interface OutboxSinksTable {
  name: string;
  filter_digest: string;
  tenants: string[] | null;
  type_patterns: string[] | null;
  seen_at: Generated<string>;
  events_max: number | null;
}

interface PackageObjectsTable {
  tenant_id: string;
  kind: string;
  key: string;
  package_key: string;
  version: string;
  install_hash: string | null;
  applied_by: 'installer' | 'apply';
  installed_at: Generated<string>;
  said: unknown;
  was: unknown;
  retired_at: string | null;
}

interface PackageSettingsVersionsTable {
  tenant_id: string;
  package_key: string;
  version: number;
  values: unknown;
  schema_revision: number;
  schema_hash: string;
  changed_paths: string[];
  created_by: string;
  created_at: Generated<string>;
}

interface PackagesTable {
  id: string;
  tenant_id: string;
  key: string;
  version: string;
  install_hash: string | null;
  title: string;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  settings_title: string | null;
  settings_schema: unknown;
  settings_uischema: unknown;
  settings_schema_hash: string | null;
  settings_schema_revision: Generated<number>;
  settings_values: Generated<unknown>;
  settings_version: Generated<number>;
  settings_updated_by: string | null;
  settings_updated_at: string | null;
}

interface PrincipalsTable {
  id: string;
  tenant_id: string;
  kind: 'human' | 'agent' | 'service';
  display_name: string;
  status: Generated<'active' | 'paused' | 'disabled'>;
  metadata: Generated<unknown>;
  profile: Generated<unknown>;
  version: Generated<number>;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  agent_id: string | null;
}

interface ProcessDefinitionsTable {
  id: string;
  tenant_id: string;
  workspace_id: string | null;
  key: string;
  version: number;
  definition_hash: string;
  identity_agent: string;
  governed_by: string[];
  expression_profile: string;
  engine_revision: number;
  spec: unknown;
  warnings: unknown;
  is_latest: Generated<boolean>;
  status: Generated<'active' | 'retired'>;
  retired_at: string | null;
  retired_by: string | null;
  retired_reason: string | null;
  created_by: string;
  created_at: Generated<string>;
  package: unknown;
  package_key: GeneratedAlways<string | null>;
}

interface ProcessInputsTable {
  instance_id: string;
  source_ref: string;
  tenant_id: string;
  number: GeneratedAlways<number>;
  held: unknown;
  links: Generated<number>;
}

interface ProcessInstanceJournalTable {
  instance_id: string;
  seq: number;
  tenant_id: string;
  at: string;
  kind: 'decision' | 'intent' | 'input' | 'settings' | 'data' | 'timer' | 'state';
  element: string | null;
  reason: string | null;
  actor_id: string | null;
  event_id: string | null;
  data: Generated<unknown>;
  input: unknown;
}

interface ProcessInstancesTable {
  id: string;
  tenant_id: string;
  workspace_id: string | null;
  definition_key: string;
  definition_version: number;
  instance_key: string;
  identity_agent: string;
  status: 'running' | 'suspended' | 'completed' | 'failed' | 'cancelled';
  outcome: string | null;
  state: unknown;
  sla_state: Generated<'ok' | 'warning' | 'breached' | 'paused' | 'unknown' | 'none'>;
  journal_seq: Generated<number>;
  started_at: string;
  updated_at: Generated<string>;
  completed_at: string | null;
  parent_id: string | null;
  root_id: string | null;
  call_depth: Generated<number>;
  attend_at: string | null;
  kept_inputs: Generated<number>;
  passed_over: Generated<number>;
  left_open: Generated<unknown>;
  stays_until: Generated<number>;
}

interface ProcessKeysTable {
  tenant_id: string;
  key: string;
}

interface ProcessMigrationsTable {
  id: string;
  tenant_id: string;
  definition_key: string;
  from_version: number;
  to_version: number;
  map: unknown;
  published_at: Generated<string>;
  migrated: Generated<number>;
  refused: Generated<number>;
  next_at: Generated<string | null>;
}

interface ProcessOrdersTable {
  instance_id: string;
  tenant_id: string;
  act: 'begin' | 'end';
  due_at: Generated<string>;
}

interface ProcessRecallsTable {
  id: string;
  instance_id: string;
  tenant_id: string;
  element: string;
  question: unknown;
  namespaces: string[];
  attempts: Generated<number>;
  due_at: Generated<string>;
}

interface ProcessReferencesTable {
  tenant_id: string;
  kind: 'calendar' | 'document';
  name: string;
  key: string;
}

interface ProcessTimersTable {
  id: string;
  instance_id: string;
  tenant_id: string;
  due_at: string;
}

interface ProcessTriggerPlacesTable {
  tenant_id: string;
  event_id: string;
  definition_key: string;
  definition_version: number;
}

interface ProcessTriggersTable {
  tenant_id: string;
  definition_key: string;
  definition_version: number;
  kind: 'start' | 'correlate';
  number: number;
  wait_key: string;
  from_position: number;
}

interface ProcessWaitsTable {
  instance_id: string;
  wait_key: string;
  tenant_id: string;
}

interface ProjectConfigRevisionsTable {
  id: string;
  tenant_id: string;
  project_id: string;
  revision: number;
  config: unknown;
  validation: unknown;
  comment: Generated<string>;
  created_by: string;
  created_at: Generated<string>;
  activated_at: string | null;
}

interface ProjectTemplatesTable {
  id: string;
  tenant_id: string;
  key: string;
  version: number;
  display_name: string;
  description: Generated<string>;
  field_schema: unknown;
  lifecycle_schema: unknown;
  default_config: unknown;
  default_views: unknown;
  governance_schema: unknown;
  memory_defaults: unknown;
  status: Generated<'active' | 'deprecated'>;
  created_by: string;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  package: unknown;
  package_key: GeneratedAlways<string | null>;
}

interface ProjectsTable {
  id: string;
  tenant_id: string;
  workspace_id: string;
  template_id: string;
  template_key: string;
  template_version: number;
  status_key: string;
  system_status_category: 'planned' | 'active' | 'paused' | 'terminal_success' | 'terminal_cancelled';
  owner_principal_id: string | null;
  start_date: string | null;
  target_date: string | null;
  custom_fields: unknown;
  settings: unknown;
  active_config_revision_id: string | null;
  active_config_revision: number | null;
  status: Generated<'active' | 'archived'>;
  version: Generated<number>;
  created_by: string;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  archived_at: string | null;
}

interface QueuedRequirementsTable {
  tenant_id: string;
  token: string;
  set_id: string;
  position: number;
}

interface RefusedWritesTable {
  tenant_id: string;
  at: string;
  principal_id: string;
  workspace_id: string | null;
  count: number;
}

interface RequirementItemsTable {
  set_id: string;
  tenant_id: string;
  position: number;
  kind: 'role' | 'capability' | 'skill';
  subject_id: string;
  any_version_of: string | null;
  token: GeneratedAlways<string>;
}

interface RequirementSetsTable {
  id: string;
  tenant_id: string;
  workspace_id: string | null;
  digest: string;
  items: number;
  created_at: Generated<string>;
}

interface RoleAssignmentsTable {
  id: string;
  tenant_id: string;
  principal_id: string;
  role_id: string;
  workspace_id: string | null;
  created_at: Generated<string>;
}

interface RolesTable {
  id: string;
  tenant_id: string;
  workspace_id: string | null;
  slug: string;
  name: string;
  description: Generated<string>;
  version: Generated<number>;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  package: unknown;
  package_key: GeneratedAlways<string | null>;
}

interface RuleEvaluationsTable {
  id: string;
  tenant_id: string;
  workspace_id: string | null;
  rule_id: string;
  rule_version: number;
  trigger_ref: string;
  trigger_event_id: string | null;
  status: 'waiting' | 'matched' | 'not_matched' | 'failed' | 'skipped';
  result: Generated<unknown>;
  evidence: Generated<unknown>;
  skill_invocation_id: string | null;
  created_task_ids: Generated<string[]>;
  error: unknown;
  pending: unknown;
  chain_depth: Generated<number>;
  failures: Generated<number>;
  next_check_at: string | null;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  waits_for: Generated<string[]>;
}

interface RuleTouchedTasksTable {
  task_id: string;
  tenant_id: string;
  chain_depth: number;
  touched_at: Generated<string>;
}

interface RuleVersionsTable {
  rule_id: string;
  version: number;
  tenant_id: string;
  record: unknown;
}

interface RuleWorkTable {
  tenant_id: string;
  dedup_key: string;
  task_id: string | null;
  rule_id: string | null;
  rule_version: number | null;
  looked_at: Generated<string>;
}

interface RulesTable {
  id: string;
  tenant_id: string;
  workspace_id: string | null;
  goal_id: string | null;
  key: string;
  description: Generated<string>;
  version: Generated<number>;
  status: 'enabled' | 'disabled' | 'archived';
  trigger: unknown;
  trigger_kind: GeneratedAlways<string>;
  trigger_type: GeneratedAlways<string>;
  condition: Generated<unknown>;
  interpretation: unknown;
  action: unknown;
  authority: unknown;
  authority_principal_id: string | null;
  enabled_at: string | null;
  enabled_position: number | null;
  next_run_at: string | null;
  created_by: string;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  package: unknown;
  package_key: GeneratedAlways<string | null>;
  identity_agent: string | null;
}

interface RunActionsTable {
  id: string;
  tenant_id: string;
  run_id: string;
  task_id: string;
  principal_id: string;
  session_id: string;
  skill_id: string | null;
  seq: number;
  action: string;
  status: 'started' | 'completed' | 'failed';
  external_reference: string | null;
  metadata: unknown;
  data_bytes: number;
  input_tokens: number | null;
  output_tokens: number | null;
  cost_micros: number | null;
  currency: string | null;
  started_at: Generated<string>;
  finished_at: string | null;
  created_at: Generated<string>;
}

interface RunCascadesTable {
  message_id: string;
  tenant_id: string;
  created_at: Generated<string>;
  follows_relations: boolean;
}

interface RunControlMessagesTable {
  id: string;
  tenant_id: string;
  run_id: string;
  task_id: string;
  seq: number;
  operation: 'queue' | 'steer' | 'redirect' | 'request_cancel' | 'force_cancel';
  status: 'accepted' | 'applied' | 'rejected' | 'superseded';
  causal_position: string;
  directive: string | null;
  reason: string;
  safe_boundary: string | null;
  idempotency_key: string;
  requested_by_principal_id: string;
  acknowledged_by_principal_id: string | null;
  request_id: string;
  correlation_id: string;
  causation_id: string | null;
  version: Generated<number>;
  accepted_at: Generated<string>;
  resolved_at: string | null;
}

interface RunsTable {
  id: string;
  tenant_id: string;
  task_id: string;
  claim_id: string;
  principal_id: string;
  session_id: string;
  fencing_token: number;
  attempt: number;
  status: Generated<'running' | 'succeeded' | 'failed' | 'cancelled' | 'suspended'>;
  started_at: Generated<string>;
  finished_at: string | null;
  input: unknown;
  output: unknown;
  failure_reason: string | null;
  cancel_requested_at: string | null;
  cancel_requested_by: string | null;
  max_duration_seconds: number | null;
  max_actions: number | null;
  metadata: Generated<unknown>;
  instructions_hash: string | null;
  instructions_refs: unknown;
  agent_revision_id: string | null;
  version: Generated<number>;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  max_tokens: number | null;
  max_cost_micros: number | null;
  currency: string | null;
  checkpoint_count: Generated<number>;
  action_count: Generated<number>;
  input_tokens: Generated<number>;
  output_tokens: Generated<number>;
  costs: Generated<unknown>;
  last_progress_at: Generated<string>;
  progress_timeout_seconds: number | null;
  stalls_at: string | null;
  stalled_at: string | null;
  cancel_applied_at: string | null;
  child_handle_id: string | null;
}

interface SealedSecretsTable {
  tenant_id: string;
  folder: string;
  name: string;
  key_id: string;
  sealed: Buffer;
  updated_at: Generated<string>;
}

interface SecretLeftoversTable {
  tenant_id: string;
  folder: string;
  name: string;
  due_at: string;
  is_kept: Generated<boolean>;
}

interface SessionsTable {
  id: string;
  tenant_id: string;
  principal_id: string;
  on_behalf_of_id: string | null;
  delegation_id: string | null;
  status: Generated<'active' | 'stale' | 'closed'>;
  client_name: string;
  client_version: Generated<string>;
  control_level: string;
  harness_type: string | null;
  harness_version: string | null;
  protocol_version: string | null;
  hostname: string | null;
  harness_capabilities: string[] | null;
  environment: unknown;
  metadata: Generated<unknown>;
  started_at: Generated<string>;
  heartbeat_at: Generated<string>;
  lease_seconds: Generated<number>;
  expires_at: string;
  ended_at: string | null;
  sweep_at: Generated<string>;
  revocable_by: string[] | null;
}

interface SkillAssignmentsTable {
  id: string;
  tenant_id: string;
  principal_id: string;
  skill_id: string;
  metadata: Generated<unknown>;
  created_at: Generated<string>;
}

interface SkillInvocationsTable {
  id: string;
  tenant_id: string;
  skill_id: string;
  requested_by_kind: 'principal' | 'run' | 'rule' | 'approval' | 'verification' | 'process';
  requested_by_ref: string;
  authority_principal_id: string;
  credential: unknown;
  authorization_basis: unknown;
  idempotency_key: string | null;
  inputs: unknown;
  task_id: string | null;
  run_id: string | null;
  workspace_id: string | null;
  approval_id: string | null;
  status: Generated<'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled'>;
  attempt: Generated<number>;
  max_attempts: number;
  timeout_seconds: number;
  backoff_seconds: number;
  protocol: string;
  target: string;
  audience: string;
  available_at: Generated<string>;
  output: unknown;
  error: unknown;
  cost: unknown;
  fencing_token: Generated<number>;
  executor_principal_id: string | null;
  executor_session_id: string | null;
  lease_expires_at: string | null;
  heartbeat_at: string | null;
  artifact_id: string | null;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  started_at: string | null;
  finished_at: string | null;
  barred_principals: Generated<string[]>;
}

interface SkillsTable {
  id: string;
  tenant_id: string;
  name: string;
  version: string;
  description: Generated<string>;
  protocol: 'mcp' | 'http' | 'local' | 'opencode' | 'custom';
  config: Generated<unknown>;
  input_schema: unknown;
  output_schema: unknown;
  side_effects: 'none' | 'external_read' | 'external_write' | null;
  risk_level: 'low' | 'medium' | 'high' | null;
  contract: unknown;
  status: Generated<'active' | 'deprecated' | 'disabled'>;
  row_version: Generated<number>;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  target: Generated<string>;
  audience: Generated<string>;
  package: unknown;
  package_key: GeneratedAlways<string | null>;
}

interface TaskAddresseesTable {
  task_id: string;
  tenant_id: string;
  principal_id: string | null;
  agent_key: string | null;
  role_id: string | null;
}

interface TaskRelationsTable {
  id: string;
  tenant_id: string;
  from_task_id: string;
  to_task_id: string;
  type: 'parent' | 'blocks' | 'depends_on' | 'spawned_by' | 'related_to';
  waiting_task_id: GeneratedAlways<string | null>;
  prerequisite_task_id: GeneratedAlways<string | null>;
  created_by: string;
  created_at: Generated<string>;
}

interface TaskSearchTable {
  task_id: string;
  tenant_id: string;
  created_at: string;
  bucket: number;
  words: string;
}

interface TaskTurnsTable {
  parent_id: string;
  last_turn_at: string;
}

interface TaskTypeStatusesTable {
  tenant_id: string;
  key: string;
  category: 'backlog' | 'active' | 'blocked' | 'terminal_success' | 'terminal_cancelled';
  type_id: string;
}

interface TaskTypesTable {
  id: string;
  tenant_id: string;
  key: string;
  version: number;
  display_name: string;
  description: Generated<string>;
  field_schema: Generated<unknown>;
  lifecycle_schema: unknown;
  claim_status: string | null;
  claim_category: string | null;
  claim_from: Generated<string[]>;
  release_status: string | null;
  release_category: string | null;
  execution: unknown;
  approval_schema: Generated<unknown>;
  context_schema: Generated<unknown>;
  completion_schema: Generated<unknown>;
  artifact_schema: Generated<unknown>;
  instructions: Generated<string>;
  acceptance: Generated<unknown>;
  status: Generated<'active' | 'deprecated'>;
  created_by: string;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  package: unknown;
  package_key: GeneratedAlways<string | null>;
  claimable_blocked: Generated<string[]>;
  attempts_max: number | null;
  holds_start: Generated<boolean>;
}

interface TasksTable {
  id: string;
  tenant_id: string;
  public_number: number;
  public_id: GeneratedAlways<string>;
  workspace_id: string | null;
  type_id: string;
  title: string;
  description: Generated<string>;
  status: string;
  category: 'backlog' | 'active' | 'blocked' | 'terminal_success' | 'terminal_cancelled';
  priority: number;
  owner_id: string | null;
  assignee_id: string | null;
  custom_fields: Generated<unknown>;
  start_date: string | null;
  due_date: string | null;
  goal_id: string | null;
  origin: unknown;
  acceptance: Generated<unknown>;
  evidence: Generated<unknown>;
  version: Generated<number>;
  claim_epoch: Generated<number>;
  active_claim_id: string | null;
  lease_expires_at: string | null;
  open_prerequisites: Generated<number>;
  created_by: string;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  completed_at: string | null;
  pending_gates: Generated<number>;
  open_verification_id: string | null;
  is_restricted: Generated<boolean>;
  verification: unknown;
  child_handle_id: string | null;
  requirement_set_id: string | null;
  turn_at: Generated<string>;
  lacks_input: Generated<boolean>;
  is_addressed: Generated<boolean>;
  requirement_authors: Generated<unknown>;
  starts_at: string | null;
  retry_at: string | null;
  available_at: string | null;
  failed_attempts: Generated<number>;
}

interface TenantsTable {
  id: string;
  slug: string;
  name: string;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  core_principal_id: string;
}

interface VerificationsTable {
  id: string;
  tenant_id: string;
  task_id: string;
  authority_principal_id: string;
  credential: unknown;
  attempt: number;
  status: Generated<'running' | 'waiting_human' | 'waiting_external' | 'passed' | 'failed' | 'cancelled'>;
  trigger: 'complete' | 'run' | 'approval' | 'rule';
  trigger_ref: string | null;
  checks: unknown;
  results: Generated<unknown>;
  cursor: Generated<number>;
  skill_invocation_id: string | null;
  approval_id: string | null;
  owns_approval: Generated<boolean>;
  waiting_since: string | null;
  opened_position: Generated<number>;
  next_check_at: string | null;
  started_at: Generated<string>;
  updated_at: Generated<string>;
  finished_at: string | null;
  requester_id: string | null;
  not_counted: Generated<unknown>;
}

interface ViewsTable {
  id: string;
  tenant_id: string;
  key: string;
  version: Generated<number>;
  status: Generated<'active' | 'retired'>;
  spec: unknown;
  title: GeneratedAlways<string>;
  titles: GeneratedAlways<unknown>;
  spec_hash: string;
  created_by: string;
  created_at: Generated<string>;
  updated_at: Generated<string>;
}

interface WorkOffersTable {
  id: GeneratedAlways<number>;
  tenant_id: string;
  workspace_id: string;
  after_created_at: string | null;
  after_id: string | null;
}

interface WorkQueueTable {
  task_id: string;
  tenant_id: string;
  set_id: string;
  workspace_id: string | null;
  assignee_id: string | null;
  priority: number;
  created_at: string;
  turn_at: string;
  due_at: string | null;
}

interface WorkspaceKnowledgePacksTable {
  workspace_id: string;
  tenant_id: string;
  packs: string[];
  strict: boolean;
  updated_at: Generated<string>;
}

interface WorkspaceMembersTable {
  id: string;
  tenant_id: string;
  workspace_id: string;
  principal_id: string;
  created_at: Generated<string>;
}

interface WorkspaceTypesTable {
  id: string;
  tenant_id: string;
  key: string;
  display_name: string;
  description: Generated<string>;
  field_schema: Generated<unknown>;
  allowed_child_types: Generated<string[]>;
  is_system: Generated<boolean>;
  status: Generated<'active' | 'archived'>;
  version: Generated<number>;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  package: unknown;
  package_key: GeneratedAlways<string | null>;
}

interface WorkspacesTable {
  id: string;
  tenant_id: string;
  parent_id: string | null;
  path: string[];
  type_id: string;
  slug: string;
  name: string;
  description: Generated<string>;
  custom_fields: Generated<unknown>;
  task_types: string[] | null;
  status: Generated<'active' | 'archived'>;
  version: Generated<number>;
  created_at: Generated<string>;
  updated_at: Generated<string>;
  project_id: string | null;
  calendar_key: string | null;
}

interface ZoneChangesTable {
  id: GeneratedAlways<number>;
  tenant_id: string;
  seen_xid: number | null;
  after_start: string | null;
  after_id: string | null;
}
