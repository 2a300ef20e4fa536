-- What steps of processes ask memory (organisation, section 15.2, recall): a row stands from when the step is reached until its
-- answer is taken, or nobody waits for it any more. The worker asks, outside of any transaction, and asks again what a killed one left.
create table process_recalls (
  id uuid primary key,
  instance_id uuid not null references process_instances,
  tenant_id uuid not null,
  element text not null,
  question jsonb not null,
  namespaces text[] not null,
  attempts integer not null default 0,
  due_at timestamptz(3) not null default clock_timestamp()
) with (fillfactor = 70);
create index process_recalls_due on process_recalls (due_at, id);
