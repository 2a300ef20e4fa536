-- Catalogue packages: what is installed, which objects came from where (organisation, sections 1.4 and 14).
create table packages (
  id uuid not null unique,
  tenant_id uuid not null references tenants,
  key text not null,
  version text not null,
  install_hash text,
  title text not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (tenant_id, key)
);

-- The link belongs to the kind and the key of an object, not to one of its versions.
create table package_objects (
  tenant_id uuid not null references tenants,
  kind text not null,
  key text not null,
  package_key text not null,
  version text not null,
  install_hash text,
  applied_by text not null check (applied_by in ('installer', 'apply')),
  installed_at timestamptz(3) not null default now(),
  primary key (tenant_id, kind, key),
  foreign key (tenant_id, package_key) references packages
);
create index package_objects_of_package on package_objects (tenant_id, package_key, kind, key);

-- Catalogue objects carry their link, so that lists are read and narrowed without another table. Triggers keep it what the
-- row of package_objects says: one here for objects that are there, one on each table for those that come later.
do $$
declare
  kind text;
begin
  foreach kind in array array['workspace_types', 'project_templates', 'task_types', 'artifact_types', 'roles',
    'capabilities', 'skills', 'rules', 'calendars']
  loop
    execute format('alter table %I add column package jsonb,
      add column package_key text generated always as (package ->> ''key'') stored', kind);
    execute format('create index %I on %I (tenant_id, package_key, created_at desc, id desc) where package_key is not null',
      kind || '_of_package', kind);
  end loop;
end $$;

create function package_link(of package_objects) returns jsonb language sql stable as $$
  select jsonb_build_object('key', of.package_key, 'version', of.version, 'installHash', of.install_hash, 'installedAt',
    to_char(of.installed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
$$;

-- A new object of a kind and a key that a package has. Arguments: the kind, and the column of the key.
create function link_to_package() returns trigger language plpgsql as $$
begin
  select package_link(o) into new.package from package_objects o
  where o.tenant_id = new.tenant_id and o.kind = tg_argv[0] and o.key = to_jsonb(new) ->> tg_argv[1];
  return new;
end $$;

create trigger workspace_types_link before insert on workspace_types
  for each row execute function link_to_package('WorkspaceType', 'key');
create trigger project_templates_link before insert on project_templates
  for each row execute function link_to_package('ProjectTemplate', 'key');
create trigger task_types_link before insert on task_types
  for each row execute function link_to_package('TaskType', 'key');
create trigger artifact_types_link before insert on artifact_types
  for each row execute function link_to_package('ArtifactType', 'key');
create trigger roles_link before insert on roles
  for each row when (new.workspace_id is null) execute function link_to_package('Role', 'slug');
create trigger capabilities_link before insert on capabilities
  for each row execute function link_to_package('Capability', 'name');
create trigger skills_link before insert on skills
  for each row execute function link_to_package('Skill', 'name');
create trigger rules_link before insert on rules
  for each row execute function link_to_package('WorkRule', 'key');
create trigger calendars_link before insert on calendars
  for each row execute function link_to_package('Calendar', 'key');

-- The objects of a kind and a key get the link, or lose it.
create function set_package_link(of package_objects, link jsonb) returns void language plpgsql as $$
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
    else null;
  end case;
end $$;

create function spread_package_link() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform set_package_link(old, null);
  else
    perform set_package_link(new, package_link(new));
  end if;
  return null;
end $$;
create trigger package_objects_spread after insert or update or delete on package_objects
  for each row execute function spread_package_link();

-- A role or a capability that gets another name keeps its link.
create function rename_package_object() returns trigger language plpgsql as $$
begin
  update package_objects set key = to_jsonb(new) ->> tg_argv[1]
  where tenant_id = new.tenant_id and kind = tg_argv[0] and key = to_jsonb(old) ->> tg_argv[1];
  return null;
end $$;
create trigger roles_renamed after update of slug on roles
  for each row when (new.slug <> old.slug and new.package is not null)
  execute function rename_package_object('Role', 'slug');
create trigger capabilities_renamed after update of name on capabilities
  for each row when (new.name <> old.name and new.package is not null)
  execute function rename_package_object('Capability', 'name');
