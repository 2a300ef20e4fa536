-- Instances that a step of another one has called (organisation, section 15.2): by whom, how deep, and the first of them all.
alter table process_instances
  add column parent_id uuid,
  add column root_id uuid,
  add column call_depth smallint not null default 0;
create index process_instances_of_root on process_instances (root_id)
  where root_id is not null and status in ('running', 'suspended');

-- What a called instance is still to do because of its caller: begin, or end. The worker has each do it, in a transaction of its
-- own, so that nobody who holds an instance waits for another one, or for the agent that it acts as.
create table process_orders (
  instance_id uuid primary key references process_instances,
  tenant_id uuid not null,
  act text not null check (act in ('begin', 'end')),
  due_at timestamptz(3) not null default clock_timestamp()
);
create index process_orders_due on process_orders (due_at, instance_id);
