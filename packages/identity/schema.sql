-- GENERATED from migrations/ by: npm run generate
-- The whole schema of identity, to read and to review; the migrations make it.

create table administration_tokens (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid not null,
  external_identity_id uuid not null,
  browser_session_id uuid,
  public_prefix text not null,
  secret_hash text not null,
  auth_time timestamp(3) with time zone not null,
  created_at timestamp(3) with time zone default now() not null,
  expires_at timestamp(3) with time zone not null,
  revoked_at timestamp(3) with time zone,
  constraint administration_tokens_pkey PRIMARY KEY (id),
  constraint administration_tokens_prefix UNIQUE (public_prefix),
  constraint administration_tokens_secret UNIQUE (secret_hash),
  constraint administration_tokens_external_identity_id_fkey FOREIGN KEY (external_identity_id) REFERENCES external_identities(id),
  constraint administration_tokens_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint administration_tokens_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX administration_tokens_by_expiry ON public.administration_tokens USING btree (expires_at);
CREATE INDEX administration_tokens_of_principal ON public.administration_tokens USING btree (principal_id, tenant_id, created_at);

create table agent_connectors (
  agent_id uuid not null,
  person_id uuid not null,
  tenant_id uuid not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint agent_connectors_pkey PRIMARY KEY (agent_id, person_id, tenant_id),
  constraint agent_connectors_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES principals(id),
  constraint agent_connectors_person_id_fkey FOREIGN KEY (person_id) REFERENCES principals(id),
  constraint agent_connectors_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX agent_connectors_of_person ON public.agent_connectors USING btree (person_id, tenant_id);

create table audiences (
  id uuid not null,
  tenant_id uuid not null,
  key text not null,
  allowed_scopes text[] not null,
  status text default 'active'::text not null,
  created_at timestamp(3) with time zone default now() not null,
  signing_algorithm text default 'RS256'::text not null,
  constraint audiences_pkey PRIMARY KEY (id),
  constraint audiences_key UNIQUE (tenant_id, key),
  constraint audiences_signing_algorithm_check CHECK ((signing_algorithm = ANY (ARRAY['RS256'::text, 'ES256'::text, 'EdDSA'::text]))),
  constraint audiences_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text]))),
  constraint audiences_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX audiences_of_other_algorithms ON public.audiences USING btree (signing_algorithm) WHERE (signing_algorithm <> 'RS256'::text);

create table audit_records (
  sequence bigint generated always as identity not null,
  id uuid default gen_random_uuid() not null,
  tenant_id uuid not null,
  action text not null,
  actor_ref character varying(200) not null,
  resource_type text not null,
  resource_id uuid not null,
  outcome text not null,
  reason text default ''::text not null,
  request_id text not null,
  occurred_at timestamp(3) with time zone default now() not null,
  written_at timestamp(3) with time zone,
  mac bytea,
  constraint audit_records_pkey PRIMARY KEY (sequence),
  constraint audit_records_outcome_check CHECK ((outcome = ANY (ARRAY['allowed'::text, 'denied'::text])))
);
CREATE INDEX audit_records_by_action ON public.audit_records USING btree (tenant_id, action, sequence) WHERE (action <> ALL (ARRAY['platform_access_tokens.exchange'::text, 'tokens.exchange'::text]));
CREATE INDEX audit_records_by_actor ON public.audit_records USING btree (tenant_id, actor_ref, sequence);
CREATE INDEX audit_records_by_request ON public.audit_records USING btree (request_id, sequence);
CREATE INDEX audit_records_by_resource ON public.audit_records USING btree (resource_id, sequence);
CREATE INDEX audit_records_by_resource_type ON public.audit_records USING btree (tenant_id, resource_type, sequence) WHERE (resource_type <> ALL (ARRAY['platform_access_token'::text, 'service_account'::text]));
CREATE INDEX audit_records_denied ON public.audit_records USING btree (tenant_id, sequence) WHERE (outcome = 'denied'::text);
CREATE INDEX audit_records_of_tenant ON public.audit_records USING btree (tenant_id, sequence);
CREATE TRIGGER audit_records_append_only BEFORE DELETE OR UPDATE ON public.audit_records FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_records_mark_writer BEFORE INSERT ON public.audit_records FOR EACH STATEMENT EXECUTE FUNCTION mark_writer('19023', 'audit_records_sequence_seq');
CREATE TRIGGER audit_records_never_truncated BEFORE TRUNCATE ON public.audit_records FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table audit_removals (
  tenant_id uuid not null,
  position bigint not null,
  hmac bytea not null,
  key_id text not null,
  removed_at timestamp(3) with time zone default now() not null,
  constraint audit_removals_pkey PRIMARY KEY (tenant_id, "position")
);
CREATE TRIGGER audit_removals_append_only BEFORE DELETE OR UPDATE ON public.audit_removals FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_removals_never_truncated BEFORE TRUNCATE ON public.audit_removals FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table audit_seals (
  tenant_id uuid not null,
  position bigint not null,
  first_sequence bigint not null,
  last_sequence bigint not null,
  records integer not null,
  occurred_from timestamp(3) with time zone not null,
  occurred_to timestamp(3) with time zone not null,
  digest bytea not null,
  previous_hmac bytea not null,
  hmac bytea not null,
  key_id text not null,
  sealed_at timestamp(3) with time zone default now() not null,
  constraint audit_seals_pkey PRIMARY KEY (tenant_id, "position"),
  constraint audit_seals_position_check CHECK (("position" > 0)),
  constraint audit_seals_records_check CHECK ((records > 0))
);
CREATE UNIQUE INDEX audit_seals_by_last_sequence ON public.audit_seals USING btree (last_sequence);
CREATE TRIGGER audit_seals_append_only BEFORE DELETE OR UPDATE ON public.audit_seals FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_seals_never_truncated BEFORE TRUNCATE ON public.audit_seals FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table audit_starts (
  through bigint not null,
  hmac bytea not null,
  key_id text not null,
  started_at timestamp(3) with time zone default now() not null,
  constraint audit_starts_pkey PRIMARY KEY (through)
);
CREATE TRIGGER audit_starts_append_only BEFORE DELETE OR UPDATE ON public.audit_starts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_starts_never_truncated BEFORE TRUNCATE ON public.audit_starts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table authentication_contexts (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid not null,
  external_identity_id uuid,
  issuer text not null,
  acr text,
  amr text[] not null,
  auth_time timestamp(3) with time zone not null,
  source text not null,
  recorded_at timestamp(3) with time zone default now() not null,
  is_time_stated boolean default false not null,
  constraint authentication_contexts_pkey PRIMARY KEY (id),
  constraint authentication_contexts_source_check CHECK ((source = ANY (ARRAY['bootstrap'::text, 'federation'::text, 'passkey'::text]))),
  constraint authentication_contexts_external_identity_id_fkey FOREIGN KEY (external_identity_id) REFERENCES external_identities(id),
  constraint authentication_contexts_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint authentication_contexts_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX authentication_contexts_newest ON public.authentication_contexts USING btree (tenant_id, principal_id, recorded_at DESC);

create table browser_sessions (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid not null,
  external_identity_id uuid not null,
  authentication_context_id uuid not null,
  passkey_id uuid,
  client_id text not null,
  public_prefix text not null,
  secret_hash text not null,
  acr text,
  auth_time timestamp(3) with time zone not null,
  created_at timestamp(3) with time zone default now() not null,
  expires_at timestamp(3) with time zone not null,
  last_used_at timestamp(3) with time zone default now() not null,
  ended_at timestamp(3) with time zone,
  end_reason text default ''::text not null,
  constraint browser_sessions_pkey PRIMARY KEY (id),
  constraint browser_sessions_prefix UNIQUE (public_prefix),
  constraint browser_sessions_secret UNIQUE (secret_hash),
  constraint browser_sessions_authentication_context_id_fkey FOREIGN KEY (authentication_context_id) REFERENCES authentication_contexts(id),
  constraint browser_sessions_external_identity_id_fkey FOREIGN KEY (external_identity_id) REFERENCES external_identities(id),
  constraint browser_sessions_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint browser_sessions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX browser_sessions_by_expiry ON public.browser_sessions USING btree (expires_at);
CREATE INDEX browser_sessions_live ON public.browser_sessions USING btree (principal_id, created_at, id) WHERE (ended_at IS NULL);
CREATE INDEX browser_sessions_of_principal ON public.browser_sessions USING btree (principal_id, expires_at);

create table endings (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid,
  token_generation integer,
  reason text not null,
  actor_ref text not null,
  request_id text not null,
  acknowledged_at timestamp(3) with time zone default clock_timestamp() not null,
  group_id uuid,
  provisioning_source text,
  constraint endings_pkey PRIMARY KEY (id),
  constraint endings_group_id_key UNIQUE (group_id),
  constraint endings_principal_id_token_generation_key UNIQUE (principal_id, token_generation),
  constraint endings_check CHECK ((num_nonnulls(principal_id, group_id) = 1)),
  constraint endings_check1 CHECK ((num_nonnulls(principal_id, token_generation) = ANY (ARRAY[0, 2]))),
  constraint endings_group_id_fkey FOREIGN KEY (group_id) REFERENCES groups(id),
  constraint endings_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint endings_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX endings_in_order ON public.endings USING btree (acknowledged_at, id);

create table events (
  sequence bigint generated always as identity not null,
  id uuid not null,
  tenant_id uuid not null,
  type text not null,
  aggregate_type text not null,
  aggregate_id uuid not null,
  payload jsonb not null,
  occurred_at timestamp(3) with time zone default now() not null,
  constraint events_pkey PRIMARY KEY (sequence),
  constraint events_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX events_by_type ON public.events USING btree (type, sequence);
CREATE INDEX events_of_revocations ON public.events USING btree (occurred_at) WHERE (type = ANY (ARRAY['principal.disabled'::text, 'principal.enabled'::text, 'credential.revoked'::text, 'tenant.updated'::text, 'identity_provider.disabled'::text, 'identity_provider.enabled'::text, 'browser_session.revoked'::text, 'workload_rule.disabled'::text, 'workload_rule.enabled'::text, 'workload_rule.deleted'::text]));
CREATE INDEX events_of_tenant ON public.events USING btree (tenant_id, sequence);
CREATE TRIGGER events_append_only BEFORE DELETE OR UPDATE ON public.events FOR EACH ROW EXECUTE FUNCTION refuse_event_change();
CREATE TRIGGER events_mark_writer BEFORE INSERT ON public.events FOR EACH STATEMENT EXECUTE FUNCTION mark_journal_writer();
CREATE TRIGGER events_never_truncated BEFORE TRUNCATE ON public.events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table external_identities (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid not null,
  issuer text not null,
  subject text not null,
  status text default 'active'::text not null,
  source text not null,
  identity_provider_id uuid,
  external_id text default ''::text not null,
  last_sign_in_at timestamp(3) with time zone,
  last_acr text,
  created_at timestamp(3) with time zone default now() not null,
  constraint external_identities_pkey PRIMARY KEY (id),
  constraint external_identities_source_check CHECK ((source = ANY (ARRAY['manual'::text, 'federated'::text, 'provisioned'::text, 'passkey'::text]))),
  constraint external_identities_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text]))),
  constraint external_identities_identity_provider_id_fkey FOREIGN KEY (identity_provider_id) REFERENCES identity_providers(id),
  constraint external_identities_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint external_identities_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE UNIQUE INDEX external_identities_external_id ON public.external_identities USING btree (identity_provider_id, external_id) WHERE (external_id <> ''::text);
CREATE UNIQUE INDEX external_identities_of_passkeys ON public.external_identities USING btree (principal_id, tenant_id) WHERE (source = 'passkey'::text);
CREATE INDEX external_identities_of_principal ON public.external_identities USING btree (principal_id);
CREATE UNIQUE INDEX external_identities_subject ON public.external_identities USING btree (rtrim(issuer, '/'::text), subject);

create table group_members (
  id uuid not null,
  tenant_id uuid not null,
  group_id uuid not null,
  principal_id uuid not null,
  source text not null,
  identity_provider_id uuid,
  created_at timestamp(3) with time zone default now() not null,
  constraint group_members_pkey PRIMARY KEY (id),
  constraint group_members_principal UNIQUE (group_id, principal_id),
  constraint group_members_source_check CHECK ((source = ANY (ARRAY['local'::text, 'federated'::text, 'scim'::text]))),
  constraint group_members_group_id_fkey FOREIGN KEY (group_id) REFERENCES groups(id),
  constraint group_members_identity_provider_id_fkey FOREIGN KEY (identity_provider_id) REFERENCES identity_providers(id),
  constraint group_members_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint group_members_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX group_members_of_group ON public.group_members USING btree (group_id, created_at, principal_id);
CREATE INDEX group_members_of_principal ON public.group_members USING btree (principal_id);

create table groups (
  id uuid not null,
  tenant_id uuid not null,
  key text not null,
  name text not null,
  status text default 'active'::text not null,
  source text not null,
  created_at timestamp(3) with time zone default now() not null,
  deleted_at timestamp(3) with time zone,
  constraint groups_pkey PRIMARY KEY (id),
  constraint groups_source_check CHECK ((source = ANY (ARRAY['local'::text, 'federated'::text, 'scim'::text]))),
  constraint groups_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text]))),
  constraint groups_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE UNIQUE INDEX groups_key ON public.groups USING btree (tenant_id, key) WHERE (deleted_at IS NULL);
CREATE INDEX groups_of_tenant ON public.groups USING btree (tenant_id, created_at, id);

create table identity_providers (
  id uuid not null,
  tenant_id uuid not null,
  key text not null,
  issuer text not null,
  registered_issuer text not null,
  audience text not null,
  jwks_uri text default ''::text not null,
  subject_claim text default 'sub'::text not null,
  external_id_claim text default 'sub'::text not null,
  group_claim text default 'groups'::text not null,
  group_mappings jsonb default '{}'::jsonb not null,
  required_acr_values text[] default '{}'::text[] not null,
  required_amr_values text[] default '{}'::text[] not null,
  lifecycle_profile text default 'read_only'::text not null,
  jwks_cache_ttl_seconds integer default 300 not null,
  jwks_stale_grace_seconds integer default 900 not null,
  status text default 'active'::text not null,
  created_at timestamp(3) with time zone default now() not null,
  display_name_claim text default ''::text not null,
  authorized_parties text[] default '{}'::text[] not null,
  principal_kind text default 'human'::text not null,
  required_claims jsonb default '{}'::jsonb not null,
  key_set jsonb,
  email_claim text default 'email'::text not null,
  unknown_people text default 'create'::text not null,
  admit jsonb,
  offered boolean default false not null,
  own_issuer boolean default false not null,
  constraint identity_providers_pkey PRIMARY KEY (id),
  constraint identity_providers_issuer UNIQUE (tenant_id, issuer),
  constraint identity_providers_key UNIQUE (tenant_id, key),
  constraint identity_providers_lifecycle_profile_check CHECK ((lifecycle_profile = ANY (ARRAY['read_only'::text, 'managed'::text]))),
  constraint identity_providers_principal_kind_check CHECK ((principal_kind = ANY (ARRAY['human'::text, 'workload'::text, 'none'::text]))),
  constraint identity_providers_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text]))),
  constraint identity_providers_unknown_people_check CHECK ((unknown_people = ANY (ARRAY['create'::text, 'request'::text]))),
  constraint identity_providers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX identity_providers_of_issuer ON public.identity_providers USING btree (issuer) WHERE (principal_kind <> 'human'::text);

create table invitations (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid not null,
  kind text not null,
  email text,
  role text,
  invited_by text not null,
  message text not null,
  activates boolean not null,
  replaces boolean not null,
  public_prefix text not null,
  secret_hash text not null,
  created_at timestamp(3) with time zone default now() not null,
  expires_at timestamp(3) with time zone not null,
  accepted_at timestamp(3) with time zone,
  accepted_by text,
  revoked_at timestamp(3) with time zone,
  revoke_reason text default ''::text not null,
  constraint invitations_pkey PRIMARY KEY (id),
  constraint invitations_prefix UNIQUE (public_prefix),
  constraint invitations_secret UNIQUE (secret_hash),
  constraint invitations_accepted_by_check CHECK ((accepted_by = ANY (ARRAY['passkey'::text, 'identity_provider'::text]))),
  constraint invitations_check CHECK ((num_nonnulls(accepted_at, accepted_by) = ANY (ARRAY[0, 2]))),
  constraint invitations_check1 CHECK ((num_nonnulls(accepted_at, revoked_at) < 2)),
  constraint invitations_kind_check CHECK ((kind = ANY (ARRAY['invitation'::text, 'recovery'::text]))),
  constraint invitations_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint invitations_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX invitations_by_expiry ON public.invitations USING btree (expires_at);
CREATE INDEX invitations_of_principal ON public.invitations USING btree (principal_id);
CREATE INDEX invitations_of_tenant ON public.invitations USING btree (tenant_id, created_at, id);
CREATE INDEX invitations_open ON public.invitations USING btree (tenant_id, expires_at) WHERE ((accepted_at IS NULL) AND (revoked_at IS NULL));

create table journal_epoch (
  only_row boolean default true not null,
  server_started_at timestamp with time zone,
  table_number bigint,
  database_number bigint,
  cluster text,
  constraint journal_epoch_pkey PRIMARY KEY (only_row),
  constraint journal_epoch_only_row_check CHECK (only_row)
);

create table journal_epochs (
  first_sequence bigint not null,
  previous_end bigint not null,
  began_at timestamp(3) with time zone default clock_timestamp() not null,
  cluster text,
  reason text not null,
  constraint journal_epochs_pkey PRIMARY KEY (first_sequence),
  constraint journal_epochs_reason_check CHECK ((reason = ANY (ARRAY['restart'::text, 'another_cluster'::text, 'restored'::text, 'requested'::text])))
);

create table journal_floor (
  only_row boolean default true not null,
  floor bigint default 0 not null,
  constraint journal_floor_pkey PRIMARY KEY (only_row),
  constraint journal_floor_only_row_check CHECK (only_row)
);

create table memberships (
  tenant_id uuid not null,
  principal_id uuid not null,
  status text default 'active'::text not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint memberships_pkey PRIMARY KEY (tenant_id, principal_id),
  constraint memberships_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text]))),
  constraint memberships_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint memberships_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX memberships_of_principal ON public.memberships USING btree (principal_id);
CREATE INDEX memberships_of_tenant ON public.memberships USING btree (tenant_id, created_at, principal_id) WHERE (status = 'active'::text);

create table oauth_clients (
  id uuid not null,
  tenant_id uuid not null,
  client_id text not null,
  name text not null,
  redirect_uris text[] not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint oauth_clients_pkey PRIMARY KEY (id),
  constraint oauth_clients_client_id UNIQUE (client_id),
  constraint oauth_clients_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX oauth_clients_of_tenant ON public.oauth_clients USING btree (tenant_id, created_at, id);

create table oauth_grants (
  credential_id uuid not null,
  tenant_id uuid not null,
  granted_by uuid not null,
  client_id text not null,
  resource text not null,
  created_at timestamp(3) with time zone default now() not null,
  browser_session_id uuid,
  constraint oauth_grants_pkey PRIMARY KEY (credential_id),
  constraint oauth_grants_credential_id_fkey FOREIGN KEY (credential_id) REFERENCES platform_access_tokens(id),
  constraint oauth_grants_granted_by_fkey FOREIGN KEY (granted_by) REFERENCES principals(id),
  constraint oauth_grants_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX oauth_grants_of_person ON public.oauth_grants USING btree (granted_by, created_at, credential_id);

create table oauth_handles (
  kind text not null,
  handle_hash text not null,
  user_code_hash text,
  credential_id uuid,
  requested_by text,
  payload jsonb not null,
  created_at timestamp(3) with time zone default now() not null,
  expires_at timestamp(3) with time zone not null,
  consumed_at timestamp(3) with time zone,
  polled_at timestamp(3) with time zone,
  constraint oauth_handles_pkey PRIMARY KEY (kind, handle_hash),
  constraint oauth_handles_user_code UNIQUE (user_code_hash),
  constraint oauth_handles_kind_check CHECK ((kind = ANY (ARRAY['AuthorizationCode'::text, 'RefreshToken'::text, 'DeviceCode'::text]))),
  constraint oauth_handles_credential_id_fkey FOREIGN KEY (credential_id) REFERENCES platform_access_tokens(id)
);
CREATE INDEX oauth_handles_by_expiry ON public.oauth_handles USING btree (expires_at);
CREATE INDEX oauth_handles_of_credential ON public.oauth_handles USING btree (credential_id, kind, created_at) WHERE (credential_id IS NOT NULL);
CREATE INDEX oauth_handles_pending ON public.oauth_handles USING btree (requested_by) WHERE ((kind = 'DeviceCode'::text) AND (requested_by IS NOT NULL));

create table passkeys (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid not null,
  external_identity_id uuid not null,
  name text not null,
  credential_id text not null,
  public_key text not null,
  sign_count bigint not null,
  transports text[] default '{}'::text[] not null,
  is_synced boolean not null,
  is_backed_up boolean not null,
  created_at timestamp(3) with time zone default now() not null,
  last_used_at timestamp(3) with time zone,
  constraint passkeys_pkey PRIMARY KEY (id),
  constraint passkeys_credential UNIQUE (credential_id),
  constraint passkeys_external_identity_id_fkey FOREIGN KEY (external_identity_id) REFERENCES external_identities(id),
  constraint passkeys_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint passkeys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX passkeys_of_principal ON public.passkeys USING btree (principal_id, created_at, id);

create table platform_access_tokens (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid not null,
  kind text not null,
  name text not null,
  public_prefix text not null,
  secret_hash text not null,
  audiences text[] not null,
  scope_ceiling text[] not null,
  origin text not null,
  authentication_context_id uuid,
  auth_issuer text,
  acr text,
  amr text[],
  auth_time timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  expires_at timestamp(3) with time zone not null,
  last_used_at timestamp(3) with time zone,
  revoked_at timestamp(3) with time zone,
  revoke_reason text default ''::text not null,
  rotated_from_id uuid,
  idempotency_key text,
  idempotency_fingerprint text,
  generation integer default 0 not null,
  constraint platform_access_tokens_pkey PRIMARY KEY (id),
  constraint platform_access_tokens_key UNIQUE (tenant_id, idempotency_key),
  constraint platform_access_tokens_prefix UNIQUE (public_prefix),
  constraint platform_access_tokens_secret UNIQUE (secret_hash),
  constraint platform_access_tokens_kind_check CHECK ((kind = ANY (ARRAY['platform_access_token'::text, 'legacy_control_plane_api_key'::text, 'oauth_grant'::text]))),
  constraint platform_access_tokens_origin_check CHECK ((origin = ANY (ARRAY['sign_in'::text, 'agent'::text, 'migration'::text]))),
  constraint platform_access_tokens_authentication_context_id_fkey FOREIGN KEY (authentication_context_id) REFERENCES authentication_contexts(id),
  constraint platform_access_tokens_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint platform_access_tokens_rotated_from_id_fkey FOREIGN KEY (rotated_from_id) REFERENCES platform_access_tokens(id),
  constraint platform_access_tokens_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
) with (fillfactor=80);
CREATE INDEX platform_access_tokens_live ON public.platform_access_tokens USING btree (principal_id, generation, created_at, id) WHERE (revoked_at IS NULL);
CREATE INDEX platform_access_tokens_of_tenant ON public.platform_access_tokens USING btree (tenant_id, created_at, id);

create table principals (
  id uuid not null,
  kind text not null,
  display_name text not null,
  status text default 'active'::text not null,
  created_at timestamp(3) with time zone default now() not null,
  disabled_by_admin boolean default false not null,
  token_generation integer default 0 not null,
  constraint principals_pkey PRIMARY KEY (id),
  constraint principals_kind_check CHECK ((kind = ANY (ARRAY['human'::text, 'agent'::text, 'service_account'::text, 'workload'::text]))),
  constraint principals_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text, 'disabled'::text])))
);
CREATE INDEX principals_words ON public.principals USING gin (array_to_tsvector(name_words(display_name)));

create table provisioning_sources (
  id uuid not null,
  tenant_id uuid not null,
  key text not null,
  kind text not null,
  identity_provider_id uuid not null,
  service_principal_id uuid,
  upstream_mode text not null,
  upstream_base_url text not null,
  upstream_realm text not null,
  status text default 'active'::text not null,
  stale_after_seconds integer not null,
  last_sync_at timestamp(3) with time zone,
  stale_detected_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  users_count bigint default 0 not null,
  active_users_count bigint default 0 not null,
  constraint provisioning_sources_pkey PRIMARY KEY (id),
  constraint provisioning_sources_key UNIQUE (tenant_id, key),
  constraint provisioning_sources_principal UNIQUE (service_principal_id),
  constraint provisioning_sources_provider UNIQUE (identity_provider_id),
  constraint provisioning_sources_kind_check CHECK ((kind = ANY (ARRAY['scim'::text, 'ldap'::text]))),
  constraint provisioning_sources_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text]))),
  constraint provisioning_sources_upstream_mode_check CHECK ((upstream_mode = ANY (ARRAY['off'::text, 'scim'::text, 'admin'::text, 'auto'::text]))),
  constraint provisioning_sources_identity_provider_id_fkey FOREIGN KEY (identity_provider_id) REFERENCES identity_providers(id),
  constraint provisioning_sources_service_principal_id_fkey FOREIGN KEY (service_principal_id) REFERENCES principals(id),
  constraint provisioning_sources_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table provisioning_tokens (
  id uuid not null,
  tenant_id uuid not null,
  provisioning_source_id uuid not null,
  name text not null,
  public_prefix text not null,
  secret_hash text not null,
  created_at timestamp(3) with time zone default now() not null,
  expires_at timestamp(3) with time zone not null,
  revoked_at timestamp(3) with time zone,
  idempotency_key text,
  idempotency_fingerprint text,
  constraint provisioning_tokens_pkey PRIMARY KEY (id),
  constraint provisioning_tokens_idempotency_key UNIQUE (provisioning_source_id, idempotency_key),
  constraint provisioning_tokens_prefix UNIQUE (public_prefix),
  constraint provisioning_tokens_secret UNIQUE (secret_hash),
  constraint provisioning_tokens_provisioning_source_id_fkey FOREIGN KEY (provisioning_source_id) REFERENCES provisioning_sources(id),
  constraint provisioning_tokens_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table scim_groups (
  id uuid not null,
  provisioning_source_id uuid not null,
  tenant_id uuid not null,
  group_id uuid not null,
  display_name text not null,
  external_id text,
  version integer default 1 not null,
  created_at timestamp(3) with time zone default now() not null,
  modified_at timestamp(3) with time zone default now() not null,
  constraint scim_groups_pkey PRIMARY KEY (id),
  constraint scim_groups_group_id_key UNIQUE (group_id),
  constraint scim_groups_group_id_fkey FOREIGN KEY (group_id) REFERENCES groups(id),
  constraint scim_groups_provisioning_source_id_fkey FOREIGN KEY (provisioning_source_id) REFERENCES provisioning_sources(id),
  constraint scim_groups_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX scim_groups_created ON public.scim_groups USING btree (provisioning_source_id, created_at, id);
CREATE UNIQUE INDEX scim_groups_display_name ON public.scim_groups USING btree (provisioning_source_id, lower(display_name) COLLATE "C");
CREATE UNIQUE INDEX scim_groups_external_id ON public.scim_groups USING btree (provisioning_source_id, external_id COLLATE "C");
CREATE INDEX scim_groups_modified ON public.scim_groups USING btree (provisioning_source_id, modified_at, id);

create table scim_users (
  id uuid not null,
  provisioning_source_id uuid not null,
  tenant_id uuid not null,
  principal_id uuid not null,
  external_identity_id uuid not null,
  user_name text not null,
  external_id text,
  display_name text,
  active boolean not null,
  document jsonb not null,
  version integer default 1 not null,
  created_at timestamp(3) with time zone default now() not null,
  modified_at timestamp(3) with time zone default now() not null,
  search tsvector generated always as (scim_search(provisioning_source_id, document)) stored,
  upstream_id text,
  suspended boolean default false not null,
  upstream_restores integer default 0 not null,
  constraint scim_users_pkey PRIMARY KEY (id),
  constraint scim_users_principal UNIQUE (provisioning_source_id, principal_id),
  constraint scim_users_external_identity_id_fkey FOREIGN KEY (external_identity_id) REFERENCES external_identities(id),
  constraint scim_users_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint scim_users_provisioning_source_id_fkey FOREIGN KEY (provisioning_source_id) REFERENCES provisioning_sources(id),
  constraint scim_users_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX scim_users_created ON public.scim_users USING btree (provisioning_source_id, created_at, id);
CREATE INDEX scim_users_display_name ON public.scim_users USING btree (provisioning_source_id, lower(display_name) COLLATE "C");
CREATE UNIQUE INDEX scim_users_external_id ON public.scim_users USING btree (provisioning_source_id, external_id COLLATE "C");
CREATE INDEX scim_users_identity ON public.scim_users USING btree (external_identity_id);
CREATE INDEX scim_users_inactive ON public.scim_users USING btree (provisioning_source_id, created_at, id) WHERE (NOT active);
CREATE INDEX scim_users_modified ON public.scim_users USING btree (provisioning_source_id, modified_at, id);
CREATE INDEX scim_users_of_principal ON public.scim_users USING btree (principal_id);
CREATE INDEX scim_users_search ON public.scim_users USING gin (search) WITH (fastupdate=off);
CREATE UNIQUE INDEX scim_users_upstream ON public.scim_users USING btree (provisioning_source_id, upstream_id);
CREATE UNIQUE INDEX scim_users_user_name ON public.scim_users USING btree (provisioning_source_id, lower(user_name) COLLATE "C");
CREATE TRIGGER scim_users_counted_in AFTER INSERT ON public.scim_users REFERENCING NEW TABLE AS new_users FOR EACH STATEMENT EXECUTE FUNCTION count_scim_users();
CREATE TRIGGER scim_users_counted_out AFTER DELETE ON public.scim_users REFERENCING OLD TABLE AS old_users FOR EACH STATEMENT EXECUTE FUNCTION count_scim_users();
CREATE TRIGGER scim_users_recounted AFTER UPDATE ON public.scim_users REFERENCING OLD TABLE AS old_users NEW TABLE AS new_users FOR EACH STATEMENT EXECUTE FUNCTION count_scim_users();

create table service_accounts (
  id uuid not null,
  tenant_id uuid not null,
  principal_id uuid not null,
  client_id text not null,
  secret_hash text not null,
  audiences text[] not null,
  scope_ceiling text[] not null,
  last_used_at timestamp(3) with time zone,
  revoked_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  constraint service_accounts_pkey PRIMARY KEY (id),
  constraint service_accounts_client_id_key UNIQUE (client_id),
  constraint service_accounts_principal_id_key UNIQUE (principal_id),
  constraint service_accounts_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint service_accounts_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX service_accounts_of_tenant ON public.service_accounts USING btree (tenant_id, created_at, id);

create table sign_in_requests (
  id uuid not null,
  tenant_id uuid not null,
  identity_provider_id uuid not null,
  principal_id uuid not null,
  issuer text not null,
  subject text not null,
  external_id text not null,
  display_name text not null,
  email text,
  email_verified boolean not null,
  status text default 'pending'::text not null,
  attempts integer default 1 not null,
  created_at timestamp(3) with time zone default now() not null,
  last_attempt_at timestamp(3) with time zone default now() not null,
  expires_at timestamp(3) with time zone not null,
  decided_at timestamp(3) with time zone,
  decision_reason text default ''::text not null,
  address_hash text,
  constraint sign_in_requests_pkey PRIMARY KEY (id),
  constraint sign_in_requests_identity UNIQUE (tenant_id, issuer, subject),
  constraint sign_in_requests_principal UNIQUE (principal_id),
  constraint sign_in_requests_check CHECK (((status = 'pending'::text) = (decided_at IS NULL))),
  constraint sign_in_requests_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'admitted'::text, 'refused'::text]))),
  constraint sign_in_requests_identity_provider_id_fkey FOREIGN KEY (identity_provider_id) REFERENCES identity_providers(id),
  constraint sign_in_requests_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX sign_in_requests_by_expiry ON public.sign_in_requests USING btree (expires_at);
CREATE INDEX sign_in_requests_ended ON public.sign_in_requests USING btree (tenant_id, decided_at) WHERE (status <> 'pending'::text);
CREATE INDEX sign_in_requests_of_tenant ON public.sign_in_requests USING btree (tenant_id, created_at, id);
CREATE INDEX sign_in_requests_pending ON public.sign_in_requests USING btree (tenant_id, identity_provider_id, expires_at) WHERE (status = 'pending'::text);

create table signing_algorithm_uses (
  algorithm text not null,
  left_at timestamp(3) with time zone not null,
  constraint signing_algorithm_uses_pkey PRIMARY KEY (algorithm),
  constraint signing_algorithm_uses_algorithm_check CHECK ((algorithm = ANY (ARRAY['ES256'::text, 'EdDSA'::text])))
);

create table signing_keys (
  kid text not null,
  thumbprint text not null,
  first_seen_at timestamp(3) with time zone default now() not null,
  needed_until timestamp(3) with time zone,
  constraint signing_keys_pkey PRIMARY KEY (kid)
);

create table tenants (
  id uuid not null,
  slug text not null,
  name text not null,
  status text default 'active'::text not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint tenants_pkey PRIMARY KEY (id),
  constraint tenants_slug_key UNIQUE (slug),
  constraint tenants_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text])))
);
CREATE INDEX tenants_created ON public.tenants USING btree (created_at, id);

create table upstream_accounts (
  provisioning_source_id uuid not null,
  name_hash text not null,
  tenant_id uuid not null,
  upstream_id text,
  is_tried boolean default false not null,
  tried_at timestamp(3) with time zone default now() not null,
  held_by uuid,
  held_until timestamp(3) with time zone not null,
  constraint upstream_accounts_pkey PRIMARY KEY (provisioning_source_id, name_hash),
  constraint upstream_accounts_provisioning_source_id_fkey FOREIGN KEY (provisioning_source_id) REFERENCES provisioning_sources(id),
  constraint upstream_accounts_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

create table used_assertions (
  identity_provider_id uuid not null,
  jti_hash text not null,
  expires_at timestamp(3) with time zone not null,
  workload_rule_id uuid,
  constraint used_assertions_pkey PRIMARY KEY (identity_provider_id, jti_hash),
  constraint used_assertions_identity_provider_id_fkey FOREIGN KEY (identity_provider_id) REFERENCES identity_providers(id)
);
CREATE INDEX used_assertions_in_order ON public.used_assertions USING btree (expires_at);
CREATE INDEX used_assertions_of_provider ON public.used_assertions USING btree (identity_provider_id, expires_at);

create table used_challenges (
  challenge_hash text not null,
  expires_at timestamp(3) with time zone not null,
  constraint used_challenges_pkey PRIMARY KEY (challenge_hash)
);
CREATE INDEX used_challenges_by_expiry ON public.used_challenges USING btree (expires_at);

create table workload_rules (
  id uuid not null,
  tenant_id uuid not null,
  identity_provider_id uuid not null,
  key text not null,
  principal_id uuid not null,
  claims jsonb not null,
  audiences text[] not null,
  scope_ceiling text[] not null,
  single_use boolean not null,
  lifetime_seconds_max integer not null,
  status text default 'active'::text not null,
  created_at timestamp(3) with time zone default now() not null,
  last_used_at timestamp(3) with time zone,
  constraint workload_rules_pkey PRIMARY KEY (id),
  constraint workload_rules_key UNIQUE (identity_provider_id, key),
  constraint workload_rules_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text]))),
  constraint workload_rules_identity_provider_id_fkey FOREIGN KEY (identity_provider_id) REFERENCES identity_providers(id),
  constraint workload_rules_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES principals(id),
  constraint workload_rules_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);

CREATE OR REPLACE FUNCTION public.audit_number_before(instant timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE STRICT
AS $function$
declare
  low bigint := 0;
  high bigint := coalesce((select max(sequence) from audit_records), 0);
  middle bigint;
  found_number bigint;
  found_time timestamptz;
begin
  while low < high loop
    middle := low + (high - low + 1) / 2;
    select sequence, occurred_at into found_number, found_time
    from audit_records where sequence >= middle order by sequence limit 1;
    if found_time < instant then
      low := found_number;
    else
      high := middle - 1;
    end if;
  end loop;
  return low;
end $function$;

CREATE OR REPLACE FUNCTION public.audit_settled()
 RETURNS bigint
 LANGUAGE sql
AS $function$
  select settled_number(19023, 'audit_records_sequence_seq')
$function$;

CREATE OR REPLACE FUNCTION public.count_scim_users()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'INSERT' then
    update provisioning_sources s
    set users_count = users_count + d.users, active_users_count = active_users_count + d.active_users
    from (
      select provisioning_source_id, count(*) as users, count(*) filter (where active) as active_users
      from new_users group by provisioning_source_id
    ) d
    where s.id = d.provisioning_source_id;
  elsif tg_op = 'DELETE' then
    update provisioning_sources s
    set users_count = users_count - d.users, active_users_count = active_users_count - d.active_users
    from (
      select provisioning_source_id, count(*) as users, count(*) filter (where active) as active_users
      from old_users group by provisioning_source_id
    ) d
    where s.id = d.provisioning_source_id;
  else
    -- Added up, not joined: one statement may change every user.
    update provisioning_sources s
    set active_users_count = active_users_count + d.change
    from (
      select provisioning_source_id, sum(active_users) as change
      from (
        select provisioning_source_id, count(*) filter (where active) as active_users
        from new_users group by provisioning_source_id
        union all
        select provisioning_source_id, -count(*) filter (where active)
        from old_users group by provisioning_source_id
      ) counted
      group by provisioning_source_id
    ) d
    where s.id = d.provisioning_source_id and d.change <> 0;
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.enter_journal_epoch()
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  held journal_epoch;
  cluster_now text;
  why text;
  head bigint;
  last_written bigint;
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
  head := coalesce(pg_sequence_last_value('events_sequence_seq'), 0);
  last_written := greatest(
    (select coalesce(max(sequence), 0) from events), (select coalesce(max(floor), 0) from journal_floor));
  -- The first start: there is no poller that could be overtaken.
  if held.server_started_at is null and greatest(head, last_written) = 0 then return null; end if;

  why := case
    when held.server_started_at is null then 'requested'
    when split_part(held.cluster, '/', 1) is distinct from split_part(cluster_now, '/', 1) then 'another_cluster'
    when (select (table_number, database_number) from journal_epoch)
      is distinct from (held.table_number, held.database_number) then 'restored'
    when held.cluster is distinct from cluster_now then 'another_cluster'
    else 'restart' end;
  first := (extract(epoch from clock_timestamp() - timestamptz '2026-01-01 00:00:00+00') * 65536)::bigint;
  if first <= greatest(head, last_written) then first := greatest(head, last_written) + 1048576; end if;
  perform setval('events_sequence_seq', first);
  insert into journal_epochs (first_sequence, previous_end, cluster, reason)
  -- Before migration 0014 pollers were told numbers that no event has.
  values (first, case when held.cluster is null then greatest(head, last_written) else last_written end, cluster_now, why);
  return why;
end $function$;

CREATE OR REPLACE FUNCTION public.enter_principal(principal uuid)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock_shared(principal_lock(principal));
  return (select status from principals where id = principal);
end $function$;

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

CREATE OR REPLACE FUNCTION public.journal_settled()
 RETURNS bigint
 LANGUAGE sql
AS $function$
  select settled_number(19022, 'events_sequence_seq')
$function$;

CREATE OR REPLACE FUNCTION public.mark_journal_writer()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (
    select from journal_epoch
    where (server_started_at = pg_postmaster_start_time() and table_number = tableoid::bigint) is not true)
  then perform enter_journal_epoch();
  end if;
  perform pg_advisory_xact_lock_shared(
    (19022::bigint << 48) | coalesce(pg_sequence_last_value('events_sequence_seq'), 0));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.mark_writer()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock_shared(
    (tg_argv[0]::bigint << 48) | coalesce(pg_sequence_last_value(tg_argv[1]::regclass), 0));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.name_query(wanted text)
 RETURNS tsquery
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (SELECT (string_agg(((''''::text || w.word) || ''':*'::text), ' & '::text))::tsquery AS string_agg FROM unnest(name_words(name_query.wanted)) w(word));

CREATE OR REPLACE FUNCTION public.name_words(given text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN ARRAY(SELECT DISTINCT "left"(w.word, 60) AS "left" FROM regexp_split_to_table(lower(name_words.given), '[\s!-/:-@[-`{-~]+'::text) w(word) WHERE (w.word <> ''::text));

CREATE OR REPLACE FUNCTION public.principal_holders(principal uuid)
 RETURNS TABLE(pid integer, is_alone boolean)
 LANGUAGE sql
AS $function$
  select l.pid, l.mode = 'ExclusiveLock' from pg_locks l
  where l.locktype = 'advisory' and l.granted and l.pid <> pg_backend_pid() and l.objsubid = 1
    and l.database = (select oid from pg_database where datname = current_database())
    and l.classid = ((principal_lock(principal) >> 32) & 4294967295)::oid
    and l.objid = (principal_lock(principal) & 4294967295)::oid
$function$;

CREATE OR REPLACE FUNCTION public.principal_lock(principal uuid)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$ select (19026::bigint << 48) | (hashtextextended(principal::text, 0) & ((1::bigint << 48) - 1)) $function$;

CREATE OR REPLACE FUNCTION public.refuse_audit_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'DELETE'
    and old.occurred_at < nullif(current_setting('baton.audit_kept_since', true), '')::timestamptz
    and old.occurred_at < now() - interval '1 day'
    and (
      old.sequence <= (
        select last_sequence from audit_seals where tenant_id = old.tenant_id order by position desc limit 1)
      or not exists (select from audit_seals))
  then
    return old;
  end if;
  raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_event_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'DELETE'
    and old.occurred_at < nullif(current_setting('baton.journal_kept_since', true), '')::timestamptz
    and old.occurred_at < now() - interval '1 day'
    and old.sequence <= (select floor from journal_floor)
  then
    return old;
  end if;
  raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.scim_search(source uuid, document jsonb)
 RETURNS tsvector
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
 SET jit TO 'off'
AS $function$
declare
  tag constant text := left(source::text, 8) || ':';
  keys text[];
  bytes bigint;
  -- a tsvector holds 1 MiB
  bytes_max constant bigint := 900000;
begin
  -- Attributes of an extension count like those of the core: `User.department`.
  with held (path, item) as (
    select e.key, e.value from jsonb_each(document) e where position(':' in e.key) = 0
    union all
    select split_part(e.key, ':', -1) || '.' || x.key, x.value
    from jsonb_each(document) e
    cross join lateral jsonb_each(case jsonb_typeof(e.value) when 'object' then e.value else '{}' end) x
    where position(':' in e.key) > 0
  ), opened (path, item) as (
    select h.path, i.item
    from held h
    cross join lateral jsonb_array_elements(
      case jsonb_typeof(h.item) when 'array' then h.item else jsonb_build_array(h.item) end
    ) i (item)
  ), texts (path, item) as (
    select o.path, o.item from opened o
    union all
    select o.path || '.' || p.key, p.value
    from opened o cross join lateral jsonb_each(case jsonb_typeof(o.item) when 'object' then o.item else '{}' end) p
  ), keyed as (
    select distinct tag || path || '=' || left(lower(item #>> '{}'), 60) as key
    from texts where jsonb_typeof(item) = 'string'
  )
  select array_agg(key), sum(octet_length(key)) into keys, bytes from keyed;
  -- Whoever has more than that is a candidate of every filter.
  if bytes > bytes_max then keys := array[tag || '*']; end if;
  return array_to_tsvector(coalesce(keys, '{}'));
end $function$;

CREATE OR REPLACE FUNCTION public.scim_search_for(source uuid, path text, value text, is_beginning boolean)
 RETURNS tsquery
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (((((((''''::text || replace(replace((((("left"((source)::text, 8) || ':'::text) || path) || '='::text) || "left"(lower(value), 60)), '\'::text, '\\'::text), ''''::text, ''''''::text)) || ''''::text) || CASE WHEN is_beginning THEN ':*'::text ELSE ''::text END) || ' | '''::text) || "left"((source)::text, 8)) || ':*'''::text))::tsquery;

CREATE OR REPLACE FUNCTION public.settled_number(mark integer, numbers regclass)
 RETURNS bigint
 LANGUAGE sql
AS $function$
  select least(head.number, (
    select min((locks.classid::bigint & 65535) << 32 | locks.objid::bigint)
    from pg_locks locks
    where locks.locktype = 'advisory' and locks.objsubid = 1 and locks.classid::bigint >> 16 = mark
      and locks.database = (select oid from pg_database where datname = current_database())
      and head.number >= 0))
  from (select coalesce(pg_sequence_last_value(numbers), 0) as number) head
$function$;

CREATE OR REPLACE FUNCTION public.take_principal_lock(principal uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET lock_timeout TO '600ms'
AS $function$
declare
  waited_for integer[];
  holder record;
begin
  for attempt in 1..15 loop
    if pg_try_advisory_xact_lock(principal_lock(principal)) then return; end if;
    waited_for := array(select pid from principal_holders(principal));
    begin
      perform pg_advisory_xact_lock(principal_lock(principal));
      return;
    exception when lock_not_available then
      perform pg_stat_clear_snapshot();
      for holder in
        select h.pid, h.is_alone and (a.state_change > clock_timestamp() - interval '600 ms'
          or a.state = 'active' and a.wait_event_type is distinct from 'Lock') as is_at_work
        from principal_holders(principal) h left join pg_stat_activity a on a.pid = h.pid
        where h.pid = any (waited_for)
      loop
        if pg_backend_pid() = any (pg_blocking_pids(holder.pid)) then
          raise exception 'a holder of the principal waits for this one' using errcode = 'deadlock_detected';
        elsif holder.is_at_work is not true then
          perform pg_terminate_backend(holder.pid);
        end if;
      end loop;
    end;
  end loop;
  perform pg_advisory_xact_lock(principal_lock(principal));
end $function$;
