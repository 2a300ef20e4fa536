-- Attempts to verify that a task is done (core, section 8.8). What has checks is completed by a passed attempt only.

create table verifications (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  task_id uuid not null references tasks,
  -- Who asked for the completion, and with what; the attempt acts in its name.
  authority_principal_id uuid not null references principals,
  credential jsonb not null,
  attempt integer not null,
  status text not null default 'running'
    check (status in ('running', 'waiting_human', 'waiting_external', 'passed', 'failed', 'cancelled')),
  trigger text not null check (trigger in ('complete', 'run', 'approval', 'rule')),
  trigger_ref text,
  -- The checks as they were when the attempt was opened, in their order, each with its source.
  checks jsonb not null,
  results jsonb not null default '[]',
  -- How many of the checks have a result.
  cursor integer not null default 0,
  skill_invocation_id uuid,
  -- The gate that the present check waits for.
  approval_id uuid,
  -- Whether the attempt asked for it itself: then it takes it back when it ends before.
  owns_approval boolean not null default false,
  -- Since when the present check waits.
  waiting_since timestamptz(3),
  -- Events from here on were written after the attempt was opened.
  opened_position bigint not null default journal_position(),
  -- When there is something to do; null for an attempt that has ended and left nothing.
  next_check_at timestamptz(3),
  started_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  finished_at timestamptz(3),
  unique (task_id, attempt),
  check ((finished_at is null) = (status in ('running', 'waiting_human', 'waiting_external')))
);
create unique index verifications_one_open on verifications (task_id) where finished_at is null;
create index verifications_due on verifications (next_check_at, id) where next_check_at is not null;

-- The newest attempt, as the task shows it.
alter table tasks add column verification jsonb;

-- Keeps the task's row in step, so that a claim sees an open attempt under the one lock that it takes. Whoever writes an
-- attempt has locked its task.
create function note_verification() returns trigger language plpgsql as $$
begin
  update tasks
  set open_verification_id = case when new.finished_at is null then new.id end,
    verification = jsonb_build_object('id', new.id, 'status', new.status, 'attempt', new.attempt,
      'updatedAt', to_char(new.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
  where id = new.task_id;
  return null;
end $$;
create trigger verifications_note after insert or update of status on verifications
  for each row execute function note_verification();
