-- Tenants, principals, sessions, tasks under exclusive leases, runs, and the journal of every change.
-- The database decides time, order and uniqueness: now(), row locks, unique indexes.

create table tenants (
  id uuid primary key,
  slug text not null unique,
  name text not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create table principals (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  kind text not null check (kind in ('human', 'agent', 'service')),
  display_name text not null,
  status text not null default 'active' check (status in ('active', 'paused', 'disabled')),
  metadata jsonb not null default '{}',
  profile jsonb not null default '{}',
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index principals_newest on principals (tenant_id, created_at desc, id desc);

create table api_keys (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  key_prefix text not null unique,
  key_hash text not null,
  permissions text[] not null,
  expires_at timestamptz(3),
  last_used_at timestamptz(3),
  revoked_at timestamptz(3),
  created_at timestamptz(3) not null default now()
);
create index api_keys_of_principal on api_keys (principal_id);

create table iam_bindings (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  issuer text not null,
  iam_tenant_id uuid not null,
  iam_principal_id uuid not null,
  permissions text[] not null,
  status text not null default 'active' check (status in ('active', 'disabled', 'revoked')),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- One identity enters one tenant of the installation, as one principal.
  unique (issuer, iam_principal_id)
);
create index iam_bindings_of_principal on iam_bindings (principal_id, created_at desc);

create table delegations (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  human_principal_id uuid not null references principals,
  agent_principal_id uuid not null references principals,
  permissions text[] not null default '{}',
  starts_at timestamptz(3) not null default now(),
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  created_at timestamptz(3) not null default now()
);
create index delegations_newest on delegations (tenant_id, created_at desc, id desc);
create index delegations_live on delegations (agent_principal_id, human_principal_id) where revoked_at is null;
create index delegations_of_human on delegations (human_principal_id) where revoked_at is null;

create table sessions (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  on_behalf_of_id uuid references principals,
  delegation_id uuid references delegations,
  status text not null default 'active' check (status in ('active', 'stale', 'closed')),
  client_name text not null,
  client_version text not null default '',
  control_level text not null,
  harness_type text,
  harness_version text,
  protocol_version text,
  hostname text,
  harness_capabilities text[],
  environment jsonb,
  metadata jsonb not null default '{}',
  started_at timestamptz(3) not null default now(),
  heartbeat_at timestamptz(3) not null default now(),
  -- The length it was taken for: a heartbeat that names none renews by it.
  lease_seconds integer not null default 300,
  expires_at timestamptz(3) not null,
  ended_at timestamptz(3)
);
create index sessions_newest on sessions (tenant_id, started_at desc, id desc);
create index sessions_of_principal on sessions (principal_id) where status <> 'closed';
create index sessions_on_behalf on sessions (on_behalf_of_id) where status <> 'closed';
create index sessions_due on sessions (expires_at) where status = 'active';

create table task_types (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  key text not null,
  version integer not null,
  display_name text not null,
  description text not null default '',
  field_schema jsonb not null default '{}',
  lifecycle_schema jsonb not null,
  -- Read from lifecycle_schema once, when the type is made: it is immutable, and the claim statement needs them.
  claim_status text,
  claim_category text,
  claim_from text[] not null default '{}',
  -- null unless claim_status leads to it: a release moves a task along a declared edge or not at all
  release_status text,
  release_category text,
  execution jsonb,
  approval_schema jsonb not null default '{}',
  context_schema jsonb not null default '{}',
  completion_schema jsonb not null default '{}',
  artifact_schema jsonb not null default '{}',
  instructions text not null default '',
  acceptance jsonb not null default '[]',
  status text not null default 'active' check (status in ('active', 'deprecated')),
  created_by uuid not null references principals,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (tenant_id, key, version)
);
create index task_types_newest on task_types (tenant_id, created_at desc, id desc);

-- Each tenant numbers its tasks by a sequence of its own: no number is given twice, and one that a failed command drew
-- is left out. A row that counts would stay locked until the commit, so tasks could only be made one after another.
create function task_numbers(tenant uuid) returns text language sql immutable as
  $$ select 'task_numbers_' || replace(tenant::text, '-', '') $$;
create function create_task_numbers(tenant uuid) returns void language plpgsql as $$
begin
  execute format('create sequence %I', task_numbers(tenant));
end $$;
create function next_task_number(tenant uuid) returns bigint language sql volatile as
  $$ select nextval(task_numbers(tenant)::regclass) $$;

create table tasks (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  public_number bigint not null,
  public_id text not null generated always as ('TASK-' || lpad(public_number::text, greatest(6, length(public_number::text)), '0')) stored,
  workspace_id uuid,
  type_id uuid not null references task_types,
  title text not null,
  description text not null default '',
  status text not null,
  category text not null check (category in ('backlog', 'active', 'blocked', 'terminal_success', 'terminal_cancelled')),
  -- 0 critical, 1 high, 2 medium, 3 low: the order in which work is handed out
  priority smallint not null check (priority between 0 and 3),
  owner_id uuid references principals,
  assignee_id uuid references principals,
  custom_fields jsonb not null default '{}',
  start_date timestamptz(3),
  due_date timestamptz(3),
  goal_id uuid,
  origin jsonb not null,
  acceptance jsonb not null default '[]',
  evidence jsonb not null default '[]',
  version integer not null default 1,
  claim_epoch bigint not null default 0,
  -- The lease lies on the row that a claim locks, so that one statement can judge and take it.
  active_claim_id uuid,
  lease_expires_at timestamptz(3),
  -- How many relations make it wait for a task that is not done; kept by the triggers below. It lets the index of open
  -- work leave out what is blocked: reading past them made a look for work ten times slower (decision 0202).
  open_prerequisites integer not null default 0 check (open_prerequisites >= 0),
  created_by uuid not null references principals,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  completed_at timestamptz(3),
  unique (tenant_id, public_number),
  check ((active_claim_id is null) = (lease_expires_at is null))
);
create index tasks_newest on tasks (tenant_id, created_at desc, id desc);
-- None of the indexed columns is changed by a claim, or its update of the row would touch every index.
create index tasks_available on tasks (tenant_id, priority, created_at, id)
  where category in ('backlog', 'active', 'blocked') and open_prerequisites = 0;
create index tasks_available_to on tasks (tenant_id, assignee_id, priority, created_at, id)
  where category in ('backlog', 'active', 'blocked') and open_prerequisites = 0 and assignee_id is not null;
create index tasks_of_owner on tasks (tenant_id, owner_id, created_at desc, id desc) where owner_id is not null;
create index tasks_of_assignee on tasks (tenant_id, assignee_id, created_at desc, id desc) where assignee_id is not null;
-- The dates as they are sorted: undated last.
create index tasks_by_start on tasks (tenant_id, coalesce(start_date, 'infinity'), id);
create index tasks_by_due on tasks (tenant_id, coalesce(due_date, 'infinity'), id);

create table task_relations (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  from_task_id uuid not null references tasks,
  to_task_id uuid not null references tasks,
  type text not null check (type in ('parent', 'blocks', 'depends_on', 'spawned_by', 'related_to')),
  -- "A blocks B" and "B depends on A" say the same: B waits for A.
  waiting_task_id uuid generated always as (case type when 'depends_on' then from_task_id when 'blocks' then to_task_id end) stored,
  prerequisite_task_id uuid generated always as (case type when 'depends_on' then to_task_id when 'blocks' then from_task_id end) stored,
  created_by uuid not null references principals,
  created_at timestamptz(3) not null default now(),
  unique (from_task_id, to_task_id, type),
  check (from_task_id <> to_task_id)
);
create index task_relations_to on task_relations (to_task_id, type);
create index task_relations_waiting on task_relations (waiting_task_id, prerequisite_task_id) where waiting_task_id is not null;
create index task_relations_prerequisite on task_relations (prerequisite_task_id) where prerequisite_task_id is not null;

-- A relation and the completion of its prerequisite count once between them, whichever comes first: the relation holds
-- the prerequisite (shared) while it looks, and the completion has it locked.
create function count_prerequisite() returns trigger language plpgsql as $$
declare
  relation task_relations;
begin
  if tg_op = 'INSERT' then relation := new; else relation := old; end if;
  perform from tasks where id = relation.prerequisite_task_id for share;
  update tasks set open_prerequisites = open_prerequisites + case tg_op when 'INSERT' then 1 else -1 end
  where id = relation.waiting_task_id
    and exists (select from tasks where id = relation.prerequisite_task_id and category <> 'terminal_success');
  return null;
end $$;
create trigger task_relations_count_added after insert on task_relations
  for each row when (new.prerequisite_task_id is not null) execute function count_prerequisite();
create trigger task_relations_count_removed after delete on task_relations
  for each row when (old.prerequisite_task_id is not null) execute function count_prerequisite();

create function settle_prerequisite() returns trigger language plpgsql as $$
begin
  with waiting as materialized (
    select w.id, r.relations
    from tasks w join (
      select waiting_task_id, count(*) as relations from task_relations
      where prerequisite_task_id = new.id group by waiting_task_id
    ) r on r.waiting_task_id = w.id
    order by w.id
    for no key update of w
  )
  update tasks w
  set open_prerequisites = w.open_prerequisites
    + case when new.category = 'terminal_success' then -waiting.relations else waiting.relations end
  from waiting where w.id = waiting.id;
  return null;
end $$;
create trigger tasks_settle_prerequisite after update of category on tasks
  for each row when ((old.category = 'terminal_success') <> (new.category = 'terminal_success'))
  execute function settle_prerequisite();

create table claims (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  task_id uuid not null references tasks,
  session_id uuid not null references sessions,
  holder_id uuid not null references principals,
  status text not null default 'active' check (status in ('active', 'released', 'stale')),
  fencing_token bigint not null,
  intent text not null default '',
  acquired_at timestamptz(3) not null default now(),
  heartbeat_at timestamptz(3) not null default now(),
  -- The length it was taken for: a heartbeat that names none renews by it.
  lease_seconds integer not null default 300,
  expires_at timestamptz(3) not null,
  released_at timestamptz(3),
  release_reason text,
  unique (task_id, fencing_token)
);
-- The second guard, behind the lock on the task: never two active claims of one task.
create unique index claims_one_active on claims (task_id) where status = 'active';
create index claims_newest on claims (tenant_id, acquired_at desc, id desc);
create index claims_of_session on claims (session_id) where status = 'active';
create index claims_of_holder on claims (holder_id) where status = 'active';
create index claims_due on claims (expires_at) where status = 'active';

create table runs (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  task_id uuid not null references tasks,
  claim_id uuid not null references claims,
  principal_id uuid not null references principals,
  session_id uuid not null references sessions,
  fencing_token bigint not null,
  attempt integer not null,
  status text not null default 'running' check (status in ('running', 'succeeded', 'failed', 'cancelled', 'suspended')),
  started_at timestamptz(3) not null default now(),
  finished_at timestamptz(3),
  input jsonb,
  output jsonb,
  failure_reason text,
  cancel_requested_at timestamptz(3),
  cancel_requested_by uuid references principals,
  max_duration_seconds bigint,
  max_actions bigint,
  metadata jsonb not null default '{}',
  instructions_hash text,
  instructions_refs jsonb,
  agent_revision_id uuid,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (task_id, attempt)
);
create unique index runs_one_running on runs (task_id) where status = 'running';
create index runs_newest on runs (tenant_id, started_at desc, id desc);
create index runs_of_claim on runs (claim_id);
create index runs_of_principal on runs (principal_id, status);

-- Answers kept under an Idempotency-Key. The row is written in the transaction of its command.
create table idempotency_keys (
  tenant_id uuid not null references tenants,
  key text not null,
  fingerprint text not null,
  status integer,
  body json,
  expires_at timestamptz(3) not null,
  primary key (tenant_id, key)
);
create index idempotency_keys_due on idempotency_keys (expires_at);

-- Positions come from transaction ids, which start lower in a cluster that a dump was restored into, and fall behind what
-- readers have seen after a fail-over that lost transactions. A process that meets another cluster than the one noted
-- here raises the offset above everything that can have been handed out (journal/epoch.ts).
create table journal_epoch (
  singleton boolean primary key default true check (singleton),
  position_offset bigint not null default 0,
  -- system identifier and timeline; null until the first process connects, or where they can't be read
  cluster text
);
insert into journal_epoch default values;

-- Where an event stands in the journal: never below its own transaction's id, which is what the horizon needs, and never
-- below that of a transaction that is over, so that an event that follows from another stands behind it. By the own id
-- alone a close stood before the claim that it ended: ids are given at the first lock, and locks are waited for.
-- plpgsql, because it keeps its plan: as an SQL function it cost 12 µs of each inserting statement, so it costs 2.
-- volatile, so that it looks after the waits of the inserting statement, not before them.
create function journal_position() returns bigint language plpgsql volatile as $$
begin
  return (select position_offset from journal_epoch)
    + greatest(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1);
end $$;

-- Every event below this position is committed or gone: nothing can still appear there.
create function journal_horizon() returns bigint language sql stable as
  'select position_offset + pg_snapshot_xmin(pg_current_snapshot())::text::bigint from journal_epoch';

create table events (
  sequence bigint generated always as identity primary key,
  id uuid not null,
  tenant_id uuid not null references tenants,
  position bigint not null default journal_position(),
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
  occurred_at timestamptz(3) not null default now()
);
create index events_in_order on events (tenant_id, position, sequence);
create index events_of_entity on events (tenant_id, entity_id, position, sequence);

create function refuse_journal_change() returns trigger language plpgsql as $$
begin
  raise exception 'the journal is append-only: % refused', tg_op using errcode = 'restrict_violation';
end $$;
create trigger events_append_only before update or delete on events
  for each row execute function refuse_journal_change();
create trigger events_never_truncated before truncate on events
  for each statement execute function refuse_journal_change();

create table journal_floors (
  tenant_id uuid primary key references tenants,
  floor_position bigint not null default 0,
  floor_sequence bigint not null default 0
);

-- One row per event until it is delivered, written by the statement that writes the event. It can't name an event that
-- doesn't exist, so it has no foreign key: checking one took 6 of the 23 µs that both rows cost.
create table outbox (
  event_sequence bigint primary key,
  tenant_id uuid not null,
  attempts integer not null default 0,
  -- infinity when it is set aside: then dead_at says since when
  available_at timestamptz(3) not null default now(),
  dead_at timestamptz(3),
  last_error text
);
-- New rows are found by the primary key and are in no other index.
create index outbox_again on outbox (available_at) where attempts > 0;
