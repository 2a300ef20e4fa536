-- Who is mentioned where: in the description of a task, or in a comment. A row stays when an edit removes the mention, so that an
-- edit that adds it again notifies nobody twice.
create table mentions (
  -- The comment, or the task itself for its description.
  source_id uuid not null,
  principal_id uuid not null references principals,
  tenant_id uuid not null references tenants,
  task_id uuid not null references tasks,
  author_id uuid not null references principals,
  is_present boolean not null default true,
  created_at timestamptz(3) not null default now(),
  primary key (source_id, principal_id)
);
