-- What is said to a run while it works, and the runs that a run launches.

create domain control_operation as text
  check (value in ('queue', 'steer', 'redirect', 'request_cancel', 'force_cancel'));
create domain control_status as text check (value in ('accepted', 'applied', 'rejected', 'superseded'));
create domain cancellation_policy as text check (value in ('cascade_cooperative', 'detach'));
create domain child_outcome as text check (value in ('succeeded', 'failed', 'cancelled'));

create table run_control_messages (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  run_id uuid not null references runs,
  task_id uuid not null,
  -- Gap-free from 1, given under the run's lock.
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
  version integer not null default 1,
  accepted_at timestamptz(3) not null default clock_timestamp(),
  resolved_at timestamptz(3),
  unique (run_id, seq),
  unique (run_id, idempotency_key)
);
-- Those that wait for their executor, whose number is bounded.
create index run_control_messages_open on run_control_messages (run_id, seq) where status = 'accepted';

-- Cancellations that reach further than one transaction; the worker goes on with each and deletes it in the end.
create table run_cascades (
  message_id uuid primary key references run_control_messages,
  tenant_id uuid not null references tenants,
  created_at timestamptz(3) not null default now()
);
create index run_cascades_oldest on run_cascades (created_at, message_id);

create table child_handles (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  parent_run_id uuid not null references runs,
  parent_task_id uuid not null,
  child_task_id uuid not null unique,
  child_run_id uuid references runs,
  correlation_id text not null,
  -- Hex SHA-256 of the token's secret part.
  secret_hash text not null,
  -- What the child may do at most. They are never changed.
  permissions text[] not null,
  capabilities text[] not null,
  skills text[] not null,
  cancellation_policy cancellation_policy not null,
  depth integer not null,
  handle_version integer not null default 1,
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  revoke_reason text,
  created_at timestamptz(3) not null default clock_timestamp(),
  -- The result, written once.
  outcome child_outcome,
  summary text,
  data jsonb,
  artifact_refs uuid[],
  result_hash text,
  recorded_at timestamptz(3),
  unique (parent_run_id, correlation_id)
);
create index child_handles_of_run on child_handles (parent_run_id, created_at, id);

-- On the rows themselves, so that the start of a run that nobody launched looks nothing up for it.
alter table tasks add column child_handle_id uuid;
alter table runs add column child_handle_id uuid;

-- What a handle's status is: that of its child's run once there is one.
create function child_status(expires_at timestamptz, revoked_at timestamptz, task_category text, run_status text)
returns text language sql volatile as $$
  select case
    when run_status is not null then run_status
    when revoked_at is not null then 'revoked'
    when expires_at <= clock_timestamp() then 'expired'
    when task_category = 'terminal_cancelled' then 'cancelled'
    else 'pending' end
$$;
