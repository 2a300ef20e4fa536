-- What an executor was told from memory when it took a task: once for each claim, and never changed.
create table context_packs (
  id uuid primary key,
  tenant_id uuid not null,
  task_id uuid not null,
  claim_id uuid not null unique,
  created_by uuid not null,
  as_of timestamptz(3) not null,
  as_of_mode text not null check (as_of_mode in ('claim', 'now')),
  budget_tokens integer not null,
  -- What the memory service was asked, so that it can be asked again.
  question jsonb not null,
  -- What it answered: entities, facts, snapshots.
  pack jsonb not null,
  trace_id text check (length(trace_id) <= 200),
  created_at timestamptz(3) not null default clock_timestamp()
);
