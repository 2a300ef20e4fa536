-- Instances of processes (organisation, section 15.4).
create table process_instances (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  workspace_id uuid references workspaces,
  definition_key text not null,
  definition_version integer not null,
  instance_key text not null,
  -- In whose name it acts: a key of the registry of agents.
  identity_agent text not null,
  status text not null check (status in ('running', 'suspended', 'completed', 'failed', 'cancelled')),
  outcome text,
  -- All that the engine remembers between two inputs.
  state jsonb not null,
  sla_state text not null default 'none' check (sla_state in ('ok', 'warning', 'breached', 'paused', 'unknown', 'none')),
  -- The last line of its journal.
  journal_seq integer not null default 0,
  started_at timestamptz(3) not null,
  updated_at timestamptz(3) not null default clock_timestamp(),
  completed_at timestamptz(3),
  check ((completed_at is null) = (status in ('running', 'suspended')))
) with (fillfactor = 70);
-- The key of an instance that has ended may start again.
create unique index process_instances_one_of_key on process_instances (tenant_id, definition_key, instance_key)
  where status in ('running', 'suspended');
create index process_instances_newest on process_instances (tenant_id, started_at desc, id desc);
create index process_instances_of_place on process_instances (coalesce(workspace_id, tenant_id), started_at desc, id desc);
create index process_instances_of_key on process_instances (tenant_id, definition_key, instance_key, started_at desc, id desc);
create index process_instances_of_status on process_instances (tenant_id, status, started_at desc, id desc);
create index process_instances_of_instance_key on process_instances (tenant_id, instance_key, started_at desc, id desc);
create index process_instances_late on process_instances (tenant_id, sla_state, started_at desc, id desc)
  where sla_state in ('warning', 'breached');

-- What happened to each instance, and what it led to. Lines are never changed.
create table process_instance_journal (
  instance_id uuid not null references process_instances,
  seq integer not null,
  tenant_id uuid not null,
  at timestamptz(3) not null,
  kind text not null check (kind in ('decision', 'intent', 'input', 'settings', 'data', 'timer', 'state')),
  element text,
  reason text,
  actor_id uuid,
  event_id uuid,
  data jsonb not null default '{}',
  primary key (instance_id, seq)
);
create index process_instance_journal_of_kind on process_instance_journal (instance_id, kind, seq);
create function refuse_process_journal_change() returns trigger language plpgsql as $$
begin
  raise exception 'the journal of a process instance is never changed';
end $$;
create trigger process_instance_journal_append_only before update or delete on process_instance_journal
  for each row execute function refuse_process_journal_change();

-- What an instance has taken, once: a source that comes again is passed over. An input that waits, because the instance is
-- suspended, is kept with what it says.
create table process_inputs (
  instance_id uuid not null references process_instances,
  source_ref text not null,
  tenant_id uuid not null,
  number bigint not null generated always as identity,
  -- Null when it was taken.
  held jsonb,
  primary key (instance_id, source_ref)
);
create index process_inputs_held on process_inputs (instance_id, number) where held is not null;

-- Timers that count, due ones by an index; nothing looks at the others.
create table process_timers (
  id uuid primary key,
  instance_id uuid not null references process_instances,
  tenant_id uuid not null,
  due_at timestamptz(3) not null
) with (fillfactor = 70);
create index process_timers_due on process_timers (due_at, id);
create index process_timers_of_instance on process_timers (instance_id);

-- What instances wait for, as an event is looked up: entity:<id>, event:<type>, observation:<kind>, calendar:<key>.
create table process_waits (
  instance_id uuid not null references process_instances,
  wait_key text not null,
  tenant_id uuid not null,
  primary key (instance_id, wait_key)
);
create index process_waits_of_key on process_waits (tenant_id, wait_key, instance_id);

-- Which events start instances of a definition, or find one by its key.
create table process_triggers (
  tenant_id uuid not null references tenants,
  definition_key text not null,
  definition_version integer not null,
  kind text not null check (kind in ('start', 'correlate')),
  number integer not null,
  wait_key text not null,
  -- Older facts than the definition start nothing.
  from_position bigint not null,
  primary key (tenant_id, definition_key, definition_version, kind, number)
);
create index process_triggers_of_key on process_triggers (tenant_id, wait_key, definition_key, definition_version, kind, number);

alter table skill_invocations drop constraint skill_invocations_requested_by_kind_check,
  add constraint skill_invocations_requested_by_kind_check
  check (requested_by_kind in ('principal', 'run', 'rule', 'approval', 'verification', 'process'));
