-- Which secrets an agent has (organisation, section 12.2); their values are in the store of secrets alone.
create table agent_secrets (
  agent_id uuid not null references agents,
  name text not null,
  tenant_id uuid not null references tenants,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  updated_by uuid not null,
  primary key (agent_id, name)
);

-- An entry may also stand for a write in progress, at a path that a row names: nothing is deleted then.
alter table secret_leftovers add column is_kept boolean not null default false;
