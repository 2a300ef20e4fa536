-- Agents, connection types and processes carry the link to their package, too (organisation, section 1.4; as migration 0063).
do $$
declare
  kind text;
begin
  foreach kind in array array['agents', 'connection_types', 'process_definitions']
  loop
    execute format('alter table %I add column package jsonb,
      add column package_key text generated always as (package ->> ''key'') stored', kind);
  end loop;
end $$;
create index agents_of_package on agents (tenant_id, package_key, created_at desc, id desc) where package_key is not null;
create index connection_types_of_package on connection_types (tenant_id, package_key, created_at desc, id desc)
  where package_key is not null;
-- Their list has the latest versions alone.
create index process_definitions_of_package on process_definitions (tenant_id, package_key, created_at desc, id desc)
  where package_key is not null and is_latest;

create trigger agents_link before insert on agents
  for each row execute function link_to_package('Agent', 'key');
create trigger connection_types_link before insert on connection_types
  for each row execute function link_to_package('ConnectionType', 'key');
create trigger process_definitions_link before insert on process_definitions
  for each row execute function link_to_package('Process', 'key');

-- What the packages that were applied before have made of these kinds.
update agents a set package = package_link(o) from package_objects o
where o.tenant_id = a.tenant_id and o.kind = 'Agent' and o.key = a.key and o.retired_at is null;
update process_definitions d set package = package_link(o) from package_objects o
where o.tenant_id = d.tenant_id and o.kind = 'Process' and o.key = d.key and o.retired_at is null;

create or replace function set_package_link(of package_objects, link jsonb) returns void language plpgsql as $$
begin
  case of.kind
    when 'WorkspaceType' then
      update workspace_types set package = link where tenant_id = of.tenant_id and key = of.key;
    when 'ProjectTemplate' then
      update project_templates set package = link where tenant_id = of.tenant_id and key = of.key;
    when 'TaskType' then
      update task_types set package = link where tenant_id = of.tenant_id and key = of.key;
    when 'ArtifactType' then
      update artifact_types set package = link where tenant_id = of.tenant_id and key = of.key;
    when 'Role' then
      update roles set package = link where tenant_id = of.tenant_id and slug = of.key and workspace_id is null;
    when 'Capability' then
      update capabilities set package = link where tenant_id = of.tenant_id and name = of.key;
    when 'Skill' then
      update skills set package = link where tenant_id = of.tenant_id and name = of.key;
    when 'WorkRule' then
      update rules set package = link where tenant_id = of.tenant_id and key = of.key and status <> 'archived';
    when 'Calendar' then
      update calendars set package = link where tenant_id = of.tenant_id and key = of.key;
    when 'Agent' then
      update agents set package = link where tenant_id = of.tenant_id and key = of.key;
    when 'ConnectionType' then
      update connection_types set package = link where tenant_id = of.tenant_id and key = of.key;
    when 'Process' then
      update process_definitions set package = link where tenant_id = of.tenant_id and key = of.key;
    else null;
  end case;
end $$;
