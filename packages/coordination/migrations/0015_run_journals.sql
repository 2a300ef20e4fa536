-- What a run writes while it works: checkpoints and actions, its budgets and what it has used of them, its progress.

-- As for claims (0009, 0010): each key looked up and locked a row that the same statement had found under locks that it
-- keeps, and nothing can delete tasks, sessions, principals and tenants.
alter table runs drop constraint runs_tenant_id_fkey;
alter table runs drop constraint runs_task_id_fkey;
alter table runs drop constraint runs_session_id_fkey;
alter table runs drop constraint runs_principal_id_fkey;

create domain run_status as text check (value in ('running', 'succeeded', 'failed', 'cancelled', 'suspended'));
create domain run_tally as bigint check (value >= 0);

-- An index with the status in its condition would keep the column from changing its type; it comes back below.
drop index runs_one_running;
alter table runs drop constraint runs_status_check;
alter table runs
  alter column status type run_status,
  -- Budgets (core, section 25). The currency is that of max_cost_micros, null without it.
  add column max_tokens run_tally,
  add column max_cost_micros run_tally,
  add column currency text,
  -- The last number given to a checkpoint and to an action: gap-free, because the run's row is locked to take the next.
  add column checkpoint_count integer not null default 0,
  add column action_count integer not null default 0,
  -- Sums over the actions of this run; costs by currency: {"USD": 1200}.
  add column input_tokens run_tally not null default 0,
  add column output_tokens run_tally not null default 0,
  add column costs jsonb not null default '{}',
  -- The latest of start, checkpoint, action and acknowledged control message.
  add column last_progress_at timestamptz(3),
  -- The task type's execution.progressTimeoutSeconds at the start, and what follows from it: when the run will have been
  -- silent for too long, and since when this silence is recorded. A sign of progress moves the one and clears the other.
  add column progress_timeout_seconds integer,
  add column stalls_at timestamptz(3),
  add column stalled_at timestamptz(3),
  -- When its executor applied a request_cancel: from then on it records no further action.
  add column cancel_applied_at timestamptz(3);
update runs set last_progress_at = started_at;
alter table runs
  alter column last_progress_at set not null,
  alter column last_progress_at set default now();
create unique index runs_one_running on runs (task_id) where status = 'running';

-- The order of the list, so that the runs of one claim, and those of a principal in one status, are read by pages.
drop index runs_of_claim;
create index runs_of_claim on runs (claim_id, started_at desc, id desc);
drop index runs_of_principal;
create index runs_of_principal on runs (principal_id, status, started_at desc, id desc);
-- The sweeper's queue, and the list of those that are recorded as silent.
create index runs_to_stall on runs (stalls_at, id) where status = 'running' and stalled_at is null and stalls_at is not null;
create index runs_stalled on runs (tenant_id, started_at desc, id desc) where status = 'running' and stalled_at is not null;

-- A run is written by each of its actions. The room lets the new version stay on its page, where no index changes.
alter table runs set (fillfactor = 80);

create table checkpoints (
  id uuid primary key,
  tenant_id uuid not null,
  run_id uuid not null references runs,
  task_id uuid not null,
  created_by_principal_id uuid not null,
  seq integer not null,
  kind text not null,
  data jsonb not null,
  -- Of the data as compact JSON: a page adds them up without reading the documents.
  data_bytes integer not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  unique (run_id, seq)
);
create index checkpoints_of_task on checkpoints (task_id, created_at desc, id desc);

create table run_actions (
  id uuid primary key,
  tenant_id uuid not null,
  run_id uuid not null references runs,
  task_id uuid not null,
  principal_id uuid not null,
  session_id uuid not null,
  skill_id uuid,
  seq integer not null,
  action text not null,
  status text not null check (status in ('started', 'completed', 'failed')),
  external_reference text,
  metadata jsonb not null,
  data_bytes integer not null,
  -- What this action has used; null where it said nothing.
  input_tokens run_tally,
  output_tokens run_tally,
  cost_micros run_tally,
  currency text,
  started_at timestamptz(3) not null default clock_timestamp(),
  finished_at timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp(),
  unique (run_id, seq)
);

-- Adds an amount to sums by currency; either may be null, then there is nothing to add. A sum stops at the largest integer
-- that a double holds.
create function add_cost(costs jsonb, currency text, amount bigint) returns jsonb language sql immutable
return case when currency is null or amount is null then costs
  else costs || jsonb_build_object(currency, least(coalesce((costs ->> currency)::numeric, 0) + amount, 9007199254740991)) end;
