-- GET /statistics: what happened in a range of days is found by when it ended. Claims, runs and requests that still last are found
-- by their status, so that a claim and a start of a run write no further index entry.
create index tasks_completed on tasks (tenant_id, completed_at) where completed_at is not null;

-- Writes that were refused because the writer's claim or run had ended, counted per quarter of an hour: every time zone's days
-- begin at one. The processes that refuse them count in memory and add the counts here every second, so a refusal waits for
-- no row. There is no foreign key, because checking it would lock the tenant's row.
create table refused_writes (
  tenant_id uuid not null,
  -- The start of the quarter of an hour.
  at timestamptz(3) not null,
  principal_id uuid not null,
  -- That of the task, when the count was added.
  workspace_id uuid,
  count bigint not null check (count > 0),
  unique nulls not distinct (tenant_id, at, principal_id, workspace_id)
);
create index refused_writes_old on refused_writes (at);
