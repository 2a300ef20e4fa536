-- Calls of skills (organisation, section 10): leased work for executors of skills.

-- Where a skill is executed: the origin of an endpoint, or the entry point of a local skill; empty for a tool of the
-- executor's own server. And the audience of the token that the executor needs; empty for none.
alter table skills
  add column target text not null default '',
  add column audience text not null default '';

create table skill_invocations (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  skill_id uuid not null references skills,
  requested_by_kind text not null check (requested_by_kind in ('principal', 'run', 'rule', 'approval', 'verification')),
  requested_by_ref text not null,
  -- In whose name, and with what: the call ends where that ends.
  authority_principal_id uuid not null references principals,
  credential jsonb not null,
  authorization_basis jsonb,
  idempotency_key text,
  inputs jsonb not null,
  task_id uuid references tasks,
  run_id uuid references runs,
  workspace_id uuid,
  -- The approval that allows a call with effects outside.
  approval_id uuid references approvals,
  status text not null default 'pending' check (status in ('pending', 'running', 'succeeded', 'failed', 'cancelled')),
  attempt integer not null default 0,
  -- Of the contract, which never changes.
  max_attempts integer not null,
  timeout_seconds integer not null,
  backoff_seconds integer not null,
  -- The queue that it waits in: that of its skill.
  protocol text not null,
  target text not null,
  audience text not null,
  -- Rounded down: what is available now is so for the next statement too.
  available_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  output jsonb,
  error jsonb,
  cost jsonb,
  fencing_token integer not null default 0,
  executor_principal_id uuid references principals,
  executor_session_id uuid references sessions,
  lease_expires_at timestamptz(3),
  heartbeat_at timestamptz(3),
  artifact_id uuid,
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp(),
  -- Of the present attempt.
  started_at timestamptz(3),
  finished_at timestamptz(3),
  check ((status = 'running') = (lease_expires_at is not null)),
  check ((finished_at is null) = (status in ('pending', 'running')))
);

-- The queues of a tenant, each in its order: what waits in one is not read by the executors of another.
create index skill_invocations_queue on skill_invocations (tenant_id, protocol, target, audience, available_at, id)
  where status = 'pending';
create index skill_invocations_due on skill_invocations (lease_expires_at, id) where status = 'running';
create index skill_invocations_due_of_tenant on skill_invocations (tenant_id, lease_expires_at) where status = 'running';
-- A key names one call of a principal; keys that the core makes up in its name are others.
create unique index skill_invocations_one_key on skill_invocations
  (authority_principal_id, (requested_by_kind in ('principal', 'run')), idempotency_key) where idempotency_key is not null;
create unique index skill_invocations_one_for_approval on skill_invocations (approval_id, skill_id)
  where approval_id is not null;
create unique index skill_invocations_one_execution on skill_invocations (run_id)
  where run_id is not null and authorization_basis ->> 'kind' = 'execution';
-- What a loss of the basis ends.
create index skill_invocations_of_authority on skill_invocations (authority_principal_id, id)
  where status in ('pending', 'running');
create index skill_invocations_of_skill on skill_invocations (skill_id, id) where status in ('pending', 'running');
create index skill_invocations_of_run on skill_invocations (run_id, id)
  where run_id is not null and status in ('pending', 'running');
create index skill_invocations_of_task on skill_invocations (task_id, id)
  where task_id is not null and status in ('pending', 'running');

-- What allows a call no longer does; null while it does. Judged whenever the call is claimed, and after a loss was noted.
create function lost_basis(invocation uuid) returns text language sql stable as $$
  select case
    when p.status <> 'active' then 'principal_not_active'
    when not exists (
      select from iam_bindings b
      where b.id = (i.credential ->> 'credentialId')::uuid and b.principal_id = p.id and b.status = 'active'
        and (b.permissions @> needed.permissions or 'admin' = any (b.permissions))
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
    select coalesce(array_agg(name), '{}') as permissions from (
      select jsonb_array_elements_text(s.contract -> 'requiredPermissions') as name
      union select 'skills.invoke' where i.requested_by_kind in ('principal', 'run')
    ) of_call
  ) needed
  where i.id = invocation
$$;

-- Subjects whose change may have taken the basis from calls, or moved them to another queue; the worker looks at each call
-- that lives, in the order of their ids.
create table basis_losses (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenants,
  kind text not null check (kind in ('principal', 'skill', 'run', 'task')),
  subject_id uuid not null,
  -- Those up to this one were looked at.
  looked_until uuid not null default '00000000-0000-0000-0000-000000000000',
  noted_at timestamptz(3) not null default clock_timestamp()
);
create index basis_losses_due on basis_losses (noted_at, id);

create function note_basis_loss(tenant uuid, kind text, subject uuid) returns void language plpgsql as $$
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
end $$;

create function note_skill_change() returns trigger language plpgsql as $$
begin
  perform note_basis_loss(new.tenant_id, 'skill', new.id);
  return null;
end $$;
create trigger skills_note after update of status, target, audience on skills for each row
  when (new.status = 'disabled' and old.status <> 'disabled' or new.target <> old.target or new.audience <> old.audience)
  execute function note_skill_change();

create function note_skill_taken() returns trigger language plpgsql as $$
begin
  perform note_basis_loss(old.tenant_id, 'principal', old.principal_id);
  return null;
end $$;
create trigger skill_assignments_note_taken after delete on skill_assignments for each row
  execute function note_skill_taken();

create function note_principal_stopped() returns trigger language plpgsql as $$
begin
  perform note_basis_loss(new.tenant_id, 'principal', new.id);
  return null;
end $$;
create trigger principals_note_stopped after update of status on principals for each row
  when (new.status <> 'active' and old.status = 'active') execute function note_principal_stopped();

create function note_credential_change() returns trigger language plpgsql as $$
begin
  perform note_basis_loss(new.tenant_id, 'principal', new.principal_id);
  return null;
end $$;
create trigger iam_bindings_note_change after update of status, permissions on iam_bindings for each row
  when (new.status <> old.status or new.permissions <> old.permissions) execute function note_credential_change();
create trigger api_keys_note_revoked after update of revoked_at on api_keys for each row
  when (new.revoked_at is not null and old.revoked_at is null) execute function note_credential_change();

create function note_run_over() returns trigger language plpgsql as $$
begin
  perform note_basis_loss(new.tenant_id, 'run', new.id);
  return null;
end $$;
create trigger runs_note_over after update of status on runs for each row
  when (new.status <> 'running' and old.status = 'running') execute function note_run_over();

create function note_task_over() returns trigger language plpgsql as $$
begin
  perform note_basis_loss(new.tenant_id, 'task', new.id);
  return null;
end $$;
create trigger tasks_note_over after update of category on tasks for each row
  when (new.category like 'terminal%' and old.category not like 'terminal%') execute function note_task_over();

-- The attempts that wait for a call.
create index verifications_of_invocation on verifications (skill_invocation_id)
  where skill_invocation_id is not null and finished_at is null;
