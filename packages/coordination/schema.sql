-- GENERATED from migrations/ by: npm run generate
-- The whole schema of coordination, to read and to review; the migrations make it.

create domain approval_status as text CHECK ((VALUE = ANY (ARRAY['pending'::text, 'approved'::text, 'rejected'::text, 'cancelled'::text])));

create domain cancellation_policy as text CHECK ((VALUE = ANY (ARRAY['cascade_cooperative'::text, 'detach'::text])));

create domain child_outcome as text CHECK ((VALUE = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text])));

create domain claim_status as text CHECK ((VALUE = ANY (ARRAY['active'::text, 'released'::text, 'stale'::text])));

create domain control_operation as text CHECK ((VALUE = ANY (ARRAY['queue'::text, 'steer'::text, 'redirect'::text, 'request_cancel'::text, 'force_cancel'::text])));

create domain control_status as text CHECK ((VALUE = ANY (ARRAY['accepted'::text, 'applied'::text, 'rejected'::text, 'superseded'::text])));

create domain outcome_status as text CHECK ((VALUE = ANY (ARRAY['pending'::text, 'deferred'::text, 'executed'::text, 'failed'::text])));

create domain prerequisite_count as integer CHECK ((VALUE >= 0));

create domain run_status as text CHECK ((VALUE = ANY (ARRAY['running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text, 'suspended'::text])));

create domain run_tally as bigint CHECK ((VALUE >= 0));

create domain task_category as text CHECK ((VALUE = ANY (ARRAY['backlog'::text, 'active'::text, 'blocked'::text, 'terminal_success'::text, 'terminal_cancelled'::text])));

create domain task_priority as smallint CHECK (((VALUE >= 0) AND (VALUE <= 3)));

create table access_roles (
  id uuid not null,
  tenant_id uuid not null,
  key text not null,
  name text not null,
  description text default ''::text not null,
  permissions text[] not null,
  version integer default 1 not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  constraint access_roles_pkey PRIMARY KEY (id),
  constraint access_roles_tenant_id_key_key UNIQUE (tenant_id, key),
  constraint access_roles_key_check CHECK ((key <> ALL (ARRAY['viewer'::text, 'member'::text, 'lead'::text, 'operator'::text, 'administrator'::text]))),
  constraint access_roles_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table admission_rules (
  id uuid not null,
  issuer text not null,
  iam_tenant_id uuid not null,
  identity_provider text not null,
  tenant_id uuid not null,
  access_role text not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  constraint admission_rules_pkey PRIMARY KEY (id),
  constraint admission_rules_provider UNIQUE (issuer, iam_tenant_id, identity_provider),
  constraint admission_rules_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX admission_rules_of_tenant ON public.admission_rules USING btree (tenant_id, identity_provider);

create table agent_connections (
  agent_id uuid not null,
  tenant_id uuid not null,
  connection_key text not null,
  constraint agent_connections_pkey PRIMARY KEY (agent_id, connection_key),
  constraint agent_connections_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint agent_connections_tenant_id_connection_key_fkey FOREIGN KEY (tenant_id, connection_key) REFERENCES connections(tenant_id, key),
  constraint agent_connections_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX agent_connections_of_key ON public.agent_connections USING btree (tenant_id, connection_key, agent_id);

create table agent_revisions (
  id uuid not null,
  tenant_id uuid not null,
  agent_id uuid not null,
  revision integer not null,
  spec jsonb not null,
  spec_hash text not null,
  grants jsonb not null,
  changed_fields text[],
  spec_bytes integer not null,
  created_by uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  source jsonb,
  constraint agent_revisions_pkey PRIMARY KEY (id),
  constraint agent_revisions_agent_id_revision_key UNIQUE (agent_id, revision),
  constraint agent_revisions_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint agent_revisions_created_by_fkey FOREIGN KEY (created_by) REFERENCES principals(id),
  constraint agent_revisions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table agent_secrets (
  agent_id uuid not null,
  name text not null,
  tenant_id uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  updated_by uuid not null,
  constraint agent_secrets_pkey PRIMARY KEY (agent_id, name),
  constraint agent_secrets_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint agent_secrets_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table agent_statuses (
  agent_id uuid not null,
  tenant_id uuid not null,
  phase text not null,
  reason jsonb,
  observed_revision integer,
  node text,
  instances jsonb not null,
  observed_at timestamp(3) with time zone not null,
  reported_at timestamp(3) with time zone default now() not null,
  reported_by uuid not null,
  constraint agent_statuses_pkey PRIMARY KEY (agent_id),
  constraint agent_statuses_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint agent_statuses_reported_by_fkey FOREIGN KEY (reported_by) REFERENCES principals(id),
  constraint agent_statuses_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table agents (
  id uuid not null,
  tenant_id uuid not null,
  key text not null,
  kind text not null,
  display_name text not null,
  status text default 'active'::text not null,
  state text not null,
  replicas integer not null,
  current_revision integer not null,
  principal_id uuid,
  binding_id uuid,
  workspace_id uuid,
  retired_at timestamp(3) with time zone,
  retired_by uuid,
  retired_reason text,
  version integer default 1 not null,
  created_by uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  package jsonb,
  package_key text generated always as ((package ->> 'key'::text)) stored,
  work jsonb,
  constraint agents_pkey PRIMARY KEY (id),
  constraint agents_principal_id_key UNIQUE (principal_id),
  constraint agents_tenant_id_key_key UNIQUE (tenant_id, key),
  constraint agents_check CHECK (((principal_id IS NULL) = (binding_id IS NULL))),
  constraint agents_check1 CHECK (((status = 'retired'::text) = (retired_at IS NOT NULL))),
  constraint agents_kind_check CHECK ((kind = ANY (ARRAY['agent'::text, 'service'::text]))),
  constraint agents_state_check CHECK ((state = ANY (ARRAY['running'::text, 'stopped'::text]))),
  constraint agents_status_check CHECK ((status = ANY (ARRAY['active'::text, 'retired'::text]))),
  constraint agents_binding_id_fkey FOREIGN KEY (binding_id) REFERENCES iam_bindings(id),
  constraint agents_created_by_fkey FOREIGN KEY (created_by) REFERENCES principals(id),
  constraint agents_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint agents_retired_by_fkey FOREIGN KEY (retired_by) REFERENCES principals(id),
  constraint agents_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint agents_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
);
CREATE INDEX agents_newest ON public.agents USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX agents_of_package ON public.agents USING btree (tenant_id, package_key, created_at DESC, id DESC) WHERE (package_key IS NOT NULL);
CREATE INDEX agents_of_place ON public.agents USING btree (COALESCE(workspace_id, tenant_id), created_at DESC, id DESC);
CREATE INDEX agents_of_principal ON public.agents USING btree (principal_id) WHERE (principal_id IS NOT NULL);
CREATE INDEX agents_of_state ON public.agents USING btree (tenant_id, state, created_at DESC, id DESC);
CREATE INDEX agents_of_status ON public.agents USING btree (tenant_id, status, created_at DESC, id DESC);
CREATE INDEX agents_of_workspace ON public.agents USING btree (workspace_id, created_at DESC, id DESC) WHERE (workspace_id IS NOT NULL);
CREATE TRIGGER agents_link BEFORE INSERT ON public.agents FOR EACH ROW EXECUTE FUNCTION link_to_package('Agent', 'key');

create table api_keys (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid not null,
  key_prefix text not null,
  key_hash text not null,
  permissions text[] not null,
  expires_at timestamp(3) with time zone,
  last_used_at timestamp(3) with time zone,
  revoked_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  constraint api_keys_pkey PRIMARY KEY (id),
  constraint api_keys_key_prefix_key UNIQUE (key_prefix),
  constraint api_keys_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint api_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX api_keys_of_deciders ON public.api_keys USING btree (tenant_id, created_at DESC, id DESC) WHERE ((revoked_at IS NULL) AND (permissions && '{approvals.decide,admin}'::text[]));
CREATE INDEX api_keys_of_principal ON public.api_keys USING btree (principal_id);
CREATE INDEX api_keys_revoked ON public.api_keys USING btree (revoked_at) WHERE (revoked_at IS NOT NULL);
CREATE TRIGGER api_keys_note_revoked AFTER UPDATE OF revoked_at ON public.api_keys FOR EACH ROW WHEN (((new.revoked_at IS NOT NULL) AND (old.revoked_at IS NULL))) EXECUTE FUNCTION note_credential_change();

create table approval_outcomes (
  approval_id uuid not null,
  tenant_id uuid not null,
  outcome text not null,
  credential jsonb not null,
  decision_event_id uuid not null,
  declared jsonb not null,
  actions jsonb default '[]'::jsonb not null,
  attempts integer default 0 not null,
  failures integer default 0 not null,
  last_error jsonb,
  next_attempt_at timestamp(3) with time zone default now(),
  failure_task_id uuid,
  expression_values jsonb,
  constraint approval_outcomes_pkey PRIMARY KEY (approval_id),
  constraint approval_outcomes_outcome_check CHECK ((outcome = ANY (ARRAY['approved'::text, 'rejected'::text]))),
  constraint approval_outcomes_approval_id_fkey FOREIGN KEY (approval_id) REFERENCES approvals(id),
  constraint approval_outcomes_failure_task_id_fkey FOREIGN KEY (failure_task_id) REFERENCES tasks(id),
  constraint approval_outcomes_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX approval_outcomes_due ON public.approval_outcomes USING btree (next_attempt_at, approval_id) WHERE (next_attempt_at IS NOT NULL);

create table approvals (
  id uuid not null,
  tenant_id uuid not null,
  workspace_id uuid,
  task_id uuid,
  artifact_id uuid,
  requested_by_principal_id uuid not null,
  status approval_status default 'pending'::text not null,
  gate boolean not null,
  required_role_id uuid,
  assigned_principal_id uuid,
  excluded_principals uuid[] default '{}'::uuid[] not null,
  comment text default ''::text not null,
  decision_by_principal_id uuid,
  decision_at timestamp(3) with time zone,
  decision_comment text,
  outcome_status outcome_status,
  version integer default 1 not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  subject jsonb,
  subject_digest text,
  requested_subject jsonb,
  supersedes_approval_id uuid,
  verification_id uuid,
  check_key text,
  constraint approvals_pkey PRIMARY KEY (id),
  constraint approvals_check CHECK (((required_role_id IS NULL) <> (assigned_principal_id IS NULL))),
  constraint approvals_check1 CHECK (((NOT gate) OR (task_id IS NOT NULL))),
  constraint approvals_check2 CHECK ((((status)::text = ANY (ARRAY['approved'::text, 'rejected'::text])) = (decision_at IS NOT NULL))),
  constraint approvals_check3 CHECK (((decision_at IS NULL) = (decision_by_principal_id IS NULL))),
  constraint approvals_check4 CHECK (((subject IS NULL) = (subject_digest IS NULL))),
  constraint approvals_excluded_principals_check CHECK ((cardinality(excluded_principals) <= 100)),
  constraint approvals_of_check CHECK (((verification_id IS NULL) = (check_key IS NULL))),
  constraint approvals_subject_digest_check CHECK ((subject_digest ~ '^sha256:[0-9a-f]{64}$'::text)),
  constraint approvals_assigned_principal_id_fkey FOREIGN KEY (assigned_principal_id) REFERENCES principals(id),
  constraint approvals_decision_by_principal_id_fkey FOREIGN KEY (decision_by_principal_id) REFERENCES principals(id),
  constraint approvals_requested_by_principal_id_fkey FOREIGN KEY (requested_by_principal_id) REFERENCES principals(id),
  constraint approvals_supersedes_approval_id_fkey FOREIGN KEY (supersedes_approval_id) REFERENCES approvals(id),
  constraint approvals_task_id_fkey FOREIGN KEY (task_id) REFERENCES tasks(id),
  constraint approvals_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint approvals_verification_id_fkey FOREIGN KEY (verification_id) REFERENCES verifications(id)
);
CREATE INDEX approvals_by_status ON public.approvals USING btree (tenant_id, status, created_at DESC, id DESC);
CREATE INDEX approvals_cancelled ON public.approvals USING btree (tenant_id, updated_at, created_at) WHERE ((status)::text = 'cancelled'::text);
CREATE INDEX approvals_decided ON public.approvals USING btree (tenant_id, decision_at, created_at) WHERE (decision_at IS NOT NULL);
CREATE INDEX approvals_newest ON public.approvals USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX approvals_of_place ON public.approvals USING btree (COALESCE(workspace_id, tenant_id), created_at DESC, id DESC) WHERE (task_id IS NULL);
CREATE INDEX approvals_of_task ON public.approvals USING btree (task_id, created_at DESC, id DESC) WHERE (task_id IS NOT NULL);
CREATE INDEX approvals_pending_gates ON public.approvals USING btree (task_id, created_at, id) WHERE (gate AND ((status)::text = 'pending'::text));
CREATE INDEX approvals_superseding ON public.approvals USING btree (supersedes_approval_id) WHERE (supersedes_approval_id IS NOT NULL);
CREATE INDEX approvals_to_decide ON public.approvals USING btree (assigned_principal_id, created_at DESC, id DESC) WHERE (((status)::text = 'pending'::text) AND (assigned_principal_id IS NOT NULL));
CREATE INDEX approvals_to_decide_by_role ON public.approvals USING btree (required_role_id, created_at DESC, id DESC) WHERE (((status)::text = 'pending'::text) AND (required_role_id IS NOT NULL));

create table archived_events (
  sequence bigint not null,
  id uuid not null,
  tenant_id uuid not null,
  position bigint not null,
  type text not null,
  schema_version integer not null,
  entity_type text not null,
  entity_id uuid not null,
  workspace_id uuid,
  actor_id uuid,
  iam_actor_id uuid,
  session_id uuid,
  correlation_id text,
  causation_id text,
  request_id text,
  trace_run_id text,
  payload jsonb not null,
  occurred_at timestamp(3) with time zone not null,
  constraint archived_events_pkey PRIMARY KEY (tenant_id, "position", sequence)
);
CREATE INDEX archived_events_by_sequence ON public.archived_events USING btree (sequence);
CREATE INDEX archived_events_of_entity ON public.archived_events USING btree (tenant_id, entity_id, "position", sequence);
CREATE TRIGGER archived_events_append_only AFTER DELETE ON public.archived_events REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION refuse_unpruned_deletion();
CREATE TRIGGER archived_events_from_journal AFTER INSERT ON public.archived_events REFERENCING NEW TABLE AS come FOR EACH STATEMENT EXECUTE FUNCTION refuse_foreign_archive();
CREATE TRIGGER archived_events_never_truncated BEFORE TRUNCATE ON public.archived_events FOR EACH STATEMENT EXECUTE FUNCTION refuse_journal_change();
CREATE TRIGGER archived_events_never_updated BEFORE UPDATE ON public.archived_events FOR EACH ROW EXECUTE FUNCTION refuse_journal_change();

create table artifact_contents (
  id uuid not null,
  tenant_id uuid not null,
  state text default 'writing'::text not null,
  sha256 text,
  size_bytes bigint,
  state_since timestamp(3) with time zone default clock_timestamp() not null,
  constraint artifact_contents_pkey PRIMARY KEY (id),
  constraint artifact_contents_check CHECK (((state <> 'stored'::text) OR ((sha256 IS NOT NULL) AND (size_bytes IS NOT NULL)))),
  constraint artifact_contents_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text)),
  constraint artifact_contents_size_bytes_check CHECK ((size_bytes >= 0)),
  constraint artifact_contents_state_check CHECK ((state = ANY (ARRAY['writing'::text, 'stored'::text, 'doomed'::text]))),
  constraint artifact_contents_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE UNIQUE INDEX artifact_contents_shared ON public.artifact_contents USING btree (tenant_id, sha256) WHERE (state = 'stored'::text);
CREATE INDEX artifact_contents_to_delete ON public.artifact_contents USING btree (state_since, id) WHERE (state <> 'stored'::text);

create table artifact_types (
  id uuid not null,
  tenant_id uuid not null,
  key text not null,
  version integer not null,
  display_name text not null,
  description text default ''::text not null,
  metadata_schema jsonb default '{}'::jsonb not null,
  media_types text[] not null,
  max_bytes bigint,
  created_by uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  package jsonb,
  package_key text generated always as ((package ->> 'key'::text)) stored,
  constraint artifact_types_pkey PRIMARY KEY (id),
  constraint artifact_types_tenant_id_key_version_key UNIQUE (tenant_id, key, version),
  constraint artifact_types_max_bytes_check CHECK ((max_bytes > 0)),
  constraint artifact_types_created_by_fkey FOREIGN KEY (created_by) REFERENCES principals(id),
  constraint artifact_types_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX artifact_types_newest ON public.artifact_types USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX artifact_types_of_package ON public.artifact_types USING btree (tenant_id, package_key, created_at DESC, id DESC) WHERE (package_key IS NOT NULL);
CREATE TRIGGER artifact_types_link BEFORE INSERT ON public.artifact_types FOR EACH ROW EXECUTE FUNCTION link_to_package('ArtifactType', 'key');

create table artifact_uploads (
  id uuid not null,
  tenant_id uuid not null,
  content_id uuid not null,
  created_by uuid not null,
  media_type text not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  expires_at timestamp(3) with time zone not null,
  constraint artifact_uploads_pkey PRIMARY KEY (id),
  constraint artifact_uploads_content_id_fkey FOREIGN KEY (content_id) REFERENCES artifact_contents(id),
  constraint artifact_uploads_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX artifact_uploads_by_content ON public.artifact_uploads USING btree (content_id);
CREATE INDEX artifact_uploads_to_delete ON public.artifact_uploads USING btree (expires_at, id);

create table artifacts (
  id uuid not null,
  tenant_id uuid not null,
  created_by uuid not null,
  workspace_id uuid,
  task_id uuid,
  run_id uuid,
  type text not null,
  type_version integer,
  name text not null,
  uri text,
  content jsonb,
  metadata jsonb default '{}'::jsonb not null,
  supersedes_artifact_id uuid,
  content_state text default 'none'::text not null,
  content_id uuid,
  size_bytes bigint,
  media_type text,
  sha256 text,
  created_at timestamp(3) with time zone default now() not null,
  constraint artifacts_pkey PRIMARY KEY (id),
  constraint artifacts_check CHECK (((content_state = 'stored'::text) = (content_id IS NOT NULL))),
  constraint artifacts_check1 CHECK (((content_state = 'none'::text) = (sha256 IS NULL))),
  constraint artifacts_content_state_check CHECK ((content_state = ANY (ARRAY['none'::text, 'stored'::text, 'purged'::text]))),
  constraint artifacts_content_id_fkey FOREIGN KEY (content_id) REFERENCES artifact_contents(id),
  constraint artifacts_supersedes_artifact_id_fkey FOREIGN KEY (supersedes_artifact_id) REFERENCES artifacts(id),
  constraint artifacts_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX artifacts_as_inputs ON public.artifacts USING btree (tenant_id, task_id, type, created_at, id) WHERE (content_state <> 'purged'::text);
CREATE INDEX artifacts_by_content ON public.artifacts USING btree (content_id) WHERE (content_id IS NOT NULL);
CREATE INDEX artifacts_by_run ON public.artifacts USING btree (tenant_id, run_id, created_at, id) WHERE (run_id IS NOT NULL);
CREATE INDEX artifacts_by_superseded ON public.artifacts USING btree (supersedes_artifact_id) WHERE (supersedes_artifact_id IS NOT NULL);
CREATE INDEX artifacts_by_task ON public.artifacts USING btree (tenant_id, task_id, created_at, id) WHERE (task_id IS NOT NULL);
CREATE INDEX artifacts_by_tenant ON public.artifacts USING btree (tenant_id, created_at, id);
CREATE INDEX artifacts_by_type ON public.artifacts USING btree (tenant_id, type, created_at, id);
CREATE INDEX artifacts_by_workspace ON public.artifacts USING btree (tenant_id, workspace_id, created_at, id) WHERE (workspace_id IS NOT NULL);
CREATE INDEX artifacts_of_place ON public.artifacts USING btree (COALESCE(workspace_id, tenant_id), created_at DESC, id DESC) WHERE (task_id IS NULL);
CREATE TRIGGER artifacts_never_truncated BEFORE TRUNCATE ON public.artifacts FOR EACH STATEMENT EXECUTE FUNCTION refuse_removal();
CREATE TRIGGER artifacts_note_inputs_added AFTER INSERT ON public.artifacts FOR EACH ROW WHEN ((new.task_id IS NOT NULL)) EXECUTE FUNCTION note_inputs_of_artifact();
CREATE TRIGGER artifacts_note_inputs_purged AFTER UPDATE OF content_state ON public.artifacts FOR EACH ROW WHEN (((new.task_id IS NOT NULL) AND (new.content_state = 'purged'::text))) EXECUTE FUNCTION note_inputs_of_artifact();
CREATE TRIGGER artifacts_stay BEFORE DELETE OR UPDATE OF id, tenant_id, created_by, workspace_id, task_id, run_id, type, type_version, name, uri, content, metadata, supersedes_artifact_id, size_bytes, media_type, sha256, created_at ON public.artifacts FOR EACH ROW EXECUTE FUNCTION refuse_removal();

create table basis_losses (
  id uuid default gen_random_uuid() not null,
  tenant_id uuid not null,
  kind text not null,
  subject_id uuid not null,
  looked_until uuid default '00000000-0000-0000-0000-000000000000'::uuid not null,
  noted_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint basis_losses_pkey PRIMARY KEY (id),
  constraint basis_losses_kind_check CHECK ((kind = ANY (ARRAY['principal'::text, 'skill'::text, 'run'::text, 'task'::text]))),
  constraint basis_losses_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX basis_losses_due ON public.basis_losses USING btree (noted_at, id);

create table calendar_versions (
  id uuid not null,
  tenant_id uuid not null,
  key text not null,
  version integer not null,
  calendar_hash text not null,
  spec jsonb not null,
  provisional_years integer[] not null,
  created_by uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint calendar_versions_pkey PRIMARY KEY (id),
  constraint calendar_versions_tenant_id_key_version_key UNIQUE (tenant_id, key, version),
  constraint calendar_versions_version_check CHECK ((version > 0)),
  constraint calendar_versions_created_by_fkey FOREIGN KEY (created_by) REFERENCES principals(id),
  constraint calendar_versions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table calendars (
  tenant_id uuid not null,
  key text not null,
  id uuid not null,
  version integer not null,
  created_at timestamp(3) with time zone not null,
  status text default 'active'::text not null,
  retired_at timestamp(3) with time zone,
  retired_by uuid,
  retired_reason text,
  package jsonb,
  package_key text generated always as ((package ->> 'key'::text)) stored,
  constraint calendars_pkey PRIMARY KEY (tenant_id, key),
  constraint calendars_check CHECK (((status = 'retired'::text) = (retired_at IS NOT NULL))),
  constraint calendars_check1 CHECK ((((retired_at IS NULL) = (retired_by IS NULL)) AND ((retired_at IS NULL) = (retired_reason IS NULL)))),
  constraint calendars_status_check CHECK ((status = ANY (ARRAY['active'::text, 'retired'::text]))),
  constraint calendars_version_check CHECK ((version > 0)),
  constraint calendars_retired_by_fkey FOREIGN KEY (retired_by) REFERENCES principals(id),
  constraint calendars_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX calendars_newest ON public.calendars USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX calendars_of_package ON public.calendars USING btree (tenant_id, package_key, created_at DESC, id DESC) WHERE (package_key IS NOT NULL);
CREATE TRIGGER calendars_link BEFORE INSERT ON public.calendars FOR EACH ROW EXECUTE FUNCTION link_to_package('Calendar', 'key');
CREATE TRIGGER calendars_link_anew BEFORE UPDATE OF status ON public.calendars FOR EACH ROW WHEN (((old.status = 'retired'::text) AND (new.status = 'active'::text))) EXECUTE FUNCTION link_to_package('Calendar', 'key');
CREATE TRIGGER calendars_note_zone AFTER UPDATE OF id ON public.calendars FOR EACH ROW WHEN ((old.id <> new.id)) EXECUTE FUNCTION note_zone_of_calendar();

create table capabilities (
  id uuid not null,
  tenant_id uuid not null,
  name text not null,
  description text default ''::text not null,
  version integer default 1 not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  package jsonb,
  package_key text generated always as ((package ->> 'key'::text)) stored,
  constraint capabilities_pkey PRIMARY KEY (id),
  constraint capabilities_tenant_id_name_key UNIQUE (tenant_id, name),
  constraint capabilities_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX capabilities_newest ON public.capabilities USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX capabilities_of_package ON public.capabilities USING btree (tenant_id, package_key, created_at DESC, id DESC) WHERE (package_key IS NOT NULL);
CREATE TRIGGER capabilities_link BEFORE INSERT ON public.capabilities FOR EACH ROW EXECUTE FUNCTION link_to_package('Capability', 'name');
CREATE TRIGGER capabilities_renamed AFTER UPDATE OF name ON public.capabilities FOR EACH ROW WHEN (((new.name <> old.name) AND (new.package IS NOT NULL))) EXECUTE FUNCTION rename_package_object('Capability', 'name');

create table capability_assignments (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid not null,
  capability_id uuid not null,
  metadata jsonb default '{}'::jsonb not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint capability_assignments_pkey PRIMARY KEY (id),
  constraint capability_assignments_principal_id_capability_id_key UNIQUE (principal_id, capability_id),
  constraint capability_assignments_capability_id_fkey FOREIGN KEY (capability_id) REFERENCES capabilities(id),
  constraint capability_assignments_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint capability_assignments_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX capability_assignments_newest ON public.capability_assignments USING btree (principal_id, created_at DESC, id DESC);
CREATE INDEX capability_assignments_of_capability ON public.capability_assignments USING btree (capability_id);

create table checkpoints (
  id uuid not null,
  tenant_id uuid not null,
  run_id uuid not null,
  task_id uuid not null,
  created_by_principal_id uuid not null,
  seq integer not null,
  kind text not null,
  data jsonb not null,
  data_bytes integer not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint checkpoints_pkey PRIMARY KEY (id),
  constraint checkpoints_run_id_seq_key UNIQUE (run_id, seq),
  constraint checkpoints_run_id_fkey FOREIGN KEY (run_id) REFERENCES runs(id)
);
CREATE INDEX checkpoints_of_task ON public.checkpoints USING btree (task_id, created_at DESC, id DESC);

create table child_handles (
  id uuid not null,
  tenant_id uuid not null,
  parent_run_id uuid not null,
  parent_task_id uuid not null,
  child_task_id uuid not null,
  child_run_id uuid,
  correlation_id text not null,
  secret_hash text not null,
  permissions text[] not null,
  capabilities text[] not null,
  skills text[] not null,
  cancellation_policy cancellation_policy not null,
  depth integer not null,
  handle_version integer default 1 not null,
  expires_at timestamp(3) with time zone not null,
  revoked_at timestamp(3) with time zone,
  revoke_reason text,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  outcome child_outcome,
  summary text,
  data jsonb,
  artifact_refs uuid[],
  result_hash text,
  recorded_at timestamp(3) with time zone,
  constraint child_handles_pkey PRIMARY KEY (id),
  constraint child_handles_child_task_id_key UNIQUE (child_task_id),
  constraint child_handles_parent_run_id_correlation_id_key UNIQUE (parent_run_id, correlation_id),
  constraint child_handles_child_run_id_fkey FOREIGN KEY (child_run_id) REFERENCES runs(id),
  constraint child_handles_parent_run_id_fkey FOREIGN KEY (parent_run_id) REFERENCES runs(id),
  constraint child_handles_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX child_handles_of_run ON public.child_handles USING btree (parent_run_id, created_at, id);
CREATE INDEX child_handles_of_task ON public.child_handles USING btree (parent_task_id);

create table claims (
  id uuid not null,
  tenant_id uuid not null,
  task_id uuid not null,
  session_id uuid not null,
  holder_id uuid not null,
  status claim_status default 'active'::text not null,
  fencing_token bigint not null,
  intent text default ''::text not null,
  acquired_at timestamp(3) with time zone default now() not null,
  heartbeat_at timestamp(3) with time zone default now() not null,
  lease_seconds integer default 300 not null,
  expires_at timestamp(3) with time zone not null,
  released_at timestamp(3) with time zone,
  release_reason text,
  sweep_at timestamp(3) with time zone default now() not null,
  constraint claims_pkey PRIMARY KEY (id),
  constraint claims_task_id_fencing_token_key UNIQUE (task_id, fencing_token)
) with (fillfactor=50);
CREATE INDEX claims_by_session ON public.claims USING btree (session_id, status, acquired_at, id);
CREATE INDEX claims_by_status ON public.claims USING btree (tenant_id, status, acquired_at, id);
CREATE INDEX claims_due ON public.claims USING btree (sweep_at, id) WHERE ((status)::text = 'active'::text);
CREATE INDEX claims_ended ON public.claims USING btree (tenant_id, released_at, acquired_at) WHERE (released_at IS NOT NULL);
CREATE INDEX claims_lost ON public.claims USING btree (tenant_id, released_at) WHERE (release_reason = ANY (ARRAY['expired'::text, 'session_inactive'::text, 'session_expired'::text]));
CREATE INDEX claims_of_holder ON public.claims USING btree (holder_id) WHERE ((status)::text = 'active'::text);
CREATE UNIQUE INDEX claims_one_active ON public.claims USING btree (task_id) WHERE ((status)::text = 'active'::text);

create table comment_revisions (
  id uuid not null,
  tenant_id uuid not null,
  comment_id uuid not null,
  task_id uuid not null,
  version integer not null,
  body text not null,
  author_principal_id uuid not null,
  created_at timestamp(3) with time zone not null,
  superseded_at timestamp(3) with time zone default now() not null,
  superseded_by uuid not null,
  constraint comment_revisions_pkey PRIMARY KEY (id),
  constraint comment_revisions_comment_id_version_key UNIQUE (comment_id, version),
  constraint comment_revisions_comment_id_fkey FOREIGN KEY (comment_id) REFERENCES comments(id),
  constraint comment_revisions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table comments (
  id uuid not null,
  tenant_id uuid not null,
  task_id uuid not null,
  author_principal_id uuid not null,
  body text not null,
  run_id uuid,
  artifact_id uuid,
  version integer default 1 not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  edited_at timestamp(3) with time zone,
  constraint comments_pkey PRIMARY KEY (id),
  constraint comments_author_principal_id_fkey FOREIGN KEY (author_principal_id) REFERENCES principals(id),
  constraint comments_task_id_fkey FOREIGN KEY (task_id) REFERENCES tasks(id),
  constraint comments_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX comments_of_task ON public.comments USING btree (task_id, created_at, id);

create table connection_authorizations (
  connection_id uuid not null,
  tenant_id uuid not null,
  state_hash text not null,
  epoch integer not null,
  initiated_by json not null,
  secret_name text not null,
  expires_at timestamp(3) with time zone not null,
  constraint connection_authorizations_pkey PRIMARY KEY (connection_id),
  constraint connection_authorizations_state_hash_key UNIQUE (state_hash),
  constraint connection_authorizations_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id),
  constraint connection_authorizations_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table connection_oauth_apps (
  tenant_id uuid not null,
  type_key text not null,
  client_id text not null,
  secret_name text not null,
  version integer default 1 not null,
  updated_at timestamp(3) with time zone default now() not null,
  type_version integer,
  constraint connection_oauth_apps_pkey PRIMARY KEY (tenant_id, type_key),
  constraint connection_oauth_apps_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table connection_types (
  id uuid not null,
  tenant_id uuid not null,
  key text not null,
  version integer not null,
  status text default 'active'::text not null,
  spec json not null,
  spec_hash text not null,
  row_version integer default 1 not null,
  created_by uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  package jsonb,
  package_key text generated always as ((package ->> 'key'::text)) stored,
  constraint connection_types_pkey PRIMARY KEY (id),
  constraint connection_types_tenant_id_key_version_key UNIQUE (tenant_id, key, version),
  constraint connection_types_status_check CHECK ((status = ANY (ARRAY['active'::text, 'deprecated'::text, 'disabled'::text]))),
  constraint connection_types_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX connection_types_by_status ON public.connection_types USING btree (tenant_id, status, created_at DESC, id DESC);
CREATE INDEX connection_types_newest ON public.connection_types USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX connection_types_of_package ON public.connection_types USING btree (tenant_id, package_key, created_at DESC, id DESC) WHERE (package_key IS NOT NULL);
CREATE TRIGGER connection_types_link BEFORE INSERT ON public.connection_types FOR EACH ROW EXECUTE FUNCTION link_to_package('ConnectionType', 'key');

create table connections (
  id uuid not null,
  tenant_id uuid not null,
  key text not null,
  type_key text not null,
  type_version integer not null,
  display_name text not null,
  account text,
  auth text,
  status text default 'pending'::text not null,
  status_reason text,
  status_message text,
  settings json not null,
  secret_name text,
  authorization_epoch integer default 0 not null,
  expires_at timestamp(3) with time zone,
  connected_by uuid,
  connected_at timestamp(3) with time zone,
  last_checked_at timestamp(3) with time zone,
  created_by uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  version integer default 1 not null,
  constraint connections_pkey PRIMARY KEY (id),
  constraint connections_tenant_id_key_key UNIQUE (tenant_id, key),
  constraint connections_auth_check CHECK ((auth = ANY (ARRAY['oauth2'::text, 'token'::text]))),
  constraint connections_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'expired'::text, 'revoked'::text]))),
  constraint connections_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint connections_tenant_id_type_key_type_version_fkey FOREIGN KEY (tenant_id, type_key, type_version) REFERENCES connection_types(tenant_id, key, version)
);
CREATE INDEX connections_by_status ON public.connections USING btree (tenant_id, status, created_at DESC, id DESC);
CREATE INDEX connections_by_type ON public.connections USING btree (tenant_id, type_key, created_at DESC, id DESC);
CREATE INDEX connections_expiring ON public.connections USING btree (expires_at, id) WHERE ((status = 'active'::text) AND (expires_at IS NOT NULL));
CREATE INDEX connections_newest ON public.connections USING btree (tenant_id, created_at DESC, id DESC);

create table context_packs (
  id uuid not null,
  tenant_id uuid not null,
  task_id uuid not null,
  claim_id uuid not null,
  created_by uuid not null,
  as_of timestamp(3) with time zone not null,
  as_of_mode text not null,
  budget_tokens integer not null,
  question jsonb not null,
  pack jsonb not null,
  trace_id text,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint context_packs_pkey PRIMARY KEY (id),
  constraint context_packs_claim_id_key UNIQUE (claim_id),
  constraint context_packs_as_of_mode_check CHECK ((as_of_mode = ANY (ARRAY['claim'::text, 'now'::text]))),
  constraint context_packs_trace_id_check CHECK ((length(trace_id) <= 200))
);

create table delegations (
  id uuid not null,
  tenant_id uuid not null,
  human_principal_id uuid not null,
  agent_principal_id uuid not null,
  permissions text[] default '{}'::text[] not null,
  starts_at timestamp(3) with time zone default now() not null,
  expires_at timestamp(3) with time zone,
  revoked_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  constraint delegations_pkey PRIMARY KEY (id),
  constraint delegations_agent_principal_id_fkey FOREIGN KEY (agent_principal_id) REFERENCES principals(id),
  constraint delegations_human_principal_id_fkey FOREIGN KEY (human_principal_id) REFERENCES principals(id),
  constraint delegations_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX delegations_live ON public.delegations USING btree (agent_principal_id, human_principal_id) WHERE (revoked_at IS NULL);
CREATE INDEX delegations_newest ON public.delegations USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX delegations_of_human ON public.delegations USING btree (human_principal_id) WHERE (revoked_at IS NULL);

create table endings (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid,
  session_id uuid,
  reason text not null,
  acknowledged_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint endings_pkey PRIMARY KEY (id),
  constraint endings_check CHECK ((num_nonnulls(principal_id, session_id) = 1)),
  constraint endings_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint endings_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(id),
  constraint endings_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX endings_in_order ON public.endings USING btree (acknowledged_at);
CREATE INDEX endings_of_principal ON public.endings USING btree (principal_id) WHERE (principal_id IS NOT NULL);

create table ensured_work (
  tenant_id uuid not null,
  key text not null,
  task_id uuid,
  created_at timestamp(3) with time zone default now() not null,
  constraint ensured_work_pkey PRIMARY KEY (tenant_id, key),
  constraint ensured_work_key_check CHECK (((length(key) >= 1) AND (length(key) <= 500))),
  constraint ensured_work_task_id_fkey FOREIGN KEY (task_id) REFERENCES tasks(id),
  constraint ensured_work_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table event_consumers (
  tenant_id uuid not null,
  consumer text not null,
  position bigint default 0 not null,
  sequence bigint default 0 not null,
  lease_id uuid,
  leased_until timestamp(3) with time zone,
  served_at timestamp(3) with time zone default '-infinity'::timestamp with time zone not null,
  has_more boolean default true not null,
  parked_at timestamp(3) with time zone,
  parked_reason text,
  parked_event_id uuid,
  failure_count integer default 0 not null,
  next_attempt_at timestamp(3) with time zone,
  delivered_total bigint default 0 not null,
  duplicates_total bigint default 0 not null,
  failures_total bigint default 0 not null,
  redrives_total bigint default 0 not null,
  last_delivery_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  constraint event_consumers_pkey PRIMARY KEY (tenant_id, consumer),
  constraint event_consumers_check CHECK (((lease_id IS NULL) = (leased_until IS NULL))),
  constraint event_consumers_check1 CHECK (((parked_at IS NULL) = (parked_reason IS NULL))),
  constraint event_consumers_check2 CHECK (((parked_event_id IS NULL) OR (parked_at IS NOT NULL))),
  constraint event_consumers_parked_reason_check CHECK ((length(parked_reason) <= 2000)),
  constraint event_consumers_position_check CHECK (("position" >= 0)),
  constraint event_consumers_sequence_check CHECK ((sequence >= 0)),
  constraint event_consumers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
) with (fillfactor=70);
CREATE INDEX event_consumers_by_service ON public.event_consumers USING btree (consumer, served_at, tenant_id);
CREATE INDEX event_consumers_failing ON public.event_consumers USING btree (consumer, next_attempt_at) WHERE (next_attempt_at IS NOT NULL);

create table events (
  sequence bigint generated always as identity not null,
  id uuid not null,
  tenant_id uuid not null,
  position bigint default journal_position() not null,
  type text not null,
  schema_version integer not null,
  entity_type text not null,
  entity_id uuid not null,
  workspace_id uuid,
  actor_id uuid,
  iam_actor_id uuid,
  session_id uuid,
  correlation_id text,
  causation_id text,
  request_id text,
  trace_run_id text,
  payload jsonb not null,
  occurred_at timestamp(3) with time zone default now() not null,
  constraint events_pkey PRIMARY KEY (sequence)
);
CREATE INDEX events_in_order ON public.events USING btree (tenant_id, "position", sequence);
CREATE INDEX events_of_entity ON public.events USING btree (tenant_id, entity_id, "position", sequence);
CREATE TRIGGER events_append_only AFTER DELETE ON public.events REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION refuse_unarchived_deletion();
CREATE TRIGGER events_never_truncated BEFORE TRUNCATE ON public.events FOR EACH STATEMENT EXECUTE FUNCTION refuse_journal_change();
CREATE TRIGGER events_never_updated BEFORE UPDATE ON public.events FOR EACH ROW EXECUTE FUNCTION refuse_journal_change();

create table exhausted_tasks (
  task_id uuid not null,
  tenant_id uuid not null,
  noted_at timestamp(3) with time zone default now() not null,
  constraint exhausted_tasks_pkey PRIMARY KEY (task_id)
);

create table external_references (
  id uuid not null,
  tenant_id uuid not null,
  entity_type text not null,
  entity_id uuid not null,
  external_system text not null,
  external_type text not null,
  external_id text not null,
  reference_key text not null,
  metadata jsonb default '{}'::jsonb not null,
  version integer default 1 not null,
  created_by uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  constraint external_references_pkey PRIMARY KEY (id),
  constraint external_references_tenant_id_reference_key_key UNIQUE (tenant_id, reference_key),
  constraint external_references_entity_type_check CHECK ((entity_type = ANY (ARRAY['project'::text, 'task'::text]))),
  constraint external_references_created_by_fkey FOREIGN KEY (created_by) REFERENCES principals(id),
  constraint external_references_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX external_references_of_entity ON public.external_references USING btree (tenant_id, entity_id, created_at DESC, id DESC);
CREATE INDEX external_references_of_projects ON public.external_references USING btree (tenant_id, md5(((external_system || '/'::text) || external_id))) WHERE (entity_type = 'project'::text);

create table goals (
  id uuid not null,
  tenant_id uuid not null,
  workspace_id uuid,
  title text not null,
  desired_state text default ''::text not null,
  criteria jsonb default '[]'::jsonb not null,
  owner_id uuid,
  status text default 'active'::text not null,
  created_from jsonb not null,
  parent_goal_id uuid,
  path uuid[] not null,
  version integer default 1 not null,
  created_by uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  closed_at timestamp(3) with time zone,
  constraint goals_pkey PRIMARY KEY (id),
  constraint goals_check CHECK ((((cardinality(path) >= 1) AND (cardinality(path) <= 32)) AND (path[cardinality(path)] = id))),
  constraint goals_check1 CHECK (((status = 'active'::text) = (closed_at IS NULL))),
  constraint goals_status_check CHECK ((status = ANY (ARRAY['active'::text, 'achieved'::text, 'abandoned'::text]))),
  constraint goals_created_by_fkey FOREIGN KEY (created_by) REFERENCES principals(id),
  constraint goals_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES principals(id),
  constraint goals_parent_goal_id_fkey FOREIGN KEY (parent_goal_id) REFERENCES goals(id),
  constraint goals_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint goals_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
);
CREATE INDEX goals_below ON public.goals USING gin (path) WITH (fastupdate=off);
CREATE INDEX goals_newest ON public.goals USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX goals_of_owner ON public.goals USING btree (tenant_id, owner_id, created_at DESC, id DESC) WHERE (owner_id IS NOT NULL);
CREATE INDEX goals_of_parent ON public.goals USING btree (tenant_id, parent_goal_id, created_at DESC, id DESC) WHERE (parent_goal_id IS NOT NULL);
CREATE INDEX goals_of_place ON public.goals USING btree (COALESCE(workspace_id, tenant_id), created_at DESC, id DESC);
CREATE INDEX goals_of_status ON public.goals USING btree (tenant_id, status, created_at DESC, id DESC);
CREATE INDEX goals_of_workspace ON public.goals USING btree (tenant_id, workspace_id, created_at DESC, id DESC) WHERE (workspace_id IS NOT NULL);

create table harness_manifests (
  run_id uuid not null,
  version integer not null,
  tenant_id uuid not null,
  reason text not null,
  base jsonb not null,
  captured jsonb not null,
  declared text[] default '{}'::text[] not null,
  remarks jsonb default '[]'::jsonb not null,
  remarks_bytes integer default 0 not null,
  data_bytes integer default 4096 not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  created_by uuid not null,
  constraint harness_manifests_pkey PRIMARY KEY (run_id, version),
  constraint harness_manifests_reason_check CHECK ((reason = ANY (ARRAY['run_started'::text, 'recompile'::text, 'provider_fallback'::text])))
);

create table iam_bindings (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid not null,
  issuer text not null,
  iam_tenant_id uuid not null,
  iam_principal_id uuid not null,
  permissions text[] not null,
  status text default 'active'::text not null,
  revoked_at timestamp(3) with time zone,
  last_used_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  visibility text default 'tenant'::text not null,
  access_role text,
  constraint iam_bindings_pkey PRIMARY KEY (id),
  constraint iam_bindings_issuer_iam_principal_id_key UNIQUE (issuer, iam_principal_id),
  constraint iam_bindings_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text, 'revoked'::text]))),
  constraint iam_bindings_visibility_check CHECK ((visibility = ANY (ARRAY['tenant'::text, 'members'::text]))),
  constraint iam_bindings_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint iam_bindings_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX iam_bindings_of_access_role ON public.iam_bindings USING btree (tenant_id, access_role, principal_id) WHERE (access_role IS NOT NULL);
CREATE INDEX iam_bindings_of_deciders ON public.iam_bindings USING btree (tenant_id, created_at DESC, id DESC) WHERE ((status = 'active'::text) AND (permissions && '{approvals.decide,admin}'::text[]));
CREATE INDEX iam_bindings_of_identity ON public.iam_bindings USING btree (tenant_id, iam_principal_id);
CREATE INDEX iam_bindings_of_principal ON public.iam_bindings USING btree (principal_id, created_at DESC);
CREATE INDEX iam_bindings_revoked ON public.iam_bindings USING btree (revoked_at) WHERE (revoked_at IS NOT NULL);
CREATE TRIGGER iam_bindings_note_change AFTER UPDATE OF status, permissions ON public.iam_bindings FOR EACH ROW WHEN (((new.status <> old.status) OR (new.permissions <> old.permissions))) EXECUTE FUNCTION note_credential_change();

create table idempotency_keys (
  tenant_id uuid not null,
  key text not null,
  fingerprint text not null,
  status integer,
  body json,
  expires_at timestamp(3) with time zone not null,
  constraint idempotency_keys_pkey PRIMARY KEY (tenant_id, key),
  constraint idempotency_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX idempotency_keys_due ON public.idempotency_keys USING btree (expires_at);

create table identity_administrations (
  token_id uuid not null,
  iam_tenant_id uuid not null,
  tenant_id uuid not null,
  principal_id uuid not null,
  binding_id uuid not null,
  expires_at timestamp(3) with time zone not null,
  constraint identity_administrations_pkey PRIMARY KEY (token_id),
  constraint identity_administrations_binding_id_fkey FOREIGN KEY (binding_id) REFERENCES iam_bindings(id),
  constraint identity_administrations_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint identity_administrations_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX identity_administrations_by_expiry ON public.identity_administrations USING btree (expires_at);

create table invitation_mails (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid not null,
  invited_by text not null,
  key_id text not null,
  sealed bytea not null,
  created_at timestamp(3) with time zone default now() not null,
  expires_at timestamp(3) with time zone not null,
  constraint invitation_mails_pkey PRIMARY KEY (id),
  constraint invitation_mails_tenant_id_principal_id_key UNIQUE (tenant_id, principal_id),
  constraint invitation_mails_invited_by_check CHECK ((length(invited_by) <= 500)),
  constraint invitation_mails_sealed_check CHECK ((octet_length(sealed) <= 1000)),
  constraint invitation_mails_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint invitation_mails_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX invitation_mails_expiry ON public.invitation_mails USING btree (expires_at);

create table journal_epoch (
  singleton boolean default true not null,
  position_offset bigint default 0 not null,
  cluster text,
  server_started_at timestamp with time zone,
  table_number bigint,
  database_number bigint,
  previous_offset bigint default 0 not null,
  first_transaction bigint default 0 not null,
  constraint journal_epoch_pkey PRIMARY KEY (singleton),
  constraint journal_epoch_singleton_check CHECK (singleton)
);

create table journal_epochs (
  first_position bigint not null,
  previous_end bigint not null,
  began_at timestamp(3) with time zone default clock_timestamp() not null,
  cluster text,
  reason text not null,
  constraint journal_epochs_pkey PRIMARY KEY (first_position),
  constraint journal_epochs_reason_check CHECK ((reason = ANY (ARRAY['restart'::text, 'another_cluster'::text, 'restored'::text, 'requested'::text])))
);

create table journal_floors (
  tenant_id uuid not null,
  floor_position bigint default 0 not null,
  floor_sequence bigint default 0 not null,
  floor_top_sequence bigint default 0 not null,
  archive_position bigint default 0 not null,
  archive_sequence bigint default 0 not null,
  moved_position bigint default 0 not null,
  moved_sequence bigint default 0 not null,
  deleted_position bigint default 0 not null,
  deleted_sequence bigint default 0 not null,
  archive_due_at timestamp(3) with time zone default '-infinity'::timestamp with time zone not null,
  constraint journal_floors_pkey PRIMARY KEY (tenant_id),
  constraint journal_floors_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX journal_floors_due ON public.journal_floors USING btree (archive_due_at, tenant_id);
CREATE INDEX journal_floors_unsettled ON public.journal_floors USING btree (tenant_id) WHERE ((ROW(moved_position, moved_sequence) < ROW(archive_position, archive_sequence)) OR (ROW(deleted_position, deleted_sequence) < ROW(floor_position, floor_sequence)));

create table knowledge_documents (
  tenant_id uuid not null,
  natural_key text not null,
  root_workspace_id uuid not null,
  workspace_id uuid not null,
  constraint knowledge_documents_pkey PRIMARY KEY (tenant_id, natural_key, root_workspace_id),
  constraint knowledge_documents_root_workspace_id_fkey FOREIGN KEY (root_workspace_id) REFERENCES workspaces(id),
  constraint knowledge_documents_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint knowledge_documents_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
);

create table knowledge_intents (
  id uuid not null,
  tenant_id uuid not null,
  kind text not null,
  subject text not null,
  path text not null,
  body text not null,
  facts jsonb not null,
  principal_id uuid not null,
  iam_principal_id uuid,
  request_id text not null,
  correlation_id text not null,
  trace_run_id text not null,
  idempotency_key text,
  fingerprint text,
  attempts integer default 0 not null,
  due_at timestamp(3) with time zone not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint knowledge_intents_pkey PRIMARY KEY (id),
  constraint knowledge_intents_kind_check CHECK ((kind = ANY (ARRAY['snapshot'::text, 'document'::text, 'pack'::text, 'configuration'::text])))
);
CREATE INDEX knowledge_intents_due ON public.knowledge_intents USING btree (due_at, id);
CREATE UNIQUE INDEX knowledge_intents_of_key ON public.knowledge_intents USING btree (tenant_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE UNIQUE INDEX knowledge_intents_of_subject ON public.knowledge_intents USING btree (tenant_id, kind, subject);

create table left_sets (
  id bigint generated always as identity not null,
  tenant_id uuid not null,
  set_id uuid not null,
  constraint left_sets_pkey PRIMARY KEY (id)
);
CREATE INDEX left_sets_of_set ON public.left_sets USING btree (set_id);

create table mentions (
  source_id uuid not null,
  principal_id uuid not null,
  tenant_id uuid not null,
  task_id uuid not null,
  author_id uuid not null,
  is_present boolean default true not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint mentions_pkey PRIMARY KEY (source_id, principal_id),
  constraint mentions_author_id_fkey FOREIGN KEY (author_id) REFERENCES principals(id),
  constraint mentions_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint mentions_task_id_fkey FOREIGN KEY (task_id) REFERENCES tasks(id),
  constraint mentions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table notification_deliveries (
  event_id uuid not null,
  recipient_id uuid not null,
  channel text not null,
  tenant_id uuid not null,
  kind text not null,
  unknown_attempts smallint not null,
  sent_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  attempts integer default 0 not null,
  refusal text,
  left_out boolean default false not null,
  counted_at timestamp(3) with time zone,
  counted_as text,
  constraint notification_deliveries_pkey PRIMARY KEY (event_id, recipient_id, channel),
  constraint notification_deliveries_counted_as_check CHECK ((length(counted_as) <= 100)),
  constraint notification_deliveries_refusal_check CHECK ((length(refusal) <= 200)),
  constraint notification_deliveries_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX notification_deliveries_counted ON public.notification_deliveries USING btree (counted_as, channel, counted_at) WHERE (counted_at IS NOT NULL);
CREATE INDEX notification_deliveries_oldest ON public.notification_deliveries USING btree (created_at);
CREATE INDEX notification_deliveries_sent ON public.notification_deliveries USING btree (recipient_id, channel, sent_at) WHERE (sent_at IS NOT NULL);

create table notification_digest_items (
  id bigint generated by default as identity not null,
  principal_id uuid not null,
  tenant_id uuid not null,
  event_id uuid not null,
  kind text not null,
  entity_id uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint notification_digest_items_pkey PRIMARY KEY (principal_id, id),
  constraint notification_digest_items_principal_id_event_id_kind_key UNIQUE (principal_id, event_id, kind),
  constraint notification_digest_items_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint notification_digest_items_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table notification_digests (
  principal_id uuid not null,
  tenant_id uuid not null,
  due_at timestamp(3) with time zone,
  left_out integer default 0 not null,
  constraint notification_digests_pkey PRIMARY KEY (principal_id),
  constraint notification_digests_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint notification_digests_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX notification_digests_due ON public.notification_digests USING btree (due_at, principal_id) WHERE (due_at IS NOT NULL);

create table notification_pauses (
  recipient_id uuid not null,
  channel text not null,
  tenant_id uuid not null,
  target text not null,
  failures integer not null,
  is_refused boolean not null,
  paused_until timestamp(3) with time zone not null,
  constraint notification_pauses_pkey PRIMARY KEY (recipient_id, channel),
  constraint notification_pauses_failures_check CHECK (((failures >= 1) AND (failures <= 1000))),
  constraint notification_pauses_target_check CHECK ((length(target) <= 100)),
  constraint notification_pauses_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX notification_pauses_until ON public.notification_pauses USING btree (paused_until);

create table notification_preferences (
  tenant_id uuid not null,
  principal_id uuid not null,
  email text,
  modes jsonb default '{}'::jsonb not null,
  digest_interval_seconds integer default 86400 not null,
  version integer default 1 not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  address_changes integer default 0 not null,
  address_changes_since timestamp(3) with time zone default now() not null,
  constraint notification_preferences_pkey PRIMARY KEY (tenant_id, principal_id),
  constraint notification_preferences_digest_interval_seconds_check CHECK (((digest_interval_seconds >= 900) AND (digest_interval_seconds <= 604800))),
  constraint notification_preferences_email_check CHECK ((length(email) <= 254)),
  constraint notification_preferences_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint notification_preferences_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table notification_webhooks (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid,
  host text not null,
  secret_name text not null,
  kinds text[] default '{}'::text[] not null,
  version integer default 1 not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  constraint notification_webhooks_pkey PRIMARY KEY (id),
  constraint notification_webhooks_tenant_id_principal_id_key UNIQUE NULLS NOT DISTINCT (tenant_id, principal_id),
  constraint notification_webhooks_host_check CHECK ((length(host) <= 260)),
  constraint notification_webhooks_kinds_check CHECK ((cardinality(kinds) <= 100)),
  constraint notification_webhooks_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint notification_webhooks_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table observations (
  id uuid not null,
  event_id uuid not null,
  tenant_id uuid not null,
  created_by uuid not null,
  kind text not null,
  source text,
  dedup_key text,
  task_id uuid,
  run_id uuid,
  workspace_id uuid,
  recorded_at timestamp(3) with time zone default clock_timestamp() not null,
  external_system text,
  external_id text,
  supersedes uuid,
  constraint observations_pkey PRIMARY KEY (id),
  constraint observations_check CHECK (((dedup_key IS NULL) OR (source IS NOT NULL))),
  constraint observations_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE UNIQUE INDEX observations_by_event ON public.observations USING btree (event_id);
CREATE INDEX observations_of_reference ON public.observations USING btree (tenant_id, hashtextextended(external_id, (0)::bigint), kind, recorded_at, id) WHERE (external_id IS NOT NULL);
CREATE INDEX observations_of_task ON public.observations USING btree (tenant_id, task_id, kind, recorded_at, id) WHERE (task_id IS NOT NULL);
CREATE UNIQUE INDEX observations_once ON public.observations USING btree (tenant_id, created_by, source, dedup_key) WHERE (dedup_key IS NOT NULL);
CREATE INDEX observations_superseding ON public.observations USING btree (supersedes) WHERE (supersedes IS NOT NULL);

create table outbox (
  event_sequence bigint not null,
  tenant_id uuid not null,
  constraint outbox_pkey PRIMARY KEY (event_sequence)
);

create table outbox_deliveries (
  place bigint generated by default as identity not null,
  lead bigint not null,
  sink text not null,
  tenant_id uuid not null,
  event_sequences bigint[] not null,
  oldest_position bigint not null,
  is_new boolean default true not null,
  attempts integer default 0 not null,
  available_at timestamp(3) with time zone default now() not null,
  dead_at timestamp(3) with time zone,
  dropped_at timestamp(3) with time zone,
  last_error text,
  unsettled smallint default 0 not null,
  constraint outbox_deliveries_pkey PRIMARY KEY (place, lead),
  constraint outbox_deliveries_check CHECK ((lead = event_sequences[1])),
  constraint outbox_deliveries_event_sequences_check CHECK (((cardinality(event_sequences) >= 1) AND (cardinality(event_sequences) <= 1000))),
  constraint outbox_deliveries_last_error_check CHECK ((length(last_error) <= 500))
);
CREATE INDEX outbox_deliveries_again ON public.outbox_deliveries USING btree (sink, available_at) WHERE (NOT is_new);
CREATE INDEX outbox_deliveries_dead ON public.outbox_deliveries USING btree (tenant_id, place, lead) WHERE ((dead_at IS NOT NULL) AND (dropped_at IS NULL));
CREATE INDEX outbox_deliveries_dropped ON public.outbox_deliveries USING btree (dropped_at) WHERE (dropped_at IS NOT NULL);
CREATE INDEX outbox_deliveries_new ON public.outbox_deliveries USING btree (sink, place) WHERE is_new;
CREATE INDEX outbox_deliveries_oldest ON public.outbox_deliveries USING btree (tenant_id, oldest_position) WHERE (dropped_at IS NULL);
CREATE INDEX outbox_deliveries_pending ON public.outbox_deliveries USING btree (tenant_id, place, lead) WHERE ((dead_at IS NULL) AND (dropped_at IS NULL));

create table outbox_sinks (
  name text not null,
  filter_digest text not null,
  tenants uuid[],
  type_patterns text[],
  seen_at timestamp(3) with time zone default now() not null,
  events_max integer,
  constraint outbox_sinks_pkey PRIMARY KEY (name, filter_digest),
  constraint outbox_sinks_events_max_check CHECK (((events_max >= 1) AND (events_max <= 1000)))
);

create table package_objects (
  tenant_id uuid not null,
  kind text not null,
  key text not null,
  package_key text not null,
  version text not null,
  install_hash text,
  applied_by text not null,
  installed_at timestamp(3) with time zone default now() not null,
  said jsonb,
  was jsonb,
  retired_at timestamp(3) with time zone,
  constraint package_objects_pkey PRIMARY KEY (tenant_id, kind, key),
  constraint package_objects_applied_by_check CHECK ((applied_by = ANY (ARRAY['installer'::text, 'apply'::text]))),
  constraint package_objects_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint package_objects_tenant_id_package_key_fkey FOREIGN KEY (tenant_id, package_key) REFERENCES packages(tenant_id, key)
);
CREATE INDEX package_objects_of_package ON public.package_objects USING btree (tenant_id, package_key, kind, key);
CREATE TRIGGER package_objects_spread AFTER INSERT OR DELETE OR UPDATE ON public.package_objects FOR EACH ROW EXECUTE FUNCTION spread_package_link();

create table package_settings_versions (
  tenant_id uuid not null,
  package_key text not null,
  version integer not null,
  values jsonb not null,
  schema_revision integer not null,
  schema_hash text not null,
  changed_paths text[] not null,
  created_by uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint package_settings_versions_pkey PRIMARY KEY (tenant_id, package_key, version),
  constraint package_settings_versions_created_by_fkey FOREIGN KEY (created_by) REFERENCES principals(id),
  constraint package_settings_versions_tenant_id_package_key_fkey FOREIGN KEY (tenant_id, package_key) REFERENCES packages(tenant_id, key)
);

create table packages (
  id uuid not null,
  tenant_id uuid not null,
  key text not null,
  version text not null,
  install_hash text,
  title text not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  settings_title text,
  settings_schema jsonb,
  settings_uischema jsonb,
  settings_schema_hash text,
  settings_schema_revision integer default 0 not null,
  settings_values jsonb default '{}'::jsonb not null,
  settings_version integer default 0 not null,
  settings_updated_by uuid,
  settings_updated_at timestamp(3) with time zone,
  constraint packages_pkey PRIMARY KEY (tenant_id, key),
  constraint packages_id_key UNIQUE (id),
  constraint packages_settings_declared CHECK ((((settings_schema IS NULL) = (settings_title IS NULL)) AND ((settings_schema IS NULL) = (settings_schema_hash IS NULL)))),
  constraint packages_settings_updated_by_fkey FOREIGN KEY (settings_updated_by) REFERENCES principals(id),
  constraint packages_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table principals (
  id uuid not null,
  tenant_id uuid not null,
  kind text not null,
  display_name text not null,
  status text default 'active'::text not null,
  metadata jsonb default '{}'::jsonb not null,
  profile jsonb default '{}'::jsonb not null,
  version integer default 1 not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  agent_id uuid,
  constraint principals_pkey PRIMARY KEY (id),
  constraint principals_kind_check CHECK ((kind = ANY (ARRAY['human'::text, 'agent'::text, 'service'::text]))),
  constraint principals_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text, 'disabled'::text]))),
  constraint principals_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint principals_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX principals_newest ON public.principals USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX principals_of_kind ON public.principals USING btree (tenant_id, kind, created_at DESC, id DESC);
CREATE INDEX principals_words ON public.principals USING gin (principal_words(tenant_id, display_name, (profile ->> 'email'::text)));
CREATE TRIGGER principals_never_truncated BEFORE TRUNCATE ON public.principals FOR EACH STATEMENT EXECUTE FUNCTION refuse_removal();
CREATE TRIGGER principals_note_stopped AFTER UPDATE OF status ON public.principals FOR EACH ROW WHEN (((new.status <> 'active'::text) AND (old.status = 'active'::text))) EXECUTE FUNCTION note_principal_stopped();
CREATE TRIGGER principals_stay BEFORE DELETE OR UPDATE OF id ON public.principals FOR EACH ROW EXECUTE FUNCTION refuse_removal();

create table process_definitions (
  id uuid not null,
  tenant_id uuid not null,
  workspace_id uuid,
  key text not null,
  version integer not null,
  definition_hash text not null,
  identity_agent text not null,
  governed_by text[] not null,
  expression_profile text not null,
  engine_revision integer not null,
  spec jsonb not null,
  warnings jsonb not null,
  is_latest boolean default true not null,
  status text default 'active'::text not null,
  retired_at timestamp(3) with time zone,
  retired_by uuid,
  retired_reason text,
  created_by uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  package jsonb,
  package_key text generated always as ((package ->> 'key'::text)) stored,
  constraint process_definitions_pkey PRIMARY KEY (id),
  constraint process_definitions_tenant_id_key_version_key UNIQUE (tenant_id, key, version),
  constraint process_definitions_check CHECK (((status = 'retired'::text) = (retired_at IS NOT NULL))),
  constraint process_definitions_check1 CHECK ((((retired_at IS NULL) = (retired_by IS NULL)) AND ((retired_at IS NULL) = (retired_reason IS NULL)))),
  constraint process_definitions_status_check CHECK ((status = ANY (ARRAY['active'::text, 'retired'::text]))),
  constraint process_definitions_version_check CHECK ((version > 0)),
  constraint process_definitions_created_by_fkey FOREIGN KEY (created_by) REFERENCES principals(id),
  constraint process_definitions_retired_by_fkey FOREIGN KEY (retired_by) REFERENCES principals(id),
  constraint process_definitions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint process_definitions_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
);
CREATE UNIQUE INDEX process_definitions_latest ON public.process_definitions USING btree (tenant_id, key) WHERE is_latest;
CREATE INDEX process_definitions_newest ON public.process_definitions USING btree (tenant_id, created_at DESC, id DESC) WHERE is_latest;
CREATE INDEX process_definitions_of_package ON public.process_definitions USING btree (tenant_id, package_key, created_at DESC, id DESC) WHERE ((package_key IS NOT NULL) AND is_latest);
CREATE INDEX process_definitions_of_place ON public.process_definitions USING btree (COALESCE(workspace_id, tenant_id), created_at DESC, id DESC);
CREATE INDEX process_definitions_of_workspace ON public.process_definitions USING btree (workspace_id, created_at DESC, id DESC) WHERE ((workspace_id IS NOT NULL) AND is_latest);
CREATE INDEX process_definitions_retired ON public.process_definitions USING btree (tenant_id, created_at DESC, id DESC) WHERE (is_latest AND (status = 'retired'::text));
CREATE TRIGGER process_definitions_link BEFORE INSERT ON public.process_definitions FOR EACH ROW EXECUTE FUNCTION link_to_package('Process', 'key');

create table process_inputs (
  instance_id uuid not null,
  source_ref text not null,
  tenant_id uuid not null,
  number bigint generated always as identity not null,
  held jsonb,
  links smallint default 0 not null,
  constraint process_inputs_pkey PRIMARY KEY (instance_id, source_ref),
  constraint process_inputs_instance_id_fkey FOREIGN KEY (instance_id) REFERENCES process_instances(id)
);
CREATE INDEX process_inputs_held ON public.process_inputs USING btree (instance_id, number) WHERE (held IS NOT NULL);

create table process_instance_journal (
  instance_id uuid not null,
  seq integer not null,
  tenant_id uuid not null,
  at timestamp(3) with time zone not null,
  kind text not null,
  element text,
  reason text,
  actor_id uuid,
  event_id uuid,
  data jsonb default '{}'::jsonb not null,
  input jsonb,
  constraint process_instance_journal_pkey PRIMARY KEY (instance_id, seq),
  constraint process_instance_journal_kind_check CHECK ((kind = ANY (ARRAY['decision'::text, 'intent'::text, 'input'::text, 'settings'::text, 'data'::text, 'timer'::text, 'state'::text]))),
  constraint process_instance_journal_instance_id_fkey FOREIGN KEY (instance_id) REFERENCES process_instances(id)
);
CREATE INDEX process_instance_journal_of_kind ON public.process_instance_journal USING btree (instance_id, kind, seq);
CREATE TRIGGER process_instance_journal_append_only AFTER DELETE ON public.process_instance_journal REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION refuse_open_process_journal_deletion();
CREATE TRIGGER process_instance_journal_never_changed BEFORE UPDATE ON public.process_instance_journal FOR EACH ROW EXECUTE FUNCTION refuse_process_journal_change();
CREATE TRIGGER process_instance_journal_never_truncated BEFORE TRUNCATE ON public.process_instance_journal FOR EACH STATEMENT EXECUTE FUNCTION refuse_process_journal_change();

create table process_instances (
  id uuid not null,
  tenant_id uuid not null,
  workspace_id uuid,
  definition_key text not null,
  definition_version integer not null,
  instance_key text not null,
  identity_agent text not null,
  status text not null,
  outcome text,
  state jsonb not null,
  sla_state text default 'none'::text not null,
  journal_seq integer default 0 not null,
  started_at timestamp(3) with time zone not null,
  updated_at timestamp(3) with time zone default clock_timestamp() not null,
  completed_at timestamp(3) with time zone,
  parent_id uuid,
  root_id uuid,
  call_depth smallint default 0 not null,
  attend_at timestamp(3) with time zone,
  kept_inputs integer default 0 not null,
  passed_over integer default 0 not null,
  left_open jsonb default '[]'::jsonb not null,
  stays_until integer default 0 not null,
  constraint process_instances_pkey PRIMARY KEY (id),
  constraint process_instances_check CHECK (((completed_at IS NULL) = (status = ANY (ARRAY['running'::text, 'suspended'::text])))),
  constraint process_instances_sla_state_check CHECK ((sla_state = ANY (ARRAY['ok'::text, 'warning'::text, 'breached'::text, 'paused'::text, 'unknown'::text, 'none'::text]))),
  constraint process_instances_status_check CHECK ((status = ANY (ARRAY['running'::text, 'suspended'::text, 'completed'::text, 'failed'::text, 'cancelled'::text]))),
  constraint process_instances_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint process_instances_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
) with (fillfactor=70);
CREATE INDEX process_instances_attended ON public.process_instances USING btree (attend_at, id) WHERE (attend_at IS NOT NULL);
CREATE INDEX process_instances_late ON public.process_instances USING btree (tenant_id, sla_state, started_at DESC, id DESC) WHERE (sla_state = ANY (ARRAY['warning'::text, 'breached'::text]));
CREATE INDEX process_instances_newest ON public.process_instances USING btree (tenant_id, started_at DESC, id DESC);
CREATE INDEX process_instances_of_instance_key ON public.process_instances USING btree (tenant_id, instance_key, started_at DESC, id DESC);
CREATE INDEX process_instances_of_key ON public.process_instances USING btree (tenant_id, definition_key, instance_key, started_at DESC, id DESC);
CREATE INDEX process_instances_of_place ON public.process_instances USING btree (COALESCE(workspace_id, tenant_id), started_at DESC, id DESC);
CREATE INDEX process_instances_of_root ON public.process_instances USING btree (root_id) WHERE ((root_id IS NOT NULL) AND (status = ANY (ARRAY['running'::text, 'suspended'::text])));
CREATE INDEX process_instances_of_status ON public.process_instances USING btree (tenant_id, status, started_at DESC, id DESC);
CREATE UNIQUE INDEX process_instances_one_of_key ON public.process_instances USING btree (tenant_id, definition_key, instance_key) WHERE (status = ANY (ARRAY['running'::text, 'suspended'::text]));
CREATE INDEX process_instances_open ON public.process_instances USING btree (tenant_id, definition_key, definition_version) WHERE (status = ANY (ARRAY['running'::text, 'suspended'::text]));
CREATE INDEX process_instances_open_of_version ON public.process_instances USING btree (tenant_id, definition_key, definition_version, stays_until, id) WHERE (status = ANY (ARRAY['running'::text, 'suspended'::text]));
CREATE INDEX process_instances_over ON public.process_instances USING btree (completed_at, id) WHERE ((completed_at IS NOT NULL) AND (attend_at IS NULL));

create table process_keys (
  tenant_id uuid not null,
  key text not null,
  constraint process_keys_pkey PRIMARY KEY (tenant_id, key),
  constraint process_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table process_migrations (
  id uuid not null,
  tenant_id uuid not null,
  definition_key text not null,
  from_version integer not null,
  to_version integer not null,
  map jsonb not null,
  published_at timestamp(3) with time zone default clock_timestamp() not null,
  migrated integer default 0 not null,
  refused integer default 0 not null,
  next_at timestamp(3) with time zone default clock_timestamp(),
  constraint process_migrations_pkey PRIMARY KEY (id),
  constraint process_migrations_tenant_id_definition_key_from_version_key UNIQUE (tenant_id, definition_key, from_version),
  constraint process_migrations_check CHECK ((to_version > from_version)),
  constraint process_migrations_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX process_migrations_due ON public.process_migrations USING btree (next_at, id) WHERE (next_at IS NOT NULL);

create table process_orders (
  instance_id uuid not null,
  tenant_id uuid not null,
  act text not null,
  due_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint process_orders_pkey PRIMARY KEY (instance_id),
  constraint process_orders_act_check CHECK ((act = ANY (ARRAY['begin'::text, 'end'::text]))),
  constraint process_orders_instance_id_fkey FOREIGN KEY (instance_id) REFERENCES process_instances(id)
);
CREATE INDEX process_orders_due ON public.process_orders USING btree (due_at, instance_id);

create table process_recalls (
  id uuid not null,
  instance_id uuid not null,
  tenant_id uuid not null,
  element text not null,
  question jsonb not null,
  namespaces text[] not null,
  attempts integer default 0 not null,
  due_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint process_recalls_pkey PRIMARY KEY (id),
  constraint process_recalls_instance_id_fkey FOREIGN KEY (instance_id) REFERENCES process_instances(id)
) with (fillfactor=70);
CREATE INDEX process_recalls_due ON public.process_recalls USING btree (due_at, id);
CREATE INDEX process_recalls_of_instance ON public.process_recalls USING btree (instance_id);

create table process_references (
  tenant_id uuid not null,
  kind text not null,
  name text not null,
  key text not null,
  constraint process_references_pkey PRIMARY KEY (tenant_id, kind, name, key),
  constraint process_references_kind_check CHECK ((kind = ANY (ARRAY['calendar'::text, 'document'::text]))),
  constraint process_references_tenant_id_key_fkey FOREIGN KEY (tenant_id, key) REFERENCES process_keys(tenant_id, key) ON DELETE CASCADE
);
CREATE INDEX process_references_of_key ON public.process_references USING btree (tenant_id, key);

create table process_timers (
  id uuid not null,
  instance_id uuid not null,
  tenant_id uuid not null,
  due_at timestamp(3) with time zone not null,
  constraint process_timers_pkey PRIMARY KEY (id),
  constraint process_timers_instance_id_fkey FOREIGN KEY (instance_id) REFERENCES process_instances(id)
) with (fillfactor=70);
CREATE INDEX process_timers_due ON public.process_timers USING btree (due_at, id);
CREATE INDEX process_timers_of_instance ON public.process_timers USING btree (instance_id);

create table process_trigger_places (
  tenant_id uuid not null,
  event_id uuid not null,
  definition_key text not null,
  definition_version integer not null,
  constraint process_trigger_places_pkey PRIMARY KEY (tenant_id),
  constraint process_trigger_places_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table process_triggers (
  tenant_id uuid not null,
  definition_key text not null,
  definition_version integer not null,
  kind text not null,
  number integer not null,
  wait_key text not null,
  from_position bigint not null,
  constraint process_triggers_pkey PRIMARY KEY (tenant_id, definition_key, definition_version, kind, number),
  constraint process_triggers_kind_check CHECK ((kind = ANY (ARRAY['start'::text, 'correlate'::text]))),
  constraint process_triggers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX process_triggers_of_key ON public.process_triggers USING btree (tenant_id, wait_key, definition_key, definition_version, kind, number);

create table process_waits (
  instance_id uuid not null,
  wait_key text not null,
  tenant_id uuid not null,
  constraint process_waits_pkey PRIMARY KEY (instance_id, wait_key),
  constraint process_waits_instance_id_fkey FOREIGN KEY (instance_id) REFERENCES process_instances(id)
);
CREATE INDEX process_waits_of_key ON public.process_waits USING btree (tenant_id, wait_key, instance_id);

create table project_config_revisions (
  id uuid not null,
  tenant_id uuid not null,
  project_id uuid not null,
  revision integer not null,
  config jsonb not null,
  validation jsonb not null,
  comment text default ''::text not null,
  created_by uuid not null,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  activated_at timestamp(3) with time zone,
  constraint project_config_revisions_pkey PRIMARY KEY (id),
  constraint project_config_revisions_project_id_revision_key UNIQUE (project_id, revision),
  constraint project_config_revisions_revision_check CHECK ((revision > 0)),
  constraint project_config_revisions_created_by_fkey FOREIGN KEY (created_by) REFERENCES principals(id),
  constraint project_config_revisions_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint project_config_revisions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX project_config_revisions_newest ON public.project_config_revisions USING btree (project_id, created_at DESC, id DESC);
CREATE TRIGGER project_config_revisions_immutable BEFORE UPDATE ON public.project_config_revisions FOR EACH ROW WHEN ((((((((((old.id IS DISTINCT FROM new.id) OR (old.tenant_id IS DISTINCT FROM new.tenant_id)) OR (old.project_id IS DISTINCT FROM new.project_id)) OR (old.revision IS DISTINCT FROM new.revision)) OR (old.config IS DISTINCT FROM new.config)) OR (old.validation IS DISTINCT FROM new.validation)) OR (old.comment IS DISTINCT FROM new.comment)) OR (old.created_by IS DISTINCT FROM new.created_by)) OR (old.created_at IS DISTINCT FROM new.created_at))) EXECUTE FUNCTION refuse_revision_change();
CREATE TRIGGER project_config_revisions_kept BEFORE DELETE ON public.project_config_revisions FOR EACH ROW EXECUTE FUNCTION refuse_revision_change();

create table project_templates (
  id uuid not null,
  tenant_id uuid not null,
  key text not null,
  version integer not null,
  display_name text not null,
  description text default ''::text not null,
  field_schema jsonb not null,
  lifecycle_schema jsonb not null,
  default_config jsonb not null,
  default_views jsonb not null,
  governance_schema jsonb not null,
  memory_defaults jsonb not null,
  status text default 'active'::text not null,
  created_by uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  package jsonb,
  package_key text generated always as ((package ->> 'key'::text)) stored,
  constraint project_templates_pkey PRIMARY KEY (id),
  constraint project_templates_tenant_id_key_version_key UNIQUE (tenant_id, key, version),
  constraint project_templates_status_check CHECK ((status = ANY (ARRAY['active'::text, 'deprecated'::text]))),
  constraint project_templates_created_by_fkey FOREIGN KEY (created_by) REFERENCES principals(id),
  constraint project_templates_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX project_templates_newest ON public.project_templates USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX project_templates_of_key ON public.project_templates USING btree (tenant_id, key, created_at DESC, id DESC);
CREATE INDEX project_templates_of_package ON public.project_templates USING btree (tenant_id, package_key, created_at DESC, id DESC) WHERE (package_key IS NOT NULL);
CREATE INDEX project_templates_of_status ON public.project_templates USING btree (tenant_id, status, created_at DESC, id DESC);
CREATE TRIGGER project_templates_link BEFORE INSERT ON public.project_templates FOR EACH ROW EXECUTE FUNCTION link_to_package('ProjectTemplate', 'key');

create table projects (
  id uuid not null,
  tenant_id uuid not null,
  workspace_id uuid not null,
  template_id uuid not null,
  template_key text not null,
  template_version integer not null,
  status_key text not null,
  system_status_category text not null,
  owner_principal_id uuid,
  start_date timestamp(3) with time zone,
  target_date timestamp(3) with time zone,
  custom_fields jsonb not null,
  settings jsonb not null,
  active_config_revision_id uuid,
  active_config_revision integer,
  status text default 'active'::text not null,
  version integer default 1 not null,
  created_by uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  archived_at timestamp(3) with time zone,
  constraint projects_pkey PRIMARY KEY (id),
  constraint projects_workspace_id_key UNIQUE (workspace_id),
  constraint projects_status_check CHECK ((status = ANY (ARRAY['active'::text, 'archived'::text]))),
  constraint projects_system_status_category_check CHECK ((system_status_category = ANY (ARRAY['planned'::text, 'active'::text, 'paused'::text, 'terminal_success'::text, 'terminal_cancelled'::text]))),
  constraint projects_active_config_revision_id_fkey FOREIGN KEY (active_config_revision_id) REFERENCES project_config_revisions(id),
  constraint projects_created_by_fkey FOREIGN KEY (created_by) REFERENCES principals(id),
  constraint projects_owner_principal_id_fkey FOREIGN KEY (owner_principal_id) REFERENCES principals(id),
  constraint projects_template_id_fkey FOREIGN KEY (template_id) REFERENCES project_templates(id),
  constraint projects_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint projects_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
);
CREATE INDEX projects_newest ON public.projects USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX projects_of_category ON public.projects USING btree (tenant_id, system_status_category, created_at DESC, id DESC);
CREATE INDEX projects_of_place ON public.projects USING btree (COALESCE(workspace_id, tenant_id), created_at DESC, id DESC);
CREATE INDEX projects_of_status ON public.projects USING btree (tenant_id, status, created_at DESC, id DESC);
CREATE INDEX projects_of_status_key ON public.projects USING btree (tenant_id, status_key, created_at DESC, id DESC);
CREATE INDEX projects_of_template ON public.projects USING btree (tenant_id, template_key, created_at DESC, id DESC);

create table queued_requirements (
  tenant_id uuid not null,
  token text not null,
  set_id uuid not null,
  position smallint not null
);
CREATE INDEX queued_requirements_by_token ON public.queued_requirements USING btree (tenant_id, token, set_id, "position");
CREATE INDEX queued_requirements_of_set ON public.queued_requirements USING btree (set_id);

create table refused_writes (
  tenant_id uuid not null,
  at timestamp(3) with time zone not null,
  principal_id uuid not null,
  workspace_id uuid,
  count bigint not null,
  constraint refused_writes_tenant_id_at_principal_id_workspace_id_key UNIQUE NULLS NOT DISTINCT (tenant_id, at, principal_id, workspace_id),
  constraint refused_writes_count_check CHECK ((count > 0))
);
CREATE INDEX refused_writes_old ON public.refused_writes USING btree (at);

create table requirement_items (
  set_id uuid not null,
  tenant_id uuid not null,
  position smallint not null,
  kind text not null,
  subject_id uuid not null,
  any_version_of text,
  token text generated always as (
CASE
    WHEN (any_version_of IS NULL) THEN ((kind || '/'::text) || (subject_id)::text)
    ELSE ('skills/'::text || any_version_of)
END) stored not null,
  constraint requirement_items_pkey PRIMARY KEY (set_id, "position"),
  constraint requirement_items_kind_check CHECK ((kind = ANY (ARRAY['role'::text, 'capability'::text, 'skill'::text]))),
  constraint requirement_items_set_id_fkey FOREIGN KEY (set_id) REFERENCES requirement_sets(id),
  constraint requirement_items_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX requirement_items_by_token ON public.requirement_items USING btree (tenant_id, token, set_id);

create table requirement_sets (
  id uuid not null,
  tenant_id uuid not null,
  workspace_id uuid,
  digest text not null,
  items integer not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint requirement_sets_pkey PRIMARY KEY (id),
  constraint requirement_sets_tenant_id_digest_key UNIQUE (tenant_id, digest),
  constraint requirement_sets_items_check CHECK (((items >= 1) AND (items <= 150))),
  constraint requirement_sets_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint requirement_sets_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
);

create table role_assignments (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid not null,
  role_id uuid not null,
  workspace_id uuid,
  created_at timestamp(3) with time zone default now() not null,
  constraint role_assignments_pkey PRIMARY KEY (id),
  constraint role_assignments_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint role_assignments_role_id_fkey FOREIGN KEY (role_id) REFERENCES roles(id),
  constraint role_assignments_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint role_assignments_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
);
CREATE INDEX role_assignments_in_workspace ON public.role_assignments USING btree (workspace_id, principal_id) WHERE (workspace_id IS NOT NULL);
CREATE INDEX role_assignments_newest ON public.role_assignments USING btree (principal_id, created_at DESC, id DESC);
CREATE INDEX role_assignments_of_role ON public.role_assignments USING btree (role_id, principal_id);
CREATE UNIQUE INDEX role_assignments_once ON public.role_assignments USING btree (principal_id, role_id, workspace_id) NULLS NOT DISTINCT;

create table roles (
  id uuid not null,
  tenant_id uuid not null,
  workspace_id uuid,
  slug text not null,
  name text not null,
  description text default ''::text not null,
  version integer default 1 not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  package jsonb,
  package_key text generated always as ((package ->> 'key'::text)) stored,
  constraint roles_pkey PRIMARY KEY (id),
  constraint roles_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint roles_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
);
CREATE INDEX roles_newest ON public.roles USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX roles_of_package ON public.roles USING btree (tenant_id, package_key, created_at DESC, id DESC) WHERE (package_key IS NOT NULL);
CREATE INDEX roles_of_place ON public.roles USING btree (COALESCE(workspace_id, tenant_id), created_at DESC, id DESC);
CREATE INDEX roles_of_workspace ON public.roles USING btree (workspace_id, created_at DESC, id DESC) WHERE (workspace_id IS NOT NULL);
CREATE UNIQUE INDEX roles_slug ON public.roles USING btree (tenant_id, workspace_id, slug) NULLS NOT DISTINCT;
CREATE TRIGGER roles_link BEFORE INSERT ON public.roles FOR EACH ROW WHEN ((new.workspace_id IS NULL)) EXECUTE FUNCTION link_to_package('Role', 'slug');
CREATE TRIGGER roles_renamed AFTER UPDATE OF slug ON public.roles FOR EACH ROW WHEN (((new.slug <> old.slug) AND (new.package IS NOT NULL))) EXECUTE FUNCTION rename_package_object('Role', 'slug');

create table rule_evaluations (
  id uuid not null,
  tenant_id uuid not null,
  workspace_id uuid,
  rule_id uuid not null,
  rule_version integer not null,
  trigger_ref text not null,
  trigger_event_id uuid,
  status text not null,
  result jsonb default '{}'::jsonb not null,
  evidence jsonb default '[]'::jsonb not null,
  skill_invocation_id uuid,
  created_task_ids uuid[] default '{}'::uuid[] not null,
  error jsonb,
  pending jsonb,
  chain_depth integer default 0 not null,
  failures integer default 0 not null,
  next_check_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  waits_for uuid[] default '{}'::uuid[] not null,
  constraint rule_evaluations_pkey PRIMARY KEY (id),
  constraint rule_evaluations_rule_id_trigger_ref_key UNIQUE (rule_id, trigger_ref),
  constraint rule_evaluations_check CHECK (((status = 'waiting'::text) >= (next_check_at IS NOT NULL))),
  constraint rule_evaluations_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'matched'::text, 'not_matched'::text, 'failed'::text, 'skipped'::text]))),
  constraint rule_evaluations_rule_id_fkey FOREIGN KEY (rule_id) REFERENCES rules(id),
  constraint rule_evaluations_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint rule_evaluations_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
);
CREATE INDEX rule_evaluations_due ON public.rule_evaluations USING btree (tenant_id, next_check_at, id) WHERE (next_check_at IS NOT NULL);
CREATE INDEX rule_evaluations_newest ON public.rule_evaluations USING btree (rule_id, created_at DESC, id DESC);
CREATE INDEX rule_evaluations_of_status ON public.rule_evaluations USING btree (rule_id, status, created_at DESC, id DESC);
CREATE INDEX rule_evaluations_old ON public.rule_evaluations USING btree (updated_at, id) WHERE (status <> 'waiting'::text);
CREATE INDEX rule_evaluations_wait_for ON public.rule_evaluations USING gin (waits_for) WHERE (next_check_at IS NOT NULL);
CREATE INDEX rule_evaluations_waiting ON public.rule_evaluations USING btree (rule_id) WHERE (next_check_at IS NOT NULL);

create table rule_touched_tasks (
  task_id uuid not null,
  tenant_id uuid not null,
  chain_depth integer not null,
  touched_at timestamp(3) with time zone default now() not null,
  constraint rule_touched_tasks_pkey PRIMARY KEY (task_id),
  constraint rule_touched_tasks_task_id_fkey FOREIGN KEY (task_id) REFERENCES tasks(id),
  constraint rule_touched_tasks_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX rule_touched_tasks_old ON public.rule_touched_tasks USING btree (touched_at);

create table rule_versions (
  rule_id uuid not null,
  version integer not null,
  tenant_id uuid not null,
  record jsonb not null,
  constraint rule_versions_pkey PRIMARY KEY (rule_id, version),
  constraint rule_versions_rule_id_fkey FOREIGN KEY (rule_id) REFERENCES rules(id),
  constraint rule_versions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table rule_work (
  tenant_id uuid not null,
  dedup_key text not null,
  task_id uuid,
  rule_id uuid,
  rule_version integer,
  looked_at timestamp(3) with time zone default now() not null,
  constraint rule_work_pkey PRIMARY KEY (tenant_id, dedup_key),
  constraint rule_work_rule_id_fkey FOREIGN KEY (rule_id) REFERENCES rules(id),
  constraint rule_work_task_id_fkey FOREIGN KEY (task_id) REFERENCES tasks(id),
  constraint rule_work_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX rule_work_old ON public.rule_work USING btree (looked_at);

create table rules (
  id uuid not null,
  tenant_id uuid not null,
  workspace_id uuid,
  goal_id uuid,
  key text not null,
  description text default ''::text not null,
  version integer default 1 not null,
  status text not null,
  trigger jsonb not null,
  trigger_kind text generated always as ((trigger ->> 'kind'::text)) stored not null,
  trigger_type text generated always as ((trigger ->> 'type'::text)) stored not null,
  condition jsonb default 'true'::jsonb not null,
  interpretation jsonb,
  action jsonb not null,
  authority jsonb,
  authority_principal_id uuid,
  enabled_at timestamp(3) with time zone,
  enabled_position bigint,
  next_run_at timestamp(3) with time zone,
  created_by uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  package jsonb,
  package_key text generated always as ((package ->> 'key'::text)) stored,
  identity_agent text,
  constraint rules_pkey PRIMARY KEY (id),
  constraint rules_check CHECK (((status = 'enabled'::text) <= ((authority IS NOT NULL) AND (enabled_at IS NOT NULL) AND (enabled_position IS NOT NULL)))),
  constraint rules_status_check CHECK ((status = ANY (ARRAY['enabled'::text, 'disabled'::text, 'archived'::text]))),
  constraint rules_authority_principal_id_fkey FOREIGN KEY (authority_principal_id) REFERENCES principals(id),
  constraint rules_created_by_fkey FOREIGN KEY (created_by) REFERENCES principals(id),
  constraint rules_goal_id_fkey FOREIGN KEY (goal_id) REFERENCES goals(id),
  constraint rules_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint rules_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
);
CREATE INDEX rules_due ON public.rules USING btree (tenant_id, next_run_at, id) WHERE (next_run_at IS NOT NULL);
CREATE INDEX rules_enabled ON public.rules USING btree (tenant_id, trigger_kind, trigger_type, id) WHERE (status = 'enabled'::text);
CREATE INDEX rules_newest ON public.rules USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX rules_of_package ON public.rules USING btree (tenant_id, package_key, created_at DESC, id DESC) WHERE (package_key IS NOT NULL);
CREATE INDEX rules_of_place ON public.rules USING btree (COALESCE(workspace_id, tenant_id), created_at DESC, id DESC);
CREATE UNIQUE INDEX rules_one_of_key ON public.rules USING btree (tenant_id, key) WHERE (status <> 'archived'::text);
CREATE TRIGGER rules_link BEFORE INSERT ON public.rules FOR EACH ROW EXECUTE FUNCTION link_to_package('WorkRule', 'key');

create table run_actions (
  id uuid not null,
  tenant_id uuid not null,
  run_id uuid not null,
  task_id uuid not null,
  principal_id uuid not null,
  session_id uuid not null,
  skill_id uuid,
  seq integer not null,
  action text not null,
  status text not null,
  external_reference text,
  metadata jsonb not null,
  data_bytes integer not null,
  input_tokens run_tally,
  output_tokens run_tally,
  cost_micros run_tally,
  currency text,
  started_at timestamp(3) with time zone default clock_timestamp() not null,
  finished_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint run_actions_pkey PRIMARY KEY (id),
  constraint run_actions_run_id_seq_key UNIQUE (run_id, seq),
  constraint run_actions_status_check CHECK ((status = ANY (ARRAY['started'::text, 'completed'::text, 'failed'::text]))),
  constraint run_actions_run_id_fkey FOREIGN KEY (run_id) REFERENCES runs(id)
);

create table run_cascades (
  message_id uuid not null,
  tenant_id uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  follows_relations boolean not null,
  constraint run_cascades_pkey PRIMARY KEY (message_id),
  constraint run_cascades_message_id_fkey FOREIGN KEY (message_id) REFERENCES run_control_messages(id),
  constraint run_cascades_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX run_cascades_oldest ON public.run_cascades USING btree (created_at, message_id);

create table run_control_messages (
  id uuid not null,
  tenant_id uuid not null,
  run_id uuid not null,
  task_id uuid not null,
  seq integer not null,
  operation control_operation not null,
  status control_status not null,
  causal_position text not null,
  directive text,
  reason text not null,
  safe_boundary text,
  idempotency_key text not null,
  requested_by_principal_id uuid not null,
  acknowledged_by_principal_id uuid,
  request_id text not null,
  correlation_id text not null,
  causation_id text,
  version integer default 1 not null,
  accepted_at timestamp(3) with time zone default clock_timestamp() not null,
  resolved_at timestamp(3) with time zone,
  constraint run_control_messages_pkey PRIMARY KEY (id),
  constraint run_control_messages_run_id_idempotency_key_key UNIQUE (run_id, idempotency_key),
  constraint run_control_messages_run_id_seq_key UNIQUE (run_id, seq),
  constraint run_control_messages_run_id_fkey FOREIGN KEY (run_id) REFERENCES runs(id),
  constraint run_control_messages_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX run_control_messages_open ON public.run_control_messages USING btree (run_id, seq) WHERE ((status)::text = 'accepted'::text);

create table runs (
  id uuid not null,
  tenant_id uuid not null,
  task_id uuid not null,
  claim_id uuid not null,
  principal_id uuid not null,
  session_id uuid not null,
  fencing_token bigint not null,
  attempt integer not null,
  status run_status default 'running'::text not null,
  started_at timestamp(3) with time zone default now() not null,
  finished_at timestamp(3) with time zone,
  input jsonb,
  output jsonb,
  failure_reason text,
  cancel_requested_at timestamp(3) with time zone,
  cancel_requested_by uuid,
  max_duration_seconds bigint,
  max_actions bigint,
  metadata jsonb default '{}'::jsonb not null,
  instructions_hash text,
  instructions_refs jsonb,
  agent_revision_id uuid,
  version integer default 1 not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  max_tokens run_tally,
  max_cost_micros run_tally,
  currency text,
  checkpoint_count integer default 0 not null,
  action_count integer default 0 not null,
  input_tokens run_tally default 0 not null,
  output_tokens run_tally default 0 not null,
  costs jsonb default '{}'::jsonb not null,
  last_progress_at timestamp(3) with time zone default now() not null,
  progress_timeout_seconds integer,
  stalls_at timestamp(3) with time zone,
  stalled_at timestamp(3) with time zone,
  cancel_applied_at timestamp(3) with time zone,
  child_handle_id uuid,
  constraint runs_pkey PRIMARY KEY (id),
  constraint runs_task_id_attempt_key UNIQUE (task_id, attempt),
  constraint runs_cancel_requested_by_fkey FOREIGN KEY (cancel_requested_by) REFERENCES principals(id),
  constraint runs_claim_id_fkey FOREIGN KEY (claim_id) REFERENCES claims(id)
) with (fillfactor=80);
CREATE INDEX runs_by_principal ON public.runs USING btree (principal_id, started_at DESC, id DESC);
CREATE INDEX runs_by_status ON public.runs USING btree (tenant_id, status, started_at DESC, id DESC);
CREATE INDEX runs_by_task ON public.runs USING btree (task_id, started_at DESC, id DESC);
CREATE INDEX runs_ended ON public.runs USING btree (tenant_id, finished_at, started_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX runs_newest ON public.runs USING btree (tenant_id, started_at DESC, id DESC);
CREATE INDEX runs_of_claim ON public.runs USING btree (claim_id, started_at DESC, id DESC);
CREATE INDEX runs_of_handle ON public.runs USING btree (child_handle_id) WHERE (child_handle_id IS NOT NULL);
CREATE INDEX runs_of_principal ON public.runs USING btree (principal_id, status, started_at DESC, id DESC);
CREATE UNIQUE INDEX runs_one_running ON public.runs USING btree (task_id) WHERE ((status)::text = 'running'::text);
CREATE INDEX runs_stalled ON public.runs USING btree (tenant_id, started_at DESC, id DESC) WHERE (((status)::text = 'running'::text) AND (stalled_at IS NOT NULL));
CREATE INDEX runs_to_stall ON public.runs USING btree (stalls_at, id) WHERE (((status)::text = 'running'::text) AND (stalled_at IS NULL) AND (stalls_at IS NOT NULL));
CREATE TRIGGER runs_note_over AFTER UPDATE OF status ON public.runs FOR EACH ROW WHEN ((((new.status)::text <> 'running'::text) AND ((old.status)::text = 'running'::text))) EXECUTE FUNCTION note_run_over();

create table sealed_secrets (
  tenant_id uuid not null,
  folder text not null,
  name text not null,
  key_id text not null,
  sealed bytea not null,
  updated_at timestamp(3) with time zone default now() not null,
  constraint sealed_secrets_pkey PRIMARY KEY (tenant_id, folder, name),
  constraint sealed_secrets_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table secret_leftovers (
  tenant_id uuid not null,
  folder text not null,
  name text not null,
  due_at timestamp(3) with time zone not null,
  is_kept boolean default false not null,
  constraint secret_leftovers_pkey PRIMARY KEY (tenant_id, folder, name),
  constraint secret_leftovers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX secret_leftovers_due ON public.secret_leftovers USING btree (due_at, tenant_id, folder, name);

create table sessions (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid not null,
  on_behalf_of_id uuid,
  delegation_id uuid,
  status text default 'active'::text not null,
  client_name text not null,
  client_version text default ''::text not null,
  control_level text not null,
  harness_type text,
  harness_version text,
  protocol_version text,
  hostname text,
  harness_capabilities text[],
  environment jsonb,
  metadata jsonb default '{}'::jsonb not null,
  started_at timestamp(3) with time zone default now() not null,
  heartbeat_at timestamp(3) with time zone default now() not null,
  lease_seconds integer default 300 not null,
  expires_at timestamp(3) with time zone not null,
  ended_at timestamp(3) with time zone,
  sweep_at timestamp(3) with time zone default now() not null,
  revocable_by text[],
  constraint sessions_pkey PRIMARY KEY (id),
  constraint sessions_status_check CHECK ((status = ANY (ARRAY['active'::text, 'stale'::text, 'closed'::text]))),
  constraint sessions_delegation_id_fkey FOREIGN KEY (delegation_id) REFERENCES delegations(id),
  constraint sessions_on_behalf_of_id_fkey FOREIGN KEY (on_behalf_of_id) REFERENCES principals(id),
  constraint sessions_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint sessions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
) with (fillfactor=50);
CREATE INDEX sessions_by_status ON public.sessions USING btree (tenant_id, status, started_at DESC, id DESC);
CREATE INDEX sessions_due ON public.sessions USING btree (sweep_at, id) WHERE (status = 'active'::text);
CREATE INDEX sessions_ever_of_principal ON public.sessions USING btree (principal_id, started_at DESC, id DESC);
CREATE INDEX sessions_ever_on_behalf ON public.sessions USING btree (on_behalf_of_id, started_at DESC, id DESC) WHERE (on_behalf_of_id IS NOT NULL);
CREATE INDEX sessions_newest ON public.sessions USING btree (tenant_id, started_at DESC, id DESC);
CREATE INDEX sessions_of_principal ON public.sessions USING btree (principal_id) WHERE (status <> 'closed'::text);
CREATE INDEX sessions_on_behalf ON public.sessions USING btree (on_behalf_of_id) WHERE (status <> 'closed'::text);
CREATE INDEX sessions_revocable ON public.sessions USING gin (revocable_by) WITH (fastupdate=off) WHERE (status = 'active'::text);
CREATE TRIGGER sessions_never_truncated BEFORE TRUNCATE ON public.sessions FOR EACH STATEMENT EXECUTE FUNCTION refuse_removal();
CREATE TRIGGER sessions_stay BEFORE DELETE OR UPDATE OF id ON public.sessions FOR EACH ROW EXECUTE FUNCTION refuse_removal();

create table skill_assignments (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid not null,
  skill_id uuid not null,
  metadata jsonb default '{}'::jsonb not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint skill_assignments_pkey PRIMARY KEY (id),
  constraint skill_assignments_principal_id_skill_id_key UNIQUE (principal_id, skill_id),
  constraint skill_assignments_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint skill_assignments_skill_id_fkey FOREIGN KEY (skill_id) REFERENCES skills(id),
  constraint skill_assignments_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX skill_assignments_newest ON public.skill_assignments USING btree (principal_id, created_at DESC, id DESC);
CREATE INDEX skill_assignments_of_skill ON public.skill_assignments USING btree (skill_id);
CREATE TRIGGER skill_assignments_note_taken AFTER DELETE ON public.skill_assignments FOR EACH ROW EXECUTE FUNCTION note_skill_taken();

create table skill_invocations (
  id uuid not null,
  tenant_id uuid not null,
  skill_id uuid not null,
  requested_by_kind text not null,
  requested_by_ref text not null,
  authority_principal_id uuid not null,
  credential jsonb not null,
  authorization_basis jsonb,
  idempotency_key text,
  inputs jsonb not null,
  task_id uuid,
  run_id uuid,
  workspace_id uuid,
  approval_id uuid,
  status text default 'pending'::text not null,
  attempt integer default 0 not null,
  max_attempts integer not null,
  timeout_seconds integer not null,
  backoff_seconds integer not null,
  protocol text not null,
  target text not null,
  audience text not null,
  available_at timestamp(3) with time zone default date_trunc('milliseconds'::text, clock_timestamp()) not null,
  output jsonb,
  error jsonb,
  cost jsonb,
  fencing_token integer default 0 not null,
  executor_principal_id uuid,
  executor_session_id uuid,
  lease_expires_at timestamp(3) with time zone,
  heartbeat_at timestamp(3) with time zone,
  artifact_id uuid,
  created_at timestamp(3) with time zone default clock_timestamp() not null,
  updated_at timestamp(3) with time zone default clock_timestamp() not null,
  started_at timestamp(3) with time zone,
  finished_at timestamp(3) with time zone,
  barred_principals uuid[] default '{}'::uuid[] not null,
  constraint skill_invocations_pkey PRIMARY KEY (id),
  constraint skill_invocations_check CHECK (((status = 'running'::text) = (lease_expires_at IS NOT NULL))),
  constraint skill_invocations_check1 CHECK (((finished_at IS NULL) = (status = ANY (ARRAY['pending'::text, 'running'::text])))),
  constraint skill_invocations_requested_by_kind_check CHECK ((requested_by_kind = ANY (ARRAY['principal'::text, 'run'::text, 'rule'::text, 'approval'::text, 'verification'::text, 'process'::text]))),
  constraint skill_invocations_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text]))),
  constraint skill_invocations_approval_id_fkey FOREIGN KEY (approval_id) REFERENCES approvals(id),
  constraint skill_invocations_authority_principal_id_fkey FOREIGN KEY (authority_principal_id) REFERENCES principals(id),
  constraint skill_invocations_executor_principal_id_fkey FOREIGN KEY (executor_principal_id) REFERENCES principals(id),
  constraint skill_invocations_executor_session_id_fkey FOREIGN KEY (executor_session_id) REFERENCES sessions(id),
  constraint skill_invocations_run_id_fkey FOREIGN KEY (run_id) REFERENCES runs(id),
  constraint skill_invocations_skill_id_fkey FOREIGN KEY (skill_id) REFERENCES skills(id),
  constraint skill_invocations_task_id_fkey FOREIGN KEY (task_id) REFERENCES tasks(id),
  constraint skill_invocations_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX skill_invocations_by_barred ON public.skill_invocations USING btree (tenant_id, protocol, target, audience, hash_array_extended(barred_principals, (0)::bigint), available_at, id) WHERE (status = 'pending'::text);
CREATE INDEX skill_invocations_by_task ON public.skill_invocations USING btree (task_id, created_at DESC, id DESC) WHERE (task_id IS NOT NULL);
CREATE INDEX skill_invocations_due ON public.skill_invocations USING btree (lease_expires_at, id) WHERE (status = 'running'::text);
CREATE INDEX skill_invocations_due_of_tenant ON public.skill_invocations USING btree (tenant_id, lease_expires_at) WHERE (status = 'running'::text);
CREATE INDEX skill_invocations_newest ON public.skill_invocations USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX skill_invocations_of_authority ON public.skill_invocations USING btree (authority_principal_id, id) WHERE (status = ANY (ARRAY['pending'::text, 'running'::text]));
CREATE INDEX skill_invocations_of_place ON public.skill_invocations USING btree (COALESCE(workspace_id, tenant_id), created_at DESC, id DESC) WHERE (task_id IS NULL);
CREATE INDEX skill_invocations_of_run ON public.skill_invocations USING btree (run_id, id) WHERE ((run_id IS NOT NULL) AND (status = ANY (ARRAY['pending'::text, 'running'::text])));
CREATE INDEX skill_invocations_of_skill ON public.skill_invocations USING btree (skill_id, id) WHERE (status = ANY (ARRAY['pending'::text, 'running'::text]));
CREATE INDEX skill_invocations_of_task ON public.skill_invocations USING btree (task_id, id) WHERE ((task_id IS NOT NULL) AND (status = ANY (ARRAY['pending'::text, 'running'::text])));
CREATE INDEX skill_invocations_old ON public.skill_invocations USING btree (finished_at, id) WHERE ((finished_at IS NOT NULL) AND (approval_id IS NULL));
CREATE UNIQUE INDEX skill_invocations_one_execution ON public.skill_invocations USING btree (run_id) WHERE ((run_id IS NOT NULL) AND ((authorization_basis ->> 'kind'::text) = 'execution'::text));
CREATE UNIQUE INDEX skill_invocations_one_for_approval ON public.skill_invocations USING btree (approval_id, skill_id) WHERE (approval_id IS NOT NULL);
CREATE UNIQUE INDEX skill_invocations_one_key ON public.skill_invocations USING btree (authority_principal_id, ((requested_by_kind = ANY (ARRAY['principal'::text, 'run'::text]))), idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX skill_invocations_queue ON public.skill_invocations USING btree (tenant_id, protocol, target, audience, available_at, id) WHERE (status = 'pending'::text);
CREATE INDEX skill_invocations_queue_of_place ON public.skill_invocations USING btree (COALESCE(workspace_id, tenant_id), protocol, target, audience, available_at, id) WHERE (status = 'pending'::text);

create table skills (
  id uuid not null,
  tenant_id uuid not null,
  name text not null,
  version text not null,
  description text default ''::text not null,
  protocol text not null,
  config jsonb default '{}'::jsonb not null,
  input_schema jsonb,
  output_schema jsonb,
  side_effects text,
  risk_level text,
  contract jsonb,
  status text default 'active'::text not null,
  row_version integer default 1 not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  target text default ''::text not null,
  audience text default ''::text not null,
  package jsonb,
  package_key text generated always as ((package ->> 'key'::text)) stored,
  constraint skills_pkey PRIMARY KEY (id),
  constraint skills_tenant_id_name_version_key UNIQUE (tenant_id, name, version),
  constraint skills_protocol_check CHECK ((protocol = ANY (ARRAY['mcp'::text, 'http'::text, 'local'::text, 'opencode'::text, 'custom'::text]))),
  constraint skills_risk_level_check CHECK ((risk_level = ANY (ARRAY['low'::text, 'medium'::text, 'high'::text]))),
  constraint skills_side_effects_check CHECK ((side_effects = ANY (ARRAY['none'::text, 'external_read'::text, 'external_write'::text]))),
  constraint skills_status_check CHECK ((status = ANY (ARRAY['active'::text, 'deprecated'::text, 'disabled'::text]))),
  constraint skills_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX skills_catalog ON public.skills USING btree (tenant_id, id) INCLUDE (row_version, status);
CREATE INDEX skills_newest ON public.skills USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX skills_of_name ON public.skills USING btree (tenant_id, name, created_at DESC, id DESC);
CREATE INDEX skills_of_package ON public.skills USING btree (tenant_id, package_key, created_at DESC, id DESC) WHERE (package_key IS NOT NULL);
CREATE INDEX skills_of_status ON public.skills USING btree (tenant_id, status, created_at DESC, id DESC);
CREATE TRIGGER skills_link BEFORE INSERT ON public.skills FOR EACH ROW EXECUTE FUNCTION link_to_package('Skill', 'name');
CREATE TRIGGER skills_note AFTER UPDATE OF status, target, audience ON public.skills FOR EACH ROW WHEN ((((new.status = 'disabled'::text) AND (old.status <> 'disabled'::text)) OR (new.target <> old.target) OR (new.audience <> old.audience))) EXECUTE FUNCTION note_skill_change();

create table task_addressees (
  task_id uuid not null,
  tenant_id uuid not null,
  principal_id uuid,
  agent_key text,
  role_id uuid,
  constraint task_addressees_pkey PRIMARY KEY (task_id),
  constraint task_addressees_check CHECK ((num_nonnulls(principal_id, agent_key, role_id) <= 1)),
  constraint task_addressees_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint task_addressees_role_id_fkey FOREIGN KEY (role_id) REFERENCES roles(id),
  constraint task_addressees_task_id_fkey FOREIGN KEY (task_id) REFERENCES tasks(id),
  constraint task_addressees_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX task_addressees_of_tenant ON public.task_addressees USING btree (tenant_id);
CREATE TRIGGER task_addressees_queue AFTER UPDATE ON public.task_addressees FOR EACH ROW WHEN ((((old.principal_id IS DISTINCT FROM new.principal_id) OR (old.agent_key IS DISTINCT FROM new.agent_key)) OR (old.role_id IS DISTINCT FROM new.role_id))) EXECUTE FUNCTION queue_for_addressee();

create table task_relations (
  id uuid not null,
  tenant_id uuid not null,
  from_task_id uuid not null,
  to_task_id uuid not null,
  type text not null,
  waiting_task_id uuid generated always as (
CASE type
    WHEN 'depends_on'::text THEN from_task_id
    WHEN 'blocks'::text THEN to_task_id
    ELSE NULL::uuid
END) stored,
  prerequisite_task_id uuid generated always as (
CASE type
    WHEN 'depends_on'::text THEN to_task_id
    WHEN 'blocks'::text THEN from_task_id
    ELSE NULL::uuid
END) stored,
  created_by uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint task_relations_pkey PRIMARY KEY (id),
  constraint task_relations_from_task_id_to_task_id_type_key UNIQUE (from_task_id, to_task_id, type),
  constraint task_relations_check CHECK ((from_task_id <> to_task_id)),
  constraint task_relations_type_check CHECK ((type = ANY (ARRAY['parent'::text, 'blocks'::text, 'depends_on'::text, 'spawned_by'::text, 'related_to'::text]))),
  constraint task_relations_created_by_fkey FOREIGN KEY (created_by) REFERENCES principals(id),
  constraint task_relations_from_task_id_fkey FOREIGN KEY (from_task_id) REFERENCES tasks(id),
  constraint task_relations_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint task_relations_to_task_id_fkey FOREIGN KEY (to_task_id) REFERENCES tasks(id)
);
CREATE INDEX task_relations_prerequisite ON public.task_relations USING btree (prerequisite_task_id) WHERE (prerequisite_task_id IS NOT NULL);
CREATE INDEX task_relations_to ON public.task_relations USING btree (to_task_id, type);
CREATE INDEX task_relations_waiting ON public.task_relations USING btree (waiting_task_id, prerequisite_task_id) WHERE (waiting_task_id IS NOT NULL);
CREATE TRIGGER task_relations_count_added AFTER INSERT ON public.task_relations FOR EACH ROW WHEN ((new.prerequisite_task_id IS NOT NULL)) EXECUTE FUNCTION count_prerequisite();
CREATE TRIGGER task_relations_count_removed AFTER DELETE ON public.task_relations FOR EACH ROW WHEN ((old.prerequisite_task_id IS NOT NULL)) EXECUTE FUNCTION count_prerequisite();
CREATE TRIGGER task_relations_lock_source BEFORE INSERT ON public.task_relations FOR EACH ROW WHEN ((new.type <> 'related_to'::text)) EXECUTE FUNCTION lock_source_of_inputs();
CREATE TRIGGER task_relations_note_inputs_added AFTER INSERT ON public.task_relations FOR EACH ROW WHEN ((new.type <> 'related_to'::text)) EXECUTE FUNCTION note_inputs_of_relation();
CREATE TRIGGER task_relations_note_inputs_removed AFTER DELETE ON public.task_relations FOR EACH ROW WHEN ((old.type <> 'related_to'::text)) EXECUTE FUNCTION note_inputs_of_relation();
CREATE TRIGGER task_relations_take_turn AFTER INSERT ON public.task_relations FOR EACH ROW WHEN ((new.type = 'parent'::text)) EXECUTE FUNCTION take_turn();

create table task_search (
  task_id uuid not null,
  tenant_id uuid not null,
  created_at timestamp(3) with time zone not null,
  bucket integer not null,
  words text not null,
  constraint task_search_pkey PRIMARY KEY (task_id),
  constraint task_search_task_id_fkey1 FOREIGN KEY (task_id) REFERENCES tasks(id) ON DELETE CASCADE
);
CREATE INDEX task_search_of_bucket ON public.task_search USING btree (tenant_id, bucket, created_at);
CREATE INDEX task_search_tokens ON public.task_search USING gin (task_tokens(tenant_id, bucket, words) COLLATE "C") WITH (gin_pending_list_limit='1024');

create table task_turns (
  parent_id uuid not null,
  last_turn_at timestamp(3) with time zone not null,
  constraint task_turns_pkey PRIMARY KEY (parent_id)
);

create table task_type_statuses (
  tenant_id uuid not null,
  key text not null,
  category task_category not null,
  type_id uuid not null,
  constraint task_type_statuses_pkey PRIMARY KEY (tenant_id, key, category, type_id),
  constraint task_type_statuses_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint task_type_statuses_type_id_fkey FOREIGN KEY (type_id) REFERENCES task_types(id)
);

create table task_types (
  id uuid not null,
  tenant_id uuid not null,
  key text not null,
  version integer not null,
  display_name text not null,
  description text default ''::text not null,
  field_schema jsonb default '{}'::jsonb not null,
  lifecycle_schema jsonb not null,
  claim_status text,
  claim_category text,
  claim_from text[] default '{}'::text[] not null,
  release_status text,
  release_category text,
  execution jsonb,
  approval_schema jsonb default '{}'::jsonb not null,
  context_schema jsonb default '{}'::jsonb not null,
  completion_schema jsonb default '{}'::jsonb not null,
  artifact_schema jsonb default '{}'::jsonb not null,
  instructions text default ''::text not null,
  acceptance jsonb default '[]'::jsonb not null,
  status text default 'active'::text not null,
  created_by uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  package jsonb,
  package_key text generated always as ((package ->> 'key'::text)) stored,
  claimable_blocked text[] default '{}'::text[] not null,
  attempts_max integer,
  holds_start boolean default false not null,
  constraint task_types_pkey PRIMARY KEY (id),
  constraint task_types_tenant_id_key_version_key UNIQUE (tenant_id, key, version),
  constraint task_types_status_check CHECK ((status = ANY (ARRAY['active'::text, 'deprecated'::text]))),
  constraint task_types_created_by_fkey FOREIGN KEY (created_by) REFERENCES principals(id),
  constraint task_types_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX task_types_newest ON public.task_types USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX task_types_of_package ON public.task_types USING btree (tenant_id, package_key, created_at DESC, id DESC) WHERE (package_key IS NOT NULL);
CREATE INDEX task_types_of_status ON public.task_types USING btree (tenant_id, status, created_at DESC, id DESC);
CREATE TRIGGER task_types_link BEFORE INSERT ON public.task_types FOR EACH ROW EXECUTE FUNCTION link_to_package('TaskType', 'key');
CREATE TRIGGER task_types_note_statuses AFTER INSERT ON public.task_types FOR EACH ROW EXECUTE FUNCTION note_type_statuses();

create table tasks (
  id uuid not null,
  tenant_id uuid not null,
  public_number bigint not null,
  public_id text generated always as (('TASK-'::text || lpad((public_number)::text, GREATEST(6, length((public_number)::text)), '0'::text))) stored not null,
  workspace_id uuid,
  type_id uuid not null,
  title text not null,
  description text default ''::text not null,
  status text not null,
  category task_category not null,
  priority task_priority not null,
  owner_id uuid,
  assignee_id uuid,
  custom_fields jsonb default '{}'::jsonb not null,
  start_date timestamp(3) with time zone,
  due_date timestamp(3) with time zone,
  goal_id uuid,
  origin jsonb not null,
  acceptance jsonb default '[]'::jsonb not null,
  evidence jsonb default '[]'::jsonb not null,
  version integer default 1 not null,
  claim_epoch bigint default 0 not null,
  active_claim_id uuid,
  lease_expires_at timestamp(3) with time zone,
  open_prerequisites prerequisite_count default 0 not null,
  created_by uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  completed_at timestamp(3) with time zone,
  pending_gates prerequisite_count default 0 not null,
  open_verification_id uuid,
  is_restricted boolean default false not null,
  verification jsonb,
  child_handle_id uuid,
  requirement_set_id uuid,
  turn_at timestamp(3) with time zone default now() not null,
  lacks_input boolean default false not null,
  is_addressed boolean default false not null,
  requirement_authors jsonb default '{}'::jsonb not null,
  starts_at timestamp(3) with time zone,
  retry_at timestamp(3) with time zone,
  available_at timestamp(3) with time zone,
  failed_attempts integer default 0 not null,
  constraint tasks_pkey PRIMARY KEY (id),
  constraint tasks_tenant_id_public_number_key UNIQUE (tenant_id, public_number),
  constraint tasks_check CHECK (((active_claim_id IS NULL) = (lease_expires_at IS NULL))),
  constraint tasks_assignee_id_fkey FOREIGN KEY (assignee_id) REFERENCES principals(id),
  constraint tasks_created_by_fkey FOREIGN KEY (created_by) REFERENCES principals(id),
  constraint tasks_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES principals(id),
  constraint tasks_requirement_set_id_fkey FOREIGN KEY (requirement_set_id) REFERENCES requirement_sets(id),
  constraint tasks_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint tasks_type_id_fkey FOREIGN KEY (type_id) REFERENCES task_types(id)
) with (fillfactor=50);
CREATE INDEX tasks_by_due ON public.tasks USING btree (tenant_id, COALESCE(due_date, 'infinity'::timestamp with time zone), id);
CREATE INDEX tasks_by_start ON public.tasks USING btree (tenant_id, COALESCE(start_date, 'infinity'::timestamp with time zone), id);
CREATE INDEX tasks_completed ON public.tasks USING btree (tenant_id, completed_at) WHERE (completed_at IS NOT NULL);
CREATE INDEX tasks_newest ON public.tasks USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX tasks_of_assignee ON public.tasks USING btree (tenant_id, assignee_id, created_at DESC, id DESC) WHERE (assignee_id IS NOT NULL);
CREATE INDEX tasks_of_category ON public.tasks USING btree (tenant_id, category, created_at DESC, id DESC);
CREATE INDEX tasks_of_goal ON public.tasks USING btree (tenant_id, goal_id, created_at DESC, id DESC) WHERE (goal_id IS NOT NULL);
CREATE INDEX tasks_of_owner ON public.tasks USING btree (tenant_id, owner_id, created_at DESC, id DESC) WHERE (owner_id IS NOT NULL);
CREATE INDEX tasks_of_place ON public.tasks USING btree (COALESCE(workspace_id, tenant_id), created_at DESC, id DESC);
CREATE INDEX tasks_of_priority ON public.tasks USING btree (tenant_id, priority, created_at DESC, id DESC);
CREATE INDEX tasks_of_type ON public.tasks USING btree (tenant_id, type_id, created_at DESC, id DESC);
CREATE TRIGGER tasks_index_words_added AFTER INSERT ON public.tasks FOR EACH ROW EXECUTE FUNCTION index_task_words();
CREATE TRIGGER tasks_index_words_changed AFTER UPDATE OF title, description ON public.tasks FOR EACH ROW WHEN (((old.title <> new.title) OR (old.description <> new.description))) EXECUTE FUNCTION index_task_words();
CREATE TRIGGER tasks_never_truncated BEFORE TRUNCATE ON public.tasks FOR EACH STATEMENT EXECUTE FUNCTION refuse_removal();
CREATE TRIGGER tasks_note_availability BEFORE UPDATE OF start_date, workspace_id, type_id, starts_at, retry_at, failed_attempts, category, status ON public.tasks FOR EACH ROW WHEN (((((new.failed_attempts > 0) OR (new.retry_at IS NOT NULL)) AND (((new.category)::text ~~ 'terminal%'::text) OR ((new.category)::text <> (old.category)::text) OR (((new.category)::text = 'blocked'::text) AND (new.status <> old.status)))) OR (old.failed_attempts <> new.failed_attempts) OR (old.retry_at IS DISTINCT FROM new.retry_at) OR (old.starts_at IS DISTINCT FROM new.starts_at) OR (old.start_date IS DISTINCT FROM new.start_date) OR ((new.start_date IS NOT NULL) AND ((old.workspace_id IS DISTINCT FROM new.workspace_id) OR (old.type_id <> new.type_id))))) EXECUTE FUNCTION note_availability();
CREATE TRIGGER tasks_note_inputs BEFORE INSERT ON public.tasks FOR EACH ROW WHEN (new.is_restricted) EXECUTE FUNCTION note_inputs_of_new_task();
CREATE TRIGGER tasks_note_inputs_of_type AFTER UPDATE OF type_id ON public.tasks FOR EACH ROW WHEN ((old.type_id <> new.type_id)) EXECUTE FUNCTION note_inputs_of_new_type();
CREATE TRIGGER tasks_note_over AFTER UPDATE OF category ON public.tasks FOR EACH ROW WHEN ((((new.category)::text ~~ 'terminal%'::text) AND ((old.category)::text !~~ 'terminal%'::text))) EXECUTE FUNCTION note_task_over();
CREATE TRIGGER tasks_note_start BEFORE INSERT ON public.tasks FOR EACH ROW WHEN ((new.start_date IS NOT NULL)) EXECUTE FUNCTION note_availability();
CREATE TRIGGER tasks_queue_added AFTER INSERT ON public.tasks FOR EACH ROW EXECUTE FUNCTION queue_task();
CREATE TRIGGER tasks_queue_changed AFTER UPDATE OF category, status, type_id, open_prerequisites, pending_gates, open_verification_id, priority, assignee_id, workspace_id, requirement_set_id, turn_at, active_claim_id, lacks_input, is_addressed, start_date, starts_at, retry_at, failed_attempts ON public.tasks FOR EACH ROW WHEN ((((old.active_claim_id IS NOT NULL) AND (new.active_claim_id IS NULL)) OR (((old.category)::text ~~ 'terminal%'::text) <> ((new.category)::text ~~ 'terminal%'::text)) OR ((((old.category)::text = 'blocked'::text) OR ((new.category)::text = 'blocked'::text)) AND (((old.category)::text <> (new.category)::text) OR (old.status <> new.status) OR (old.type_id <> new.type_id))) OR (((old.open_prerequisites)::integer = 0) <> ((new.open_prerequisites)::integer = 0)) OR (((old.pending_gates)::integer = 0) <> ((new.pending_gates)::integer = 0)) OR ((old.open_verification_id IS NULL) <> (new.open_verification_id IS NULL)) OR (old.lacks_input <> new.lacks_input) OR ((old.priority)::smallint <> (new.priority)::smallint) OR (old.turn_at <> new.turn_at) OR (old.is_addressed <> new.is_addressed) OR (old.available_at IS DISTINCT FROM new.available_at) OR (old.assignee_id IS DISTINCT FROM new.assignee_id) OR (old.workspace_id IS DISTINCT FROM new.workspace_id) OR (old.requirement_set_id IS DISTINCT FROM new.requirement_set_id))) EXECUTE FUNCTION queue_task();
CREATE TRIGGER tasks_settle_prerequisite AFTER UPDATE OF category ON public.tasks FOR EACH ROW WHEN ((((old.category)::text = 'terminal_success'::text) <> ((new.category)::text = 'terminal_success'::text))) EXECUTE FUNCTION settle_prerequisite();
CREATE TRIGGER tasks_stay BEFORE DELETE OR UPDATE OF id ON public.tasks FOR EACH ROW EXECUTE FUNCTION refuse_removal();

create table tenants (
  id uuid not null,
  slug text not null,
  name text not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  core_principal_id uuid not null,
  constraint tenants_pkey PRIMARY KEY (id),
  constraint tenants_slug_key UNIQUE (slug),
  constraint tenants_core_principal_id_fkey FOREIGN KEY (core_principal_id) REFERENCES principals(id)
);
CREATE TRIGGER tenants_never_truncated BEFORE TRUNCATE ON public.tenants FOR EACH STATEMENT EXECUTE FUNCTION refuse_journal_change();
CREATE TRIGGER tenants_of_the_journal BEFORE DELETE OR UPDATE OF id ON public.tenants FOR EACH ROW EXECUTE FUNCTION refuse_journal_change();

create table verifications (
  id uuid not null,
  tenant_id uuid not null,
  task_id uuid not null,
  authority_principal_id uuid not null,
  credential jsonb not null,
  attempt integer not null,
  status text default 'running'::text not null,
  trigger text not null,
  trigger_ref text,
  checks jsonb not null,
  results jsonb default '[]'::jsonb not null,
  cursor integer default 0 not null,
  skill_invocation_id uuid,
  approval_id uuid,
  owns_approval boolean default false not null,
  waiting_since timestamp(3) with time zone,
  opened_position bigint default journal_position() not null,
  next_check_at timestamp(3) with time zone,
  started_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  finished_at timestamp(3) with time zone,
  requester_id uuid,
  not_counted jsonb default '[]'::jsonb not null,
  constraint verifications_pkey PRIMARY KEY (id),
  constraint verifications_task_id_attempt_key UNIQUE (task_id, attempt),
  constraint verifications_check CHECK (((finished_at IS NULL) = (status = ANY (ARRAY['running'::text, 'waiting_human'::text, 'waiting_external'::text])))),
  constraint verifications_status_check CHECK ((status = ANY (ARRAY['running'::text, 'waiting_human'::text, 'waiting_external'::text, 'passed'::text, 'failed'::text, 'cancelled'::text]))),
  constraint verifications_trigger_check CHECK ((trigger = ANY (ARRAY['complete'::text, 'run'::text, 'approval'::text, 'rule'::text]))),
  constraint verifications_authority_principal_id_fkey FOREIGN KEY (authority_principal_id) REFERENCES principals(id),
  constraint verifications_task_id_fkey FOREIGN KEY (task_id) REFERENCES tasks(id),
  constraint verifications_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX verifications_due ON public.verifications USING btree (next_check_at, id) WHERE (next_check_at IS NOT NULL);
CREATE INDEX verifications_of_invocation ON public.verifications USING btree (skill_invocation_id) WHERE ((skill_invocation_id IS NOT NULL) AND (finished_at IS NULL));
CREATE UNIQUE INDEX verifications_one_open ON public.verifications USING btree (task_id) WHERE (finished_at IS NULL);
CREATE TRIGGER verifications_note AFTER INSERT OR UPDATE OF status ON public.verifications FOR EACH ROW EXECUTE FUNCTION note_verification();

create table views (
  id uuid not null,
  tenant_id uuid not null,
  key text not null,
  version integer default 1 not null,
  status text default 'active'::text not null,
  spec json not null,
  title text generated always as ((spec ->> 'title'::text)) stored not null,
  titles json generated always as ((spec -> 'titles'::text)) stored not null,
  spec_hash text not null,
  created_by uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  constraint views_pkey PRIMARY KEY (tenant_id, key),
  constraint views_id_key UNIQUE (id),
  constraint views_status_check CHECK ((status = ANY (ARRAY['active'::text, 'retired'::text]))),
  constraint views_created_by_fkey FOREIGN KEY (created_by) REFERENCES principals(id),
  constraint views_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table work_offers (
  id bigint generated always as identity not null,
  tenant_id uuid not null,
  workspace_id uuid not null,
  after_created_at timestamp(3) with time zone,
  after_id uuid,
  constraint work_offers_pkey PRIMARY KEY (id)
);

create table work_queue (
  task_id uuid not null,
  tenant_id uuid not null,
  set_id uuid not null,
  workspace_id uuid,
  assignee_id uuid,
  priority smallint not null,
  created_at timestamp(3) with time zone not null,
  turn_at timestamp(3) with time zone not null,
  due_at timestamp(3) with time zone,
  constraint work_queue_pkey PRIMARY KEY (task_id)
) with (fillfactor=80, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000);
CREATE INDEX work_queue_by_turn ON public.work_queue USING btree (tenant_id, set_id, priority, turn_at, task_id);
CREATE INDEX work_queue_due ON public.work_queue USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX work_queue_due_of_tenant ON public.work_queue USING btree (tenant_id, due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX work_queue_in_order ON public.work_queue USING btree (tenant_id, set_id, priority, created_at, task_id);
CREATE INDEX work_queue_of_assignee ON public.work_queue USING btree (assignee_id, set_id, priority, created_at, task_id) WHERE (assignee_id IS NOT NULL);
CREATE INDEX work_queue_of_assignee_in_place ON public.work_queue USING btree (assignee_id, COALESCE(workspace_id, tenant_id), set_id, priority, created_at, task_id) WHERE (assignee_id IS NOT NULL);
CREATE INDEX work_queue_of_place ON public.work_queue USING btree (COALESCE(workspace_id, tenant_id), set_id, priority, created_at, task_id);

create table workspace_knowledge_packs (
  workspace_id uuid not null,
  tenant_id uuid not null,
  packs text[] not null,
  strict boolean not null,
  updated_at timestamp(3) with time zone default clock_timestamp() not null,
  constraint workspace_knowledge_packs_pkey PRIMARY KEY (workspace_id),
  constraint workspace_knowledge_packs_packs_check CHECK ((cardinality(packs) <= 64)),
  constraint workspace_knowledge_packs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint workspace_knowledge_packs_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
);

create table workspace_members (
  id uuid not null,
  tenant_id uuid not null,
  workspace_id uuid not null,
  principal_id uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint workspace_members_pkey PRIMARY KEY (id),
  constraint workspace_members_workspace_id_principal_id_key UNIQUE (workspace_id, principal_id),
  constraint workspace_members_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint workspace_members_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint workspace_members_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id)
);
CREATE INDEX workspace_members_newest ON public.workspace_members USING btree (workspace_id, created_at DESC, id DESC);
CREATE INDEX workspace_members_of_principal ON public.workspace_members USING btree (principal_id);

create table workspace_types (
  id uuid not null,
  tenant_id uuid not null,
  key text not null,
  display_name text not null,
  description text default ''::text not null,
  field_schema jsonb default '{}'::jsonb not null,
  allowed_child_types text[] default '{*}'::text[] not null,
  is_system boolean default false not null,
  status text default 'active'::text not null,
  version integer default 1 not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  package jsonb,
  package_key text generated always as ((package ->> 'key'::text)) stored,
  constraint workspace_types_pkey PRIMARY KEY (id),
  constraint workspace_types_tenant_id_key_key UNIQUE (tenant_id, key),
  constraint workspace_types_status_check CHECK ((status = ANY (ARRAY['active'::text, 'archived'::text]))),
  constraint workspace_types_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX workspace_types_newest ON public.workspace_types USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX workspace_types_of_package ON public.workspace_types USING btree (tenant_id, package_key, created_at DESC, id DESC) WHERE (package_key IS NOT NULL);
CREATE INDEX workspace_types_of_status ON public.workspace_types USING btree (tenant_id, status, created_at DESC, id DESC);
CREATE UNIQUE INDEX workspace_types_system ON public.workspace_types USING btree (tenant_id) WHERE is_system;
CREATE TRIGGER workspace_types_link BEFORE INSERT ON public.workspace_types FOR EACH ROW EXECUTE FUNCTION link_to_package('WorkspaceType', 'key');

create table workspaces (
  id uuid not null,
  tenant_id uuid not null,
  parent_id uuid,
  path uuid[] not null,
  type_id uuid not null,
  slug text not null,
  name text not null,
  description text default ''::text not null,
  custom_fields jsonb default '{}'::jsonb not null,
  task_types text[],
  status text default 'active'::text not null,
  version integer default 1 not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  project_id uuid,
  calendar_key text,
  constraint workspaces_pkey PRIMARY KEY (id),
  constraint workspaces_check CHECK ((((cardinality(path) >= 1) AND (cardinality(path) <= 64)) AND (path[cardinality(path)] = id))),
  constraint workspaces_status_check CHECK ((status = ANY (ARRAY['active'::text, 'archived'::text]))),
  constraint workspaces_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES workspaces(id),
  constraint workspaces_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint workspaces_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint workspaces_type_id_fkey FOREIGN KEY (type_id) REFERENCES workspace_types(id)
);
CREATE INDEX workspaces_below ON public.workspaces USING gin (path) WITH (fastupdate=off);
CREATE INDEX workspaces_by_parent ON public.workspaces USING btree (parent_id, id) WHERE (parent_id IS NOT NULL);
CREATE INDEX workspaces_newest ON public.workspaces USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX workspaces_of_calendar ON public.workspaces USING btree (tenant_id, calendar_key) WHERE (calendar_key IS NOT NULL);
CREATE INDEX workspaces_of_parent ON public.workspaces USING btree (tenant_id, parent_id, created_at DESC, id DESC);
CREATE INDEX workspaces_of_project ON public.workspaces USING btree (project_id) WHERE (project_id IS NOT NULL);
CREATE INDEX workspaces_of_slug ON public.workspaces USING hash ((((tenant_id)::text || slug)));
CREATE INDEX workspaces_of_status ON public.workspaces USING btree (tenant_id, status, created_at DESC, id DESC);
CREATE INDEX workspaces_of_type ON public.workspaces USING btree (type_id) WHERE (status = 'active'::text);
CREATE UNIQUE INDEX workspaces_siblings ON public.workspaces USING btree (tenant_id, parent_id, slug) NULLS NOT DISTINCT;
CREATE TRIGGER workspaces_note_zone AFTER UPDATE OF calendar_key, path ON public.workspaces FOR EACH ROW WHEN (((old.calendar_key IS DISTINCT FROM new.calendar_key) OR (old.path <> new.path))) EXECUTE FUNCTION note_zone_of_workspace();

create table zone_changes (
  id bigint generated always as identity not null,
  tenant_id uuid not null,
  seen_xid bigint,
  after_start timestamp(3) with time zone,
  after_id uuid,
  constraint zone_changes_pkey PRIMARY KEY (id)
);

CREATE OR REPLACE FUNCTION public.add_cost(costs jsonb, currency text, amount bigint)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
RETURN CASE WHEN ((currency IS NULL) OR (amount IS NULL)) THEN costs ELSE (costs || jsonb_build_object(currency, LEAST((COALESCE(((costs ->> currency))::numeric, (0)::numeric) + (amount)::numeric), ('9007199254740991'::bigint)::numeric))) END;

CREATE OR REPLACE FUNCTION public.agent_set(tenant uuid, agent_key text)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select md5('agent/' || tenant || '/' || agent_key)::uuid
$function$;

CREATE OR REPLACE FUNCTION public.agents_at_work(tenant uuid, place uuid, place_path uuid[], place_project uuid, type_key text, viewer uuid)
 RETURNS TABLE(principal_id uuid, names_type boolean)
 LANGUAGE sql
 STABLE
AS $function$
  select a.principal_id, a.work -> 'taskTypes' ? type_key
  from agents a join iam_bindings b on b.id = a.binding_id
  where a.tenant_id = tenant and a.status = 'active' and a.state = 'running' and b.status = 'active'
    and a.work is not null
    and (coalesce(a.work -> 'taskTypes', '[]') = '[]' or a.work -> 'taskTypes' ? type_key)
    and (not a.work ? 'workspace' or a.workspace_id = place)
    and (not a.work ? 'project' or exists (
      select from projects p
      where p.id = (a.work ->> 'project')::uuid and p.tenant_id = tenant and p.workspace_id = any (place_path)
        and (p.id = place_project or (a.work -> 'includeSubprojects')::boolean)))
    and (viewer is null or a.workspace_id is null or sees_workspace(viewer, a.workspace_id))
$function$;

CREATE OR REPLACE FUNCTION public.assigned_set(unassigned uuid)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select md5('assigned/' || unassigned)::uuid
$function$;

CREATE OR REPLACE FUNCTION public.attempts_are_over()
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select timestamptz '9999-12-31 23:59:59.999Z'
$function$;

CREATE OR REPLACE FUNCTION public.barred_from_judging(verification uuid)
 RETURNS uuid[]
 LANGUAGE sql
 STABLE
AS $function$
  select array(
    select holder_id from claims c join verifications v on v.task_id = c.task_id where v.id = verification
    union
    select authority_principal_id from verifications where id = verification and credential ->> 'kind' <> 'human'
    order by 1)
$function$;

CREATE OR REPLACE FUNCTION public.change_offers(tenant uuid, root uuid, project uuid, is_offered boolean)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  tasks_max constant integer := 1000;
  ids uuid[];
begin
  insert into work_offers (tenant_id, workspace_id)
  select tenant, id from workspaces
  where tenant_id = tenant and path @> array[root] and project_id is not distinct from project;
  if is_offered then
    ids := array(
      select t.id from workspaces w cross join lateral (
        select id from tasks where coalesce(workspace_id, tenant_id) = w.id order by created_at desc, id desc limit tasks_max) t
      where w.tenant_id = tenant and w.path @> array[root] and w.project_id is not distinct from project
      limit tasks_max);
  else
    ids := array(
      select q.task_id from workspaces w cross join lateral (
        select task_id from work_queue where coalesce(workspace_id, tenant_id) = w.id limit tasks_max) q
      where w.tenant_id = tenant and w.path @> array[root] and w.project_id is not distinct from project
      limit tasks_max);
  end if;
  perform offer_tasks(tenant, ids, is_offered, false);
end $function$;

CREATE OR REPLACE FUNCTION public.child_status(expires_at timestamp with time zone, revoked_at timestamp with time zone, task_category text, run_status text)
 RETURNS text
 LANGUAGE sql
AS $function$
  select case
    when run_status is not null then run_status
    when revoked_at is not null then 'revoked'
    when expires_at <= clock_timestamp() then 'expired'
    when task_category = 'terminal_cancelled' then 'cancelled'
    else 'pending' end
$function$;

CREATE OR REPLACE FUNCTION public.count_prerequisite()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  relation task_relations;
begin
  if tg_op = 'INSERT' then relation := new; else relation := old; end if;
  perform from tasks where id = relation.prerequisite_task_id for share;
  update tasks set open_prerequisites = open_prerequisites + case tg_op when 'INSERT' then 1 else -1 end
  where id = relation.waiting_task_id
    and exists (select from tasks where id = relation.prerequisite_task_id and category <> 'terminal_success');
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.counts_as_failed(ended_claim uuid)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  return not exists (select from runs where claim_id = ended_claim and status = 'failed');
end $function$;

CREATE OR REPLACE FUNCTION public.create_task_numbers(tenant uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  execute format('create sequence %I', task_numbers(tenant));
end $function$;

CREATE OR REPLACE FUNCTION public.delete_from_archive(tenant uuid, rows_max integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  held journal_floors;
  places tid[];
  last_position bigint;
  last_sequence bigint;
begin
  select * into held from journal_floors where tenant_id = tenant for update;
  places := array(
    select ctid from archived_events
    where tenant_id = tenant and (position, sequence) > (held.deleted_position, held.deleted_sequence)
      and (position, sequence) <= (held.floor_position, held.floor_sequence)
    order by position, sequence limit rows_max);
  if cardinality(places) = 0 then
    update journal_floors set deleted_position = floor_position, deleted_sequence = floor_sequence
    where tenant_id = tenant and (deleted_position, deleted_sequence) < (floor_position, floor_sequence);
    return 0;
  end if;
  select position, sequence into last_position, last_sequence from archived_events where ctid = places[cardinality(places)];
  delete from archived_events where ctid = any (places);
  update journal_floors set deleted_position = last_position, deleted_sequence = last_sequence where tenant_id = tenant;
  return cardinality(places);
end $function$;

CREATE OR REPLACE FUNCTION public.ends_hold(old tasks, new tasks)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select old.category = 'blocked' and (new.category <> 'blocked'
    or new.status <> old.status and is_claimable_blocked(new.type_id, new.status)
      and not is_claimable_blocked(old.type_id, old.status))
$function$;

CREATE OR REPLACE FUNCTION public.enter_journal_epoch()
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  held journal_epoch;
  cluster_now text;
  why text;
  transaction_now bigint;
  top_written bigint;
  top_given bigint;
  known bigint;
  first bigint;
begin
  select * into held from journal_epoch for update;
  if journal_epoch_is_current() then return null; end if;
  begin
    cluster_now := (select system_identifier || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
      from pg_control_system());
  exception when insufficient_privilege or feature_not_supported or object_not_in_prerequisite_state
    or undefined_function then null;
  end;
  update journal_epoch set cluster = cluster_now, server_started_at = pg_postmaster_start_time(),
    table_number = tableoid::bigint,
    database_number = (select oid::bigint from pg_database where datname = current_database());
  -- The first start: there is no cursor that could be overtaken.
  if held.server_started_at is null and not exists (select from events) and not exists (select from archived_events)
  then return null; end if;

  transaction_now := greatest(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint);
  select greatest(
      coalesce(max(newest.position), 0), (select coalesce(max(greatest(floor_position, archive_position)), 0) from journal_floors))
    into top_written
    from tenants t cross join lateral (
      select position from events where tenant_id = t.id order by position desc limit 1) newest;
  why := case
    when held.server_started_at is null then 'requested'
    when split_part(held.cluster, '/', 1) is distinct from split_part(cluster_now, '/', 1) then 'another_cluster'
    when (select (table_number, database_number) from journal_epoch)
      is distinct from (held.table_number, held.database_number) then 'restored'
    when held.cluster is distinct from cluster_now then 'another_cluster'
    else 'restart' end;
  -- Transaction ids go on after a restart or a fail-over; those of a dump say nothing of this cluster's.
  top_given := case
    when why = 'restored' or split_part(held.cluster, '/', 1) is distinct from split_part(cluster_now, '/', 1)
      then top_written
    else greatest(top_written, held.position_offset + transaction_now) end;
  known := greatest(top_written, held.position_offset + transaction_now);
  first := (extract(epoch from clock_timestamp() - timestamptz '2026-01-01 00:00:00+00') * 1048576)::bigint;
  if first <= known then first := known + 4294967296; end if;
  -- 0 where no transaction that runs now can have written to this database before.
  -- The lowest position that is taken from now on is that of the transaction before: see journal_position().
  update journal_epoch set position_offset = first - (transaction_now - 1), previous_offset = held.position_offset,
    first_transaction = case when top_given = known then transaction_now else 0 end;
  insert into journal_epochs (first_position, previous_end, cluster, reason)
  values (first, top_given, cluster_now, why);
  return why;
end $function$;

CREATE OR REPLACE FUNCTION public.enter_own_session(session uuid, tenant uuid, owner uuid)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
AS $function$
declare
  locked text;
  person uuid;
  delegated_until timestamptz;
  live_until timestamptz;
begin
  locked := pg_advisory_xact_lock_shared(principal_lock(owner))::text;
  locked := pg_advisory_xact_lock_shared(session_lock(session))::text;
  select s.on_behalf_of_id, d.expires_at, s.expires_at into person, delegated_until, live_until
  from sessions s join principals p on p.id = s.principal_id and p.status = 'active'
  left join delegations d on d.id = s.delegation_id and d.revoked_at is null
  where s.id = session and s.tenant_id = tenant and s.principal_id = owner and s.status = 'active'
    and (s.delegation_id is null or d.id is not null)
    and not exists (
      select from endings e where e.principal_id in (s.principal_id, s.on_behalf_of_id) and e.acknowledged_at >= s.started_at);
  if person is null then
    return live_until;
  end if;
  if not pg_try_advisory_xact_lock_shared(principal_lock(person)) then
    return null;
  end if;
  -- Read again: the person may have been disabled before its lock was taken.
  live_until := enter_session(session, owner, person);
  return case when live_until is not null then least(live_until, delegated_until) end;
end $function$;

CREATE OR REPLACE FUNCTION public.enter_principal(principal uuid, tenant uuid)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  locked text;
begin
  locked := pg_advisory_xact_lock_shared(principal_lock(principal))::text;
  return (select status from principals where id = principal and tenant_id = tenant);
end $function$;

CREATE OR REPLACE FUNCTION public.enter_session(session uuid, owner uuid, person uuid)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
AS $function$
declare
  locked text;
begin
  locked := pg_advisory_xact_lock_shared(principal_lock(owner))::text;
  if person is not null then
    locked := pg_advisory_xact_lock_shared(principal_lock(person))::text;
  end if;
  locked := pg_advisory_xact_lock_shared(session_lock(session))::text;
  return (
    select s.expires_at from sessions s join principals p on p.id = s.principal_id and p.status = 'active'
    where s.id = session and s.status = 'active' and not exists (
      select from endings e where e.principal_id in (s.principal_id, s.on_behalf_of_id) and e.acknowledged_at >= s.started_at));
end $function$;

CREATE OR REPLACE FUNCTION public.forget_left_sets(sets_max integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  entry record;
  looked_at integer := 0;
begin
  for entry in
    select tenant_id, set_id, array_agg(id) as ids
    from (select * from left_sets order by id limit sets_max for update skip locked) l
    group by tenant_id, set_id
  loop
    if pg_try_advisory_xact_lock(set_lock(entry.set_id)) then
      delete from queued_requirements i
      where i.set_id = entry.set_id and not exists (
        select from work_queue q
        where q.tenant_id = entry.tenant_id and q.set_id in (entry.set_id, assigned_set(entry.set_id)));
      delete from left_sets where id = any (entry.ids);
      looked_at := looked_at + 1;
    end if;
  end loop;
  return looked_at;
end $function$;

CREATE OR REPLACE FUNCTION public.fulfilled_sets(tenant uuid, principal uuid)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return next '00000000-0000-0000-0000-000000000000'::uuid;
  return query
  select s.id
  from held_tokens(tenant, principal) h
  join queued_requirements i on i.tenant_id = tenant and i.token = h.token
  join requirement_sets s on s.id = i.set_id
  left join workspaces w on w.id = s.workspace_id
  where h.workspace_id is null or h.workspace_id = any (w.path)
  group by s.id, s.items having count(distinct i.position) = s.items;
  if not exists (select from task_addressees d where d.tenant_id = tenant) then
    return;
  end if;
  return query
  select own.id from (
    select principal as id
    union
    select a.role_id from role_assignments a where a.tenant_id = tenant and a.principal_id = principal
    union
    select agent_set(a.tenant_id, a.key) from agents a where a.tenant_id = tenant and a.principal_id = principal
  ) own
  where exists (select from work_queue q where q.tenant_id = tenant and q.set_id in (own.id, assigned_set(own.id)));
end $function$;

CREATE OR REPLACE FUNCTION public.has_required_inputs(artifact_schema jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(jsonb_path_exists(artifact_schema, '$.inputs[*] ? (@.required == true)'), false)
$function$;

CREATE OR REPLACE FUNCTION public.has_worked_on(task uuid, principal uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select from claims where task_id = task and holder_id = principal)
$function$;

CREATE OR REPLACE FUNCTION public.held_tokens(tenant uuid, principal uuid)
 RETURNS TABLE(token text, workspace_id uuid)
 LANGUAGE sql
 STABLE
AS $function$
  select 'role/' || a.role_id::text, a.workspace_id from role_assignments a
  where a.principal_id = principal and a.tenant_id = tenant
  union all
  select 'capability/' || a.capability_id::text, null from capability_assignments a
  where a.principal_id = principal and a.tenant_id = tenant
  union all
  select held.token, null
  from skill_assignments a join skills s on s.id = a.skill_id and s.status <> 'disabled'
  cross join lateral (values ('skill/' || s.id::text), ('skills/' || s.name)) held (token)
  where a.principal_id = principal and a.tenant_id = tenant
$function$;

CREATE OR REPLACE FUNCTION public.index_task_words()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into task_search (task_id, tenant_id, created_at, bucket, words)
  values (new.id, new.tenant_id, new.created_at, new.public_number / 32768,
    concat_ws(e'\n', new.title, new.description, new.public_id))
  on conflict (task_id) do update set words = excluded.words;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.inputs_lock(source uuid)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select hashtextextended('inputs_of/' || source, 0)
$function$;

CREATE OR REPLACE FUNCTION public.is_addressee(task uuid, principal uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return exists (
    select from task_addressees d join tasks t on t.id = d.task_id
    where d.task_id = task and (
      d.principal_id = principal
      or d.agent_key is not null and exists (
        select from agents a join iam_bindings b on b.id = a.binding_id
        where a.tenant_id = d.tenant_id and a.key = d.agent_key and a.status = 'active' and b.status = 'active'
          and a.principal_id = principal)
      or d.role_id is not null and exists (
        select from role_assignments r
        where r.tenant_id = d.tenant_id and r.principal_id = principal and r.role_id = d.role_id
          and (r.workspace_id is null or r.workspace_id = any (
            select unnest(w.path) from workspaces w where w.id = t.workspace_id)))));
end $function$;

CREATE OR REPLACE FUNCTION public.is_claimable_blocked(type uuid, blocked_status text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select from task_types where id = type and blocked_status = any (claimable_blocked))
$function$;

CREATE OR REPLACE FUNCTION public.is_expired(dead_claim uuid)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  return counts_as_failed(dead_claim) and exists (
    select from claims c join sessions s on s.id = c.session_id
    where c.id = dead_claim and (c.expires_at <= clock_timestamp() or s.status <> 'closed' and s.expires_at <= clock_timestamp()));
end $function$;

CREATE OR REPLACE FUNCTION public.is_fulfilled_by_anybody(tenant uuid, requirements uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  item record;
  holders uuid[];
  fewest uuid[];
begin
  for item in select kind, subject_id, any_version_of from requirement_items where set_id = requirements order by position loop
    if item.kind = 'role' then
      holders := array(select distinct principal_id from role_assignments where role_id = item.subject_id limit 1001);
    elsif item.kind = 'capability' then
      holders := array(select principal_id from capability_assignments where capability_id = item.subject_id limit 1001);
    else
      holders := array(
        select distinct a.principal_id from skills s join skill_assignments a on a.skill_id = s.id
        where s.tenant_id = tenant and s.status <> 'disabled'
          and (s.id = item.subject_id and item.any_version_of is null or s.name = item.any_version_of) limit 1001);
    end if;
    if fewest is null or cardinality(holders) < cardinality(fewest) then
      fewest := holders;
    end if;
  end loop;
  if exists (
    select from principals p where p.id = any (fewest[:1000]) and p.tenant_id = tenant and p.status = 'active'
      and not exists (select from missing_items(tenant, requirements, p.id))) then
    return true;
  end if;
  return case when cardinality(fewest) <= 1000 then false end;
end $function$;

CREATE OR REPLACE FUNCTION public.is_journal_place(tenant uuid, place_position bigint, place_sequence bigint, horizon bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if place_sequence > 0 then
    return coalesce(
        (select true from events
        where tenant_id = tenant and (position, sequence) >= (place_position, place_sequence)
          and (position, sequence) <= (place_position, place_sequence)
        order by position, sequence limit 1), false)
      or coalesce(
        (select true from archived_events
        where tenant_id = tenant and (position, sequence) >= (place_position, place_sequence)
          and (position, sequence) <= (place_position, place_sequence)
        order by position, sequence limit 1), false);
  end if;
  return place_position <= horizon and not exists (
    select from journal_epochs where previous_end < place_position and place_position < first_position);
end $function$;

CREATE OR REPLACE FUNCTION public.is_last_attempt(type uuid, failed integer)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select from task_types where id = type and attempts_max <= failed + 1)
$function$;

CREATE OR REPLACE FUNCTION public.journal_begin(floors journal_floors, from_position bigint, from_sequence bigint)
 RETURNS TABLE(hot_position bigint, hot_sequence bigint, archive_position bigint, archive_sequence bigint)
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select
    case when (floors.moved_position, floors.moved_sequence) > (from_position, from_sequence)
      then floors.moved_position else from_position end,
    case when (floors.moved_position, floors.moved_sequence) > (from_position, from_sequence)
      then floors.moved_sequence else from_sequence end,
    case when (floors.floor_position, floors.floor_sequence) > (from_position, from_sequence)
      then floors.floor_position else from_position end,
    case when (floors.floor_position, floors.floor_sequence) > (from_position, from_sequence)
      then floors.floor_sequence else from_sequence end
$function$;

CREATE OR REPLACE FUNCTION public.journal_epoch_is_current()
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select pg_is_in_recovery() or not exists (
    select from journal_epoch
    where (server_started_at = pg_postmaster_start_time() and table_number = tableoid::bigint
      and database_number = (select oid::bigint from pg_database where datname = current_database())) is not true)
$function$;

CREATE OR REPLACE FUNCTION public.journal_horizon()
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select case when oldest < first_transaction then previous_offset else position_offset end + oldest
  from journal_epoch, (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest) now
$function$;

CREATE OR REPLACE FUNCTION public.journal_position()
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  base bigint;
begin
  select position_offset into base from journal_epoch
  where server_started_at = pg_postmaster_start_time() and table_number = tableoid::bigint;
  if base is null then
    perform enter_journal_epoch();
    select position_offset into base from journal_epoch;
  end if;
  return base
    + greatest(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1);
end $function$;

CREATE OR REPLACE FUNCTION public.link_to_package()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  select package_link(o) into new.package from package_objects o
  where o.tenant_id = new.tenant_id and o.kind = tg_argv[0] and o.key = to_jsonb(new) ->> tg_argv[1]
    and o.retired_at is null;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.lock_session(session uuid, owner uuid, person uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock_shared(principal_lock(owner));
  if person is not null then
    perform pg_advisory_xact_lock_shared(principal_lock(person));
  end if;
  perform pg_advisory_xact_lock(session_lock(session));
end $function$;

CREATE OR REPLACE FUNCTION public.lock_source_of_inputs()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  source constant uuid := case new.type when 'blocks' then new.from_task_id else new.to_task_id end;
begin
  if new.type in ('blocks', 'depends_on') then
    perform from tasks where id = source for share;
  end if;
  perform pg_advisory_xact_lock(inputs_lock(source));
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.lock_together(wanted uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  tried uuid;
  busy uuid;
begin
  for attempt in 1..20 loop
    tried := null;
    begin
      if busy is not null then
        perform from tasks where id = busy for no key update;
      end if;
      foreach tried in array wanted loop
        perform from tasks where id = tried for no key update nowait;
      end loop;
      return;
    exception when lock_not_available then
      -- The lock timeout of the wait itself.
      if tried is null then
        raise;
      end if;
      busy := tried;
    end;
  end loop;
  perform from tasks where id = any (wanted) order by id for no key update;
end $function$;

CREATE OR REPLACE FUNCTION public.lost_basis(invocation uuid, named text[] DEFAULT NULL::text[])
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when p.status <> 'active' then 'principal_not_active'
    when not exists (
      select from iam_bindings b
      where b.id = (i.credential ->> 'credentialId')::uuid and b.principal_id = p.id and b.status = 'active'
        and (b.permissions @> needed.of_binding or 'admin' = any (b.permissions))
      union all
      select from api_keys k
      where k.id = (i.credential ->> 'credentialId')::uuid and k.principal_id = p.id and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > clock_timestamp())
        and (k.permissions @> needed.permissions or 'admin' = any (k.permissions))
    ) then 'credential_inactive'
    when s.status = 'disabled' then 'skill_disabled'
    when r.status in ('failed', 'cancelled') then 'run_over'
    when r.status <> 'running' and i.authorization_basis ->> 'kind' = 'execution' then 'run_over'
    when i.requested_by_kind = 'run' and not exists (
      select from skill_assignments a where a.principal_id = i.authority_principal_id and a.skill_id = i.skill_id
    ) then 'skill_not_assigned'
    when i.approval_id is not null and t.category in ('terminal_success', 'terminal_cancelled') then 'task_terminal'
    when i.approval_id is not null and ap.status <> 'approved' then 'approval_withdrawn'
  end
  from skill_invocations i
  join principals p on p.id = i.authority_principal_id
  join skills s on s.id = i.skill_id
  left join runs r on r.id = i.run_id
  left join tasks t on t.id = i.task_id
  left join approvals ap on ap.id = i.approval_id
  cross join lateral (
    select coalesce(array_agg(name), '{}') as permissions,
      coalesce(array_agg(name) filter (where named is null or name = any (named)), '{}') as of_binding
    from (
      select jsonb_array_elements_text(s.contract -> 'requiredPermissions') as name
      union select 'skills.invoke' where i.requested_by_kind in ('principal', 'run')
    ) of_call
  ) needed
  where i.id = invocation
$function$;

CREATE OR REPLACE FUNCTION public.may_claim(task uuid, principal uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return exists (
    select from tasks t join task_types tt on tt.id = t.type_id
    where t.id = task and (t.requirement_set_id is not null or has_required_inputs(tt.artifact_schema))
      and (t.requirement_set_id is null or not exists (
        select from missing_items(t.tenant_id, t.requirement_set_id, principal)))
      and (not has_required_inputs(tt.artifact_schema) or missing_inputs(t.id) = '[]'));
end $function$;

CREATE OR REPLACE FUNCTION public.missing_inputs(task uuid)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(jsonb_agg(jsonb_build_object('key', key, 'type', type, 'from', source) order by place), '[]')
  from (
    select i.place, i.key, i.type, i.source from task_inputs(task) i where i.required
    group by i.place, i.key, i.type, i.source having count(i.artifact_id) = 0
  ) absent
$function$;

CREATE OR REPLACE FUNCTION public.missing_items(tenant uuid, requirements uuid, principal uuid)
 RETURNS SETOF smallint
 LANGUAGE sql
 STABLE
AS $function$
  select i.position
  from requirement_items i join requirement_sets s on s.id = i.set_id left join workspaces w on w.id = s.workspace_id
  where i.set_id = requirements and not exists (
    select from held_tokens(tenant, principal) h
    where h.token = i.token and (h.workspace_id is null or h.workspace_id = any (w.path)))
$function$;

CREATE OR REPLACE FUNCTION public.move_to_archive(tenant uuid, rows_max integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  held journal_floors;
  places tid[];
  last_position bigint;
  last_sequence bigint;
begin
  select * into held from journal_floors where tenant_id = tenant for update;
  places := array(
    select ctid from events
    where tenant_id = tenant and (position, sequence) > (held.moved_position, held.moved_sequence)
      and (position, sequence) <= (held.archive_position, held.archive_sequence)
    order by position, sequence limit rows_max);
  if cardinality(places) = 0 then
    update journal_floors set moved_position = archive_position, moved_sequence = archive_sequence
    where tenant_id = tenant and (moved_position, moved_sequence) < (archive_position, archive_sequence);
    return 0;
  end if;
  select position, sequence into last_position, last_sequence from events where ctid = places[cardinality(places)];
  insert into archived_events select * from events where ctid = any (places);
  delete from events where ctid = any (places);
  update journal_floors set moved_position = last_position, moved_sequence = last_sequence where tenant_id = tenant;
  return cardinality(places);
end $function$;

CREATE OR REPLACE FUNCTION public.name_words(given text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN ARRAY(SELECT DISTINCT "left"(w.word, 60) AS "left" FROM regexp_split_to_table(lower(name_words.given), '[\s!-/:-@[-`{-~]+'::text) w(word) WHERE (w.word <> ''::text));

CREATE OR REPLACE FUNCTION public.next_task_number(tenant uuid)
 RETURNS bigint
 LANGUAGE sql
AS $function$ select nextval(task_numbers(tenant)::regclass) $function$;

CREATE OR REPLACE FUNCTION public.note_availability()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'INSERT' then
    new.starts_at := start_of_work(new.workspace_id, new.type_id, new.start_date);
  else
    if (new.start_date, new.workspace_id, new.type_id) is distinct from (old.start_date, old.workspace_id, old.type_id) then
      new.starts_at := start_of_work(new.workspace_id, new.type_id, new.start_date);
    end if;
    if new.category like 'terminal%'
      or new.active_claim_id is not distinct from old.active_claim_id and ends_hold(old, new) then
      new.failed_attempts := 0;
      new.retry_at := null;
    elsif new.failed_attempts > old.failed_attempts and is_last_attempt(new.type_id, new.failed_attempts - 1) then
      new.retry_at := attempts_are_over();
      insert into exhausted_tasks (task_id, tenant_id) values (new.id, new.tenant_id) on conflict do nothing;
    end if;
  end if;
  new.available_at := greatest(new.starts_at, new.retry_at);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.note_basis_loss(tenant uuid, kind text, subject uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if kind = 'principal' and not exists (
    select from skill_invocations i where i.authority_principal_id = subject and i.status in ('pending', 'running')
  ) or kind = 'skill' and not exists (
    select from skill_invocations i where i.skill_id = subject and i.status in ('pending', 'running')
  ) or kind = 'run' and not exists (
    select from skill_invocations i where i.run_id = subject and i.status in ('pending', 'running')
  ) or kind = 'task' and not exists (
    select from skill_invocations i where i.task_id = subject and i.status in ('pending', 'running')
  ) then
    return;
  end if;
  insert into basis_losses (tenant_id, kind, subject_id) values (tenant, kind, subject);
end $function$;

CREATE OR REPLACE FUNCTION public.note_credential_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform note_basis_loss(new.tenant_id, 'principal', new.principal_id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_inputs_of_artifact()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  types text[];
  receivers uuid[];
begin
  perform pg_advisory_xact_lock_shared(inputs_lock(new.task_id));
  types := array[new.type] || array(select type from artifacts where id = new.supersedes_artifact_id);
  receivers := array(
    select distinct t.id
    from (
      select waiting_task_id as id, 'depends_on' as way from task_relations where prerequisite_task_id = new.task_id
      union
      select from_task_id, type from task_relations where to_task_id = new.task_id and type in ('parent', 'spawned_by')
    ) r
    join tasks t on t.id = r.id and t.is_restricted join task_types tt on tt.id = t.type_id
    where jsonb_path_exists(tt.artifact_schema,
      '$.inputs[*] ? (@.required == true && @.from == $way && @.type == $types[*])',
      jsonb_build_object('way', r.way, 'types', to_jsonb(types)))
    order by t.id);
  if receivers <> '{}' then
    perform lock_together(receivers);
    perform settle_inputs(receivers);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_inputs_of_new_task()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.lacks_input := (select has_required_inputs(artifact_schema) from task_types where id = new.type_id);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.note_inputs_of_new_type()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  sources uuid[];
begin
  sources := array(
    select r.to_task_id from task_relations r where r.from_task_id = new.id and r.type in ('parent', 'spawned_by')
    union select r.prerequisite_task_id from task_relations r where r.waiting_task_id = new.id
    limit 3);
  if not (select has_required_inputs(artifact_schema) from task_types where id = new.type_id)
    or cardinality(sources) > 2
    or exists (select from unnest(sources) s (id) where not pg_try_advisory_xact_lock(inputs_lock(s.id))) then
    update tasks set lacks_input = false where id = new.id and lacks_input;
  else
    perform settle_inputs(array[new.id]);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_inputs_of_relation()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  relation task_relations;
  receiver uuid;
begin
  if tg_op = 'INSERT' then relation := new; else relation := old; end if;
  -- Locked before its type is looked at: a migration of the type locks it too.
  select id into receiver from tasks
  where id = coalesce(relation.waiting_task_id, relation.from_task_id) for no key update;
  perform settle_inputs(array[receiver]) from tasks where id = receiver and is_restricted;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_left_set(tenant uuid, requirements uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock_shared(set_lock(requirements));
  if exists (select from queued_requirements where set_id = requirements)
    and not exists (
      select from work_queue where tenant_id = tenant and set_id in (requirements, assigned_set(requirements)))
    and not exists (select from left_sets where set_id = requirements) then
    insert into left_sets (tenant_id, set_id) values (tenant, requirements);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.note_principal_stopped()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform note_basis_loss(new.tenant_id, 'principal', new.id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_queued_set(requirements uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock_shared(set_lock(requirements));
  if not exists (select from queued_requirements where set_id = requirements) then
    insert into queued_requirements (tenant_id, token, set_id, position)
    select tenant_id, token, set_id, position from requirement_items where set_id = requirements;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.note_run_over()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform note_basis_loss(new.tenant_id, 'run', new.id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_skill_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform note_basis_loss(new.tenant_id, 'skill', new.id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_skill_taken()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform note_basis_loss(old.tenant_id, 'principal', old.principal_id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_task_over()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform note_basis_loss(new.tenant_id, 'task', new.id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_type_statuses()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into task_type_statuses (tenant_id, key, category, type_id)
  select new.tenant_id, declared ->> 'key', declared ->> 'category', new.id
  from jsonb_array_elements(new.lifecycle_schema -> 'statuses') as declared;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_verification()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update tasks
  set open_verification_id = case when new.finished_at is null then new.id end,
    verification = jsonb_build_object('id', new.id, 'status', new.status, 'attempt', new.attempt,
      'updatedAt', to_char(new.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
  where id = new.task_id;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_zone_change(tenant uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform from zone_changes where tenant_id = tenant and seen_xid is null for update;
  if not found then
    insert into zone_changes (tenant_id) values (tenant);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.note_zone_of_calendar()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if (select spec ->> 'timezone' from calendar_versions where id = new.id)
    is distinct from (select spec ->> 'timezone' from calendar_versions where id = old.id) then
    perform note_zone_change(new.tenant_id);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_zone_of_workspace()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if old.calendar_key is distinct from new.calendar_key
    or exists (select from workspaces where tenant_id = new.tenant_id and calendar_key is not null) then
    perform note_zone_change(new.tenant_id);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.offer_lock(project uuid)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select hashtextextended('project/' || project, 0)
$function$;

CREATE OR REPLACE FUNCTION public.offer_tasks(tenant uuid, ids uuid[], is_offered boolean, waits boolean)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  locked uuid[];
  sets uuid[];
begin
  if waits then
    perform from tasks where id = any (ids) order by id for no key update;
  end if;
  select array_agg(id), array_agg(distinct requirement_set_id) filter (where requirement_set_id is not null)
  into locked, sets
  from (select id, requirement_set_id from tasks where id = any (ids) order by id for no key update skip locked) t;
  if is_offered then
    insert into work_queue (task_id, tenant_id, set_id, workspace_id, assignee_id, priority, created_at, turn_at, due_at)
    select t.id, t.tenant_id, set_in_queue(queue_set(t.id, t.is_addressed, t.requirement_set_id), t.assignee_id, d.due),
      t.workspace_id, t.assignee_id, t.priority, t.created_at, t.turn_at, d.due
    from tasks t cross join lateral (select case when t.available_at > clock_timestamp() then t.available_at end as due) d
    where t.id = any (locked) and t.category not in ('terminal_success', 'terminal_cancelled') and t.open_prerequisites = 0
      and t.pending_gates = 0 and t.open_verification_id is null and not t.lacks_input and t.active_claim_id is null
      and (t.category <> 'blocked' or is_claimable_blocked(t.type_id, t.status))
    on conflict (task_id) do nothing;
    perform note_queued_set(id) from unnest(sets) as needed (id)
    where exists (
      select from work_queue q where q.tenant_id = tenant and q.set_id in (needed.id, assigned_set(needed.id)));
  else
    delete from work_queue where task_id = any (locked);
    perform note_left_set(tenant, id) from unnest(sets) as needed (id);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.offers_work(workspace uuid)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  project uuid;
begin
  select project_id into project from workspaces where id = workspace;
  if project is null then return true; end if;
  perform pg_advisory_xact_lock_shared(offer_lock(project));
  return not exists (select from projects where id = project and status = 'archived');
end $function$;

CREATE OR REPLACE FUNCTION public.oldest_undelivered(tenant uuid, OUT event_position bigint, OUT event_sequence bigint)
 RETURNS SETOF record
 LANGUAGE sql
 STABLE
AS $function$
  select * from (
    (select e.position, e.sequence
    from journal_floors f cross join lateral (
      select kept.position, kept.sequence
      from (
        select position, sequence from events
        where tenant_id = tenant and (position, sequence) > (f.archive_position, f.archive_sequence)
        order by position, sequence limit 100000
      ) kept
      where exists (select from outbox o where o.event_sequence = kept.sequence)
      order by kept.position, kept.sequence limit 1
    ) e
    where f.tenant_id = tenant)
    union all
    select e.position, e.sequence
    from outbox_deliveries d cross join lateral unnest(d.event_sequences) as s (sequence)
    join events e on e.sequence = s.sequence
    where d.tenant_id = tenant and d.dropped_at is null and d.oldest_position = (
      select min(oldest_position) from outbox_deliveries where tenant_id = tenant and dropped_at is null)
  ) waiting
  order by 1, 2 limit 1
$function$;

CREATE OR REPLACE FUNCTION public.package_link(of package_objects)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object('key', of.package_key, 'version', of.version, 'installHash', of.install_hash, 'installedAt',
    to_char(of.installed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
$function$;

CREATE OR REPLACE FUNCTION public.pending_gates_of(task uuid)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(jsonb_agg(gates.id order by gates.created_at, gates.id), '[]')
  from (
    select id, created_at from approvals a where a.task_id = task and a.gate and a.status = 'pending'
    order by created_at, id limit 50
  ) gates
$function$;

CREATE OR REPLACE FUNCTION public.principal_lock(principal uuid)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$ select hashtextextended('principal/' || principal, 0) $function$;

CREATE OR REPLACE FUNCTION public.principal_query(tenant uuid, wanted text)
 RETURNS tsquery
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (SELECT (string_agg(((((''''::text || "right"((principal_query.tenant)::text, 12)) || ':'::text) || w.word) || ''':*'::text), ' & '::text))::tsquery AS string_agg FROM unnest(name_words(principal_query.wanted)) w(word));

CREATE OR REPLACE FUNCTION public.principal_words(tenant uuid, display_name text, email text)
 RETURNS tsvector
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN array_to_tsvector(ARRAY(SELECT (("right"((principal_words.tenant)::text, 12) || ':'::text) || w.word) FROM unnest(name_words(((principal_words.display_name || ' '::text) || COALESCE(principal_words.email, ''::text)))) w(word)));

CREATE OR REPLACE FUNCTION public.queue_due_tasks(rows_max integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  at constant timestamptz := clock_timestamp();
  locked uuid[];
  moved record;
begin
  locked := array(
    select t.id from work_queue q join tasks t on t.id = q.task_id
    where q.due_at <= at order by q.due_at limit rows_max
    for no key update of t skip locked);
  for moved in
    update work_queue q
    set set_id = set_in_queue(queue_set(t.id, t.is_addressed, t.requirement_set_id), t.assignee_id, d.due), due_at = d.due
    from tasks t cross join lateral (select case when t.available_at > clock_timestamp() then t.available_at end as due) d
    where q.task_id = any (locked) and t.id = q.task_id
    returning t.requirement_set_id as required, q.set_id
  loop
    if moved.set_id in (moved.required, assigned_set(moved.required)) then
      perform note_queued_set(moved.required);
    end if;
  end loop;
  return cardinality(locked);
end $function$;

CREATE OR REPLACE FUNCTION public.queue_for_addressee()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  required uuid;
  own uuid;
  is_due boolean;
begin
  select requirement_set_id into required from tasks where id = new.task_id;
  own := queue_set(new.task_id, true, required);
  update work_queue q set set_id = set_in_queue(own, q.assignee_id, q.due_at) where q.task_id = new.task_id
  returning q.due_at is null into is_due;
  if is_due and own = required then
    perform note_queued_set(required);
  elsif required is not null then
    perform note_left_set(new.tenant_id, required);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.queue_set(task uuid, is_addressed boolean, requirements uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if not is_addressed then
    return coalesce(requirements, '00000000-0000-0000-0000-000000000000');
  end if;
  return coalesce((
    select case
      when d.role_id is not null then coalesce(requirements, d.role_id)
      else coalesce(d.principal_id, agent_set(d.tenant_id, d.agent_key)) end
    from task_addressees d where d.task_id = task
  ), 'ffffffff-ffff-ffff-ffff-ffffffffffff');
end $function$;

CREATE OR REPLACE FUNCTION public.queue_task()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  own constant uuid := queue_set(new.id, new.is_addressed, new.requirement_set_id);
  due constant timestamptz := case when new.available_at > clock_timestamp() then new.available_at end;
  under constant uuid := set_in_queue(own, new.assignee_id, due);
  is_queued boolean;
begin
  if new.category in ('terminal_success', 'terminal_cancelled') or new.open_prerequisites > 0 or new.pending_gates > 0
    or new.open_verification_id is not null or new.lacks_input
    or new.category = 'blocked' and not is_claimable_blocked(new.type_id, new.status)
    or (new.active_claim_id is null and new.workspace_id is not null and not offers_work(new.workspace_id)) then
    delete from work_queue where task_id = new.id;
    is_queued := false;
  elsif new.active_claim_id is null then
    insert into work_queue as q (task_id, tenant_id, set_id, workspace_id, assignee_id, priority, created_at, turn_at, due_at)
    values (new.id, new.tenant_id, under, new.workspace_id, new.assignee_id, new.priority, new.created_at, new.turn_at, due)
    on conflict (task_id) do update
    set set_id = excluded.set_id, workspace_id = excluded.workspace_id, assignee_id = excluded.assignee_id,
      priority = excluded.priority, turn_at = excluded.turn_at, due_at = excluded.due_at
    where (q.set_id, q.workspace_id, q.assignee_id, q.priority, q.turn_at, q.due_at) is distinct from
      (excluded.set_id, excluded.workspace_id, excluded.assignee_id, excluded.priority, excluded.turn_at, excluded.due_at);
    is_queued := due is null;
  else
    update work_queue
    set set_id = under, workspace_id = new.workspace_id, assignee_id = new.assignee_id, priority = new.priority,
      turn_at = new.turn_at, due_at = due
    where task_id = new.id;
    is_queued := found and due is null;
  end if;
  if is_queued and own = new.requirement_set_id then
    perform note_queued_set(own);
  end if;
  if tg_op = 'UPDATE' and old.requirement_set_id is not null
    and (not is_queued or old.requirement_set_id <> own) then
    perform note_left_set(new.tenant_id, old.requirement_set_id);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_foreign_archive()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (
    select from come c left join lateral (
      select e as row from events e where e.sequence >= c.sequence order by e.sequence limit 1
    ) written on true
    where written.row is distinct from c)
  then
    raise exception 'the journal is append-only: INSERT of what is not in it refused' using errcode = 'restrict_violation';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_journal_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the journal is append-only: % refused', tg_op using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_open_process_journal_deletion()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (
    select from (select distinct instance_id from gone) g left join process_instances i on i.id = g.instance_id
    where i.completed_at is null)
  then
    raise exception 'the journal of a process instance that has not ended is kept' using errcode = 'restrict_violation';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_process_journal_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the journal of a process instance is never changed';
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_removal()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '% of % refused: other rows name them', tg_op, tg_table_name using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_revision_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'a configuration revision is immutable: % refused', tg_op using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_unarchived_deletion()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (
    select from gone g left join lateral (
      select a as row from archived_events a
      where a.tenant_id = g.tenant_id and (a.position, a.sequence) >= (g.position, g.sequence)
      order by a.position, a.sequence limit 1
    ) kept on true
    where kept.row is distinct from g)
  then
    raise exception 'the journal is append-only: DELETE of what is not archived refused' using errcode = 'restrict_violation';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_unpruned_deletion()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (
    select from gone g where not exists (
      select from journal_floors f
      where f.tenant_id = g.tenant_id and (g.position, g.sequence) <= (f.floor_position, f.floor_sequence)))
  then
    raise exception 'the journal is append-only: DELETE of what is not pruned refused' using errcode = 'restrict_violation';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.rename_package_object()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update package_objects set key = to_jsonb(new) ->> tg_argv[1]
  where tenant_id = new.tenant_id and kind = tg_argv[0] and key = to_jsonb(old) ->> tg_argv[1];
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.sees_session(viewer uuid, session uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare
  claims_max constant integer := 1000;
  opened sessions;
  places uuid[];
begin
  if viewer is null then return true; end if;
  select * into opened from sessions where id = session;
  if viewer in (opened.principal_id, opened.on_behalf_of_id) then return true; end if;
  if not exists (select from claims where session_id = session)
    and not exists (select from agents where principal_id = opened.principal_id and workspace_id is not null)
  then return false; end if;
  if exists (select from claims where session_id = session offset claims_max) then return false; end if;
  places := array(select workspaces_seen_by(viewer));
  return not exists (
    select from agents a
    where a.principal_id = opened.principal_id and a.workspace_id is not null and a.workspace_id <> all (places)
  ) and not exists (
    select from claims c join tasks t on t.id = c.task_id
    where c.session_id = session and t.workspace_id is not null and t.workspace_id <> all (places));
end $function$;

CREATE OR REPLACE FUNCTION public.sees_task(viewer uuid, task uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return viewer is null or sees_workspace(viewer, (select workspace_id from tasks where id = task));
end $function$;

CREATE OR REPLACE FUNCTION public.sees_workspace(viewer uuid, workspace uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if viewer is null or workspace is null then return true; end if;
  return exists (
    select from workspaces w join workspace_members m on m.workspace_id = any (w.path)
    where w.id = workspace and m.principal_id = viewer);
end $function$;

CREATE OR REPLACE FUNCTION public.session_lock(session uuid)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$ select hashtextextended('session/' || session, 0) $function$;

CREATE OR REPLACE FUNCTION public.set_in_queue(own uuid, assignee uuid, due timestamp with time zone)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case
    when due is not null then 'eeeeeeee-eeee-eeee-eeee-eeeeeeeeeeee'
    when assignee is not null then assigned_set(own)
    else own end
$function$;

CREATE OR REPLACE FUNCTION public.set_lock(requirements uuid)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select hashtextextended('queued_set/' || requirements, 0)
$function$;

CREATE OR REPLACE FUNCTION public.set_package_link(of package_objects, link jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  case of.kind
    when 'WorkspaceType' then
      update workspace_types set package = link where tenant_id = of.tenant_id and key = of.key;
    when 'ProjectTemplate' then
      update project_templates set package = link where tenant_id = of.tenant_id and key = of.key;
    when 'TaskType' then
      update task_types set package = link where tenant_id = of.tenant_id and key = of.key;
    when 'ArtifactType' then
      update artifact_types set package = link where tenant_id = of.tenant_id and key = of.key;
    when 'Role' then
      update roles set package = link where tenant_id = of.tenant_id and slug = of.key and workspace_id is null;
    when 'Capability' then
      update capabilities set package = link where tenant_id = of.tenant_id and name = of.key;
    when 'Skill' then
      update skills set package = link where tenant_id = of.tenant_id and name = of.key;
    when 'WorkRule' then
      update rules set package = link where tenant_id = of.tenant_id and key = of.key and status <> 'archived';
    when 'Calendar' then
      update calendars set package = link where tenant_id = of.tenant_id and key = of.key;
    when 'Agent' then
      update agents set package = link where tenant_id = of.tenant_id and key = of.key;
    when 'ConnectionType' then
      update connection_types set package = link where tenant_id = of.tenant_id and key = of.key;
    when 'Process' then
      update process_definitions set package = link where tenant_id = of.tenant_id and key = of.key;
    else null;
  end case;
end $function$;

CREATE OR REPLACE FUNCTION public.settle_inputs(locked uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  update tasks t set lacks_input = not t.lacks_input
  where t.id = any (locked) and t.lacks_input <> (missing_inputs(t.id) <> '[]');
end $function$;

CREATE OR REPLACE FUNCTION public.settle_offers(tasks_max integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  place work_offers;
  ids uuid[];
  last record;
begin
  select * into place from work_offers order by id limit 1 for update skip locked;
  if not found then return 0; end if;
  ids := array(
    select id from tasks
    where coalesce(workspace_id, tenant_id) = place.workspace_id
      and (created_at, id) < (coalesce(place.after_created_at, 'infinity'),
        coalesce(place.after_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
    order by created_at desc, id desc limit tasks_max);
  perform offer_tasks(place.tenant_id, ids, offers_work(place.workspace_id), true);
  if cardinality(ids) < tasks_max then
    delete from work_offers where id = place.id;
  else
    select created_at, id into last from tasks where id = ids[tasks_max];
    update work_offers set after_created_at = last.created_at, after_id = last.id where id = place.id;
  end if;
  return greatest(cardinality(ids), 1);
end $function$;

CREATE OR REPLACE FUNCTION public.settle_prerequisite()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  waiting uuid[];
begin
  select array_agg(distinct waiting_task_id order by waiting_task_id) into waiting
  from task_relations where prerequisite_task_id = new.id;
  if waiting is null then
    return null;
  end if;
  perform lock_together(waiting);
  update tasks w
  set open_prerequisites = w.open_prerequisites
    + case when new.category = 'terminal_success' then -r.relations else r.relations end
  from (
    select waiting_task_id, count(*) as relations from task_relations
    where prerequisite_task_id = new.id group by waiting_task_id
  ) r
  where w.id = r.waiting_task_id and w.id = any (waiting);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.settle_zones(tasks_max integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  noted zone_changes;
  ids uuid[];
  last record;
begin
  select * into noted from zone_changes order by id limit 1 for update skip locked;
  if not found then return 0; end if;
  if noted.seen_xid is null then
    update zone_changes set seen_xid = pg_snapshot_xmax(pg_current_snapshot())::text::bigint where id = noted.id;
    return 1;
  end if;
  if pg_snapshot_xmin(pg_current_snapshot())::text::bigint < noted.seen_xid then return 0; end if;
  ids := array(
    select id from tasks
    where tenant_id = noted.tenant_id and coalesce(start_date, 'infinity') < 'infinity'
      and (coalesce(start_date, 'infinity'), id)
        > (coalesce(noted.after_start, now() - interval '2 days'), coalesce(noted.after_id, '00000000-0000-0000-0000-000000000000'))
    order by coalesce(start_date, 'infinity'), id limit tasks_max);
  perform from tasks where id = any (ids) order by id for no key update;
  update tasks t
  set starts_at = start_of_work(t.workspace_id, t.type_id, t.start_date), version = t.version + 1, updated_at = now()
  where t.id = any (ids) and t.category not like 'terminal%'
    and t.starts_at is distinct from start_of_work(t.workspace_id, t.type_id, t.start_date);
  if cardinality(ids) < tasks_max then
    delete from zone_changes where id = noted.id;
  else
    select start_date, id into last from tasks where id = ids[tasks_max];
    update zone_changes set after_start = last.start_date, after_id = last.id where id = noted.id;
  end if;
  return greatest(cardinality(ids), 1);
end $function$;

CREATE OR REPLACE FUNCTION public.spread_package_link()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'DELETE' then
    perform set_package_link(old, null);
  elsif new.retired_at is null then
    perform set_package_link(new, package_link(new));
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.start_of_work(workspace uuid, type uuid, start_date timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
AS $function$
declare
  zone text;
begin
  if start_date is null or not exists (select from task_types where id = type and holds_start) then
    return null;
  end if;
  if workspace is null or start_date <> date_trunc('day', start_date, 'UTC') then
    return start_date;
  end if;
  -- So that a change of the zone can wait for whoever may have read the old one.
  perform pg_current_xact_id();
  zone := zone_of(workspace);
  if zone is null then
    return start_date;
  end if;
  -- The first day of all would begin before the year 1 in the east.
  return greatest((start_date at time zone 'UTC') at time zone zone, timestamptz '0001-01-01 00:00Z');
exception when invalid_parameter_value then
  return start_date;
end $function$;

CREATE OR REPLACE FUNCTION public.take_lock(key bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET lock_timeout TO '600ms'
AS $function$
declare
  holder integer;
begin
  for attempt in 1..3 loop
    begin
      perform pg_advisory_xact_lock(key);
      return;
    exception when lock_not_available then
      for holder in
        select pid from pg_locks
        where locktype = 'advisory' and granted and pid <> pg_backend_pid() and objsubid = 1 and mode = 'ShareLock'
          and database = (select oid from pg_database where datname = current_database())
          and classid = ((key >> 32) & 4294967295)::oid and objid = (key & 4294967295)::oid
      loop
        if not pg_backend_pid() = any (pg_blocking_pids(holder)) then
          perform pg_terminate_backend(holder);
        elsif holder < pg_backend_pid() then
          raise exception 'two commands wait for each other' using errcode = 'deadlock_detected';
        end if;
      end loop;
    end;
  end loop;
  perform pg_advisory_xact_lock(key);
end $function$;

CREATE OR REPLACE FUNCTION public.take_turn()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  made timestamptz(3);
  turn timestamptz(3);
begin
  select created_at into made from tasks where id = new.from_task_id;
  insert into task_turns as last (parent_id, last_turn_at) values (new.to_task_id, made)
  on conflict (parent_id) do update
  set last_turn_at = least(greatest(last.last_turn_at + interval '1 second', made), made + interval '15 minutes')
  returning last_turn_at into turn;
  update tasks set turn_at = turn where id = new.from_task_id and turn_at < turn;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.task_inputs(task uuid)
 RETURNS TABLE(place integer, key text, type text, source text, required boolean, source_task_id uuid, artifact_id uuid)
 LANGUAGE sql
 STABLE
AS $function$
  select declared.n::integer, declared.input ->> 'key', declared.input ->> 'type', declared.input ->> 'from',
    coalesce((declared.input ->> 'required')::boolean, false), found.task_id, found.id
  from tasks t join task_types tt on tt.id = t.type_id
  cross join lateral jsonb_array_elements(coalesce(tt.artifact_schema -> 'inputs', '[]')) with ordinality as declared (input, n)
  left join lateral (
    select s.id as task_id, newest.id
    from (
      select r.prerequisite_task_id as id from task_relations r
      where declared.input ->> 'from' = 'depends_on' and r.waiting_task_id = t.id
      union
      select r.to_task_id from task_relations r
      where r.from_task_id = t.id and r.type = declared.input ->> 'from' and r.type in ('spawned_by', 'parent')
    ) s
    cross join lateral (
      select a.id from artifacts a
      where a.tenant_id = t.tenant_id and a.task_id = s.id and a.type = declared.input ->> 'type'
        and a.content_state <> 'purged'
        and not exists (select from artifacts later where later.supersedes_artifact_id = a.id)
      order by a.created_at desc, a.id desc limit 1
    ) newest
  ) found on true
  where t.id = task
$function$;

CREATE OR REPLACE FUNCTION public.task_numbers(tenant uuid)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$ select 'task_numbers_' || replace(tenant::text, '-', '') $function$;

CREATE OR REPLACE FUNCTION public.task_tokens(tenant uuid, bucket integer, words text)
 RETURNS text[]
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
declare
  prefix constant text := right(tenant::text, 8) || to_hex(bucket) || ':';
  letters constant text[] := string_to_array(translate(lower(words), e'\t\r\n', '   '), null);
begin
  if cardinality(letters) > 8192 then return array[prefix || 'long']; end if;
  return array(
    select prefix || gram from (
      select unnest(array[a, a || b, a || b || c]) as gram
      from unnest(letters, letters[2:], letters[3:]) as w(a, b, c)
    ) as g
    where gram is not null and position(' ' in gram) = 0
  );
end $function$;

CREATE OR REPLACE FUNCTION public.tasks_come_due(tenant uuid)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE ROWS 10
AS $function$
declare
  at constant timestamptz := clock_timestamp();
begin
  return query select task_id from work_queue where tenant_id = tenant and due_at <= at order by due_at limit 1000;
end $function$;

CREATE OR REPLACE FUNCTION public.tasks_of_dead_claims(tenant uuid)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET enable_sort TO 'off'
AS $function$
declare
  ended uuid;
begin
  return query
  with due as materialized (
    select c.task_id, c.tenant_id from claims c
    where c.status = 'active' and c.sweep_at <= now() and c.expires_at <= now()
    order by c.sweep_at, c.id limit 1000)
  select d.task_id from due d where d.tenant_id = tenant;
  for ended in
    with due as materialized (
      select s.id, s.tenant_id from sessions s
      where s.status = 'active' and s.sweep_at <= now() and s.expires_at <= now()
      order by s.sweep_at, s.id limit 1000)
    select d.id from due d where d.tenant_id = tenant
    union select session_id from endings where tenant_id = tenant and session_id is not null
  loop
    return query select task_id from claims where session_id = ended and status = 'active' limit 1000;
  end loop;
  for ended in select principal_id from endings where tenant_id = tenant and principal_id is not null loop
    return query select task_id from claims where holder_id = ended and status = 'active' limit 1000;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION public.tool_policy(owner uuid, session uuid)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(jsonb_agg(jsonb_build_object('id', id, 'name', name, 'version', version, 'protocol', protocol,
      'executableByHarness', executable, 'allowedByGovernance', true, 'visible', executable and status <> 'disabled',
      'reason', case when status = 'disabled' then 'skill_disabled'
        when not executable then 'protocol_not_supported_by_harness'
        else 'assigned_and_protocol_supported' end) order by name, version), '[]')
  from (
    select k.id, k.name, k.version, k.protocol, k.status,
      not exists (select from unnest(s.harness_capabilities) as c(name) where c.name like 'skills.protocol.%')
        or 'skills.protocol.' || k.protocol = any (s.harness_capabilities) as executable
    from skill_assignments a join skills k on k.id = a.skill_id left join sessions s on s.id = session
    where a.principal_id = owner
    order by k.name, k.version limit 500
  ) as assigned
$function$;

CREATE OR REPLACE FUNCTION public.uuid_or_null(text text)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when text ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then text::uuid end
$function$;

CREATE OR REPLACE FUNCTION public.workspaces_seen_by(viewer uuid)
 RETURNS SETOF uuid
 LANGUAGE sql
 STABLE ROWS 100
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
  with recursive seen (id) as (
    select workspace_id from workspace_members where principal_id = viewer
    union
    select below.id from seen cross join lateral (select id from workspaces where parent_id = seen.id offset 0) as below
  )
  select id from seen
$function$;

CREATE OR REPLACE FUNCTION public.zone_of(workspace uuid)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select v.spec ->> 'timezone'
  from workspaces w
  join workspaces above on above.id = any (w.path) and above.calendar_key is not null
  join calendars c on c.tenant_id = above.tenant_id and c.key = above.calendar_key
  join calendar_versions v on v.id = c.id
  where w.id = workspace
  order by cardinality(above.path) desc limit 1
$function$;
