-- Where the processes of a tenant have come to among the definitions that its next event may concern: they are judged in
-- several turns where that takes long. No row: at the first.
create table process_trigger_places (
  tenant_id uuid primary key references tenants,
  event_id uuid not null,
  definition_key text not null,
  definition_version integer not null
);

-- Which versions still have instances: the others correlate nothing.
create index process_instances_open on process_instances (tenant_id, definition_key, definition_version)
  where status in ('running', 'suspended');
