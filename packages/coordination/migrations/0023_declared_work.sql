-- The task that `ensureWork` of a declared action made for a key (core, sections 7.4 and 8.9): no key makes a second one.
create table ensured_work (
  tenant_id uuid not null references tenants,
  key text not null check (length(key) between 1 and 500),
  -- Null only inside of the transaction that makes the task.
  task_id uuid references tasks,
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, key)
);
