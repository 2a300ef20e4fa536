-- Views: what packages publish to be shown, one row for each key (organisation, section 14.4). Which package a view is of
-- stands in package_objects.
create table views (
  id uuid not null unique,
  tenant_id uuid not null references tenants,
  key text not null,
  version integer not null default 1,
  status text not null default 'active' check (status in ('active', 'retired')),
  spec json not null,
  -- Of the spec, which lists don't read.
  title text not null generated always as (spec ->> 'title') stored,
  titles json not null generated always as (spec -> 'titles') stored,
  spec_hash text not null,
  created_by uuid not null references principals,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (tenant_id, key)
);

-- Calls of skills, newest first: of a tenant, of a task, and of a place.
create index skill_invocations_newest on skill_invocations (tenant_id, created_at desc, id desc);
create index skill_invocations_by_task on skill_invocations (task_id, created_at desc, id desc) where task_id is not null;
create index skill_invocations_of_place on skill_invocations (coalesce(workspace_id, tenant_id), created_at desc, id desc)
where task_id is null;
