-- What a decision leads to, as the task's type declares it (core, section 14). A row for each decision that leads to
-- something; the worker does it in the name of the decider.
create table approval_outcomes (
  approval_id uuid primary key references approvals,
  tenant_id uuid not null references tenants,
  outcome text not null check (outcome in ('approved', 'rejected')),
  -- With what the decision was made. It must be active when the actions are done.
  credential jsonb not null,
  decision_event_id uuid not null,
  -- The declared actions as they were when it was decided: the task may change its type.
  declared jsonb not null,
  -- What became of each of them.
  actions jsonb not null default '[]',
  attempts integer not null default 0,
  -- Unexpected failures since the last look that went as expected.
  failures integer not null default 0,
  last_error jsonb,
  -- Null once all is done, or has failed.
  next_attempt_at timestamptz(3) default now(),
  failure_task_id uuid references tasks
);
create index approval_outcomes_due on approval_outcomes (next_attempt_at, approval_id) where next_attempt_at is not null;
