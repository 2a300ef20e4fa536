-- Work rules: what work follows from what happened, in whose name (organisation, section 8).
create table rules (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  workspace_id uuid references workspaces,
  goal_id uuid references goals,
  key text not null,
  description text not null default '',
  version integer not null default 1,
  status text not null check (status in ('enabled', 'disabled', 'archived')),
  trigger jsonb not null,
  trigger_kind text not null generated always as (trigger ->> 'kind') stored,
  trigger_type text not null generated always as (trigger ->> 'type') stored,
  condition jsonb not null default 'true',
  interpretation jsonb,
  action jsonb not null,
  -- What the person or program that enabled the rule, or wrote it last, asked with.
  authority jsonb,
  authority_principal_id uuid references principals,
  enabled_at timestamptz(3),
  -- The place in the journal from which on the rule looks at events: older facts are never evaluated.
  enabled_position bigint,
  next_run_at timestamptz(3),
  created_by uuid not null references principals,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((status = 'enabled') <= (authority is not null and enabled_at is not null and enabled_position is not null))
);
create unique index rules_one_of_key on rules (tenant_id, key) where status <> 'archived';
create index rules_newest on rules (tenant_id, created_at desc, id desc);
create index rules_of_place on rules (coalesce(workspace_id, tenant_id), created_at desc, id desc);
-- What looks at the journal: one entry for each enabled rule.
create index rules_enabled on rules (tenant_id, trigger_kind, trigger_type, id) where status = 'enabled';
create index rules_due on rules (next_run_at, id) where next_run_at is not null;

-- Every version as it was when it was written.
create table rule_versions (
  rule_id uuid not null references rules,
  version integer not null,
  tenant_id uuid not null references tenants,
  record jsonb not null,
  primary key (rule_id, version)
);

-- One look of a rule at one cause; the unique index makes a second one impossible.
create table rule_evaluations (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  workspace_id uuid references workspaces,
  rule_id uuid not null references rules,
  rule_version integer not null,
  trigger_ref text not null,
  trigger_event_id uuid,
  status text not null check (status in ('waiting', 'matched', 'not_matched', 'failed', 'skipped')),
  result jsonb not null default '{}',
  evidence jsonb not null default '[]',
  skill_invocation_id uuid,
  created_task_ids uuid[] not null default '{}',
  error jsonb,
  -- What of the action is still to be done, while the evaluation waits.
  pending jsonb,
  chain_depth integer not null default 0,
  failures integer not null default 0,
  next_check_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (rule_id, trigger_ref),
  check ((status = 'waiting') >= (next_check_at is not null))
);
create index rule_evaluations_newest on rule_evaluations (rule_id, created_at desc, id desc);
create index rule_evaluations_of_status on rule_evaluations (rule_id, status, created_at desc, id desc);
create index rule_evaluations_due on rule_evaluations (next_check_at, id) where next_check_at is not null;
create index rule_evaluations_waiting on rule_evaluations (rule_id) where next_check_at is not null;

-- The task that was filed under a key last, by whichever rule: while it is open, the key files no other.
create table rule_work (
  tenant_id uuid not null references tenants,
  dedup_key text not null,
  task_id uuid references tasks,
  rule_id uuid references rules,
  rule_version integer,
  primary key (tenant_id, dedup_key)
);

-- How many links a chain of rules has come to that led to the last act of a rule on a task: rules that cause each other
-- without end are found by it.
create table rule_touched_tasks (
  task_id uuid primary key references tasks,
  tenant_id uuid not null references tenants,
  chain_depth integer not null,
  touched_at timestamptz(3) not null default now()
);
