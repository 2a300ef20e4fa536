-- Where work belongs: project templates, projects, and the revisions of their configuration (organisation, sections 4 and 5).
create table project_templates (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  key text not null,
  version integer not null,
  display_name text not null,
  description text not null default '',
  field_schema jsonb not null,
  lifecycle_schema jsonb not null,
  default_config jsonb not null,
  default_views jsonb not null,
  governance_schema jsonb not null,
  memory_defaults jsonb not null,
  status text not null default 'active' check (status in ('active', 'deprecated')),
  created_by uuid not null references principals,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (tenant_id, key, version)
);
create index project_templates_newest on project_templates (tenant_id, created_at desc, id desc);
create index project_templates_of_key on project_templates (tenant_id, key, created_at desc, id desc);
create index project_templates_of_status on project_templates (tenant_id, status, created_at desc, id desc);

create table projects (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  workspace_id uuid not null unique references workspaces,
  template_id uuid not null references project_templates,
  -- Those of the template, which never change: lists are narrowed by the key.
  template_key text not null,
  template_version integer not null,
  status_key text not null,
  system_status_category text not null
    check (system_status_category in ('planned', 'active', 'paused', 'terminal_success', 'terminal_cancelled')),
  owner_principal_id uuid references principals,
  start_date timestamptz(3),
  target_date timestamptz(3),
  custom_fields jsonb not null,
  settings jsonb not null,
  active_config_revision_id uuid,
  active_config_revision integer,
  status text not null default 'active' check (status in ('active', 'archived')),
  version integer not null default 1,
  created_by uuid not null references principals,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  archived_at timestamptz(3)
);
create index projects_newest on projects (tenant_id, created_at desc, id desc);
create index projects_of_place on projects (coalesce(workspace_id, tenant_id), created_at desc, id desc);
create index projects_of_status on projects (tenant_id, status, created_at desc, id desc);
create index projects_of_status_key on projects (tenant_id, status_key, created_at desc, id desc);
create index projects_of_category on projects (tenant_id, system_status_category, created_at desc, id desc);
create index projects_of_template on projects (tenant_id, template_key, created_at desc, id desc);

create table project_config_revisions (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  project_id uuid not null references projects,
  revision integer not null check (revision > 0),
  config jsonb not null,
  validation jsonb not null,
  comment text not null default '',
  created_by uuid not null references principals,
  created_at timestamptz(3) not null default clock_timestamp(),
  activated_at timestamptz(3),
  unique (project_id, revision)
);
create index project_config_revisions_newest on project_config_revisions (project_id, created_at desc, id desc);
alter table projects add foreign key (active_config_revision_id) references project_config_revisions;

-- A revision never changes: only when it was last activated is noted.
create function refuse_revision_change() returns trigger language plpgsql as $$
begin
  raise exception 'a configuration revision is immutable: % refused', tg_op using errcode = 'restrict_violation';
end $$;
create trigger project_config_revisions_immutable before update on project_config_revisions for each row
  when ((old.id, old.tenant_id, old.project_id, old.revision, old.config, old.validation, old.comment, old.created_by, old.created_at)
    is distinct from
    (new.id, new.tenant_id, new.project_id, new.revision, new.config, new.validation, new.comment, new.created_by, new.created_at))
  execute function refuse_revision_change();
create trigger project_config_revisions_kept before delete on project_config_revisions for each row
  execute function refuse_revision_change();

-- The project that what is filed in the workspace belongs to: that of the workspace itself, or of the nearest one above it.
alter table workspaces add column project_id uuid references projects;

-- Projects have names in other systems, too. Lists of projects are narrowed by system and id alone.
alter table external_references drop constraint external_references_entity_type_check,
  drop constraint external_references_entity_id_fkey,
  add constraint external_references_entity_type_check check (entity_type in ('project', 'task'));
create index external_references_of_projects on external_references
  (tenant_id, md5(external_system || '/' || external_id)) where entity_type = 'project';

-- Work of an archived project is not offered: its tasks have no row in the queue of work.

-- Workspaces of which the tasks are to be put into the queue, or taken out of it, with the place where a batch stopped.
create table work_offers (
  id bigint generated always as identity primary key,
  tenant_id uuid not null,
  workspace_id uuid not null,
  after_created_at timestamptz(3),
  after_id uuid
);

-- Shared by those who put a task into a workspace of the project, taken alone by its archive and its restore: no task is
-- judged by a status that is just changing.
create function offer_lock(project uuid) returns bigint language sql immutable as $$
  select hashtextextended('project/' || project, 0)
$$;

-- Whether the tasks of a workspace are offered: not those of an archived project.
create function offers_work(workspace uuid) returns boolean language plpgsql as $$
declare
  project uuid;
begin
  select project_id into project from workspaces where id = workspace;
  if project is null then return true; end if;
  perform pg_advisory_xact_lock_shared(offer_lock(project));
  return not exists (select from projects where id = project and status = 'archived');
end $$;

-- As in 0037; what an archived project has is taken out. A task that is claimed is judged when it is free again.
create or replace function queue_task() returns trigger language plpgsql as $$
declare
  required constant uuid := coalesce(new.requirement_set_id, '00000000-0000-0000-0000-000000000000');
  is_queued boolean;
begin
  if new.category in ('terminal_success', 'terminal_cancelled') or new.open_prerequisites > 0 or new.pending_gates > 0
    or new.open_verification_id is not null or new.lacks_input
    or (new.active_claim_id is null and new.workspace_id is not null and not offers_work(new.workspace_id)) then
    delete from work_queue where task_id = new.id;
    is_queued := false;
  elsif new.active_claim_id is null then
    insert into work_queue as q (task_id, tenant_id, set_id, workspace_id, assignee_id, priority, created_at, turn_at)
    values (new.id, new.tenant_id, required, new.workspace_id, new.assignee_id, new.priority, new.created_at, new.turn_at)
    on conflict (task_id) do update
    set set_id = excluded.set_id, workspace_id = excluded.workspace_id, assignee_id = excluded.assignee_id,
      priority = excluded.priority, turn_at = excluded.turn_at
    where (q.set_id, q.workspace_id, q.assignee_id, q.priority, q.turn_at)
      is distinct from (excluded.set_id, excluded.workspace_id, excluded.assignee_id, excluded.priority, excluded.turn_at);
    is_queued := true;
  else
    update work_queue
    set set_id = required, workspace_id = new.workspace_id, assignee_id = new.assignee_id, priority = new.priority,
      turn_at = new.turn_at
    where task_id = new.id;
    is_queued := found;
  end if;
  if is_queued and new.requirement_set_id is not null then
    perform note_queued_set(required);
  end if;
  if tg_op = 'UPDATE' and old.requirement_set_id is not null
    and (not is_queued or old.requirement_set_id is distinct from new.requirement_set_id) then
    perform note_left_set(new.tenant_id, old.requirement_set_id);
  end if;
  return null;
end $$;

-- Puts these tasks of one workspace into the queue or takes them out. Tasks that others have locked are waited for, or left.
create function offer_tasks(tenant uuid, ids uuid[], is_offered boolean, waits boolean) returns void language plpgsql as $$
declare
  locked uuid[];
  sets uuid[];
begin
  if waits then
    perform from tasks where id = any (ids) order by id for no key update;
  end if;
  select array_agg(id), array_agg(distinct requirement_set_id) filter (where requirement_set_id is not null)
  into locked, sets
  from (select id, requirement_set_id from tasks where id = any (ids) order by id for no key update skip locked) t;
  if is_offered then
    insert into work_queue (task_id, tenant_id, set_id, workspace_id, assignee_id, priority, created_at, turn_at)
    select id, tenant_id, coalesce(requirement_set_id, '00000000-0000-0000-0000-000000000000'), workspace_id, assignee_id,
      priority, created_at, turn_at
    from tasks
    where id = any (locked) and category not in ('terminal_success', 'terminal_cancelled') and open_prerequisites = 0
      and pending_gates = 0 and open_verification_id is null and not lacks_input and active_claim_id is null
    on conflict (task_id) do nothing;
    perform note_queued_set(id) from unnest(sets) as needed (id)
    where exists (select from work_queue q where q.tenant_id = tenant and q.set_id = needed.id);
  else
    delete from work_queue where task_id = any (locked);
    perform note_left_set(tenant, id) from unnest(sets) as needed (id);
  end if;
end $$;

-- Notes that the workspaces below one (itself included) which belong to this project offer their work now, or don't any
-- more. The first tasks are treated at once where nobody has them locked; the worker goes through all of them after the commit.
create function change_offers(tenant uuid, root uuid, project uuid, is_offered boolean) returns void
language plpgsql as $$
declare
  tasks_max constant integer := 1000;
  ids uuid[];
begin
  insert into work_offers (tenant_id, workspace_id)
  select tenant, id from workspaces
  where tenant_id = tenant and path @> array[root] and project_id is not distinct from project;
  if is_offered then
    ids := array(
      select t.id from workspaces w cross join lateral (
        select id from tasks where coalesce(workspace_id, tenant_id) = w.id order by created_at desc, id desc limit tasks_max) t
      where w.tenant_id = tenant and w.path @> array[root] and w.project_id is not distinct from project
      limit tasks_max);
  else
    ids := array(
      select q.task_id from workspaces w cross join lateral (
        select task_id from work_queue where coalesce(workspace_id, tenant_id) = w.id limit tasks_max) q
      where w.tenant_id = tenant and w.path @> array[root] and w.project_id is not distinct from project
      limit tasks_max);
  end if;
  perform offer_tasks(tenant, ids, is_offered, false);
end $$;

-- Brings the queue into line with the tasks of one noted workspace, a batch of them, the newest first. How many there were.
create function settle_offers(tasks_max integer) returns integer language plpgsql as $$
declare
  place work_offers;
  ids uuid[];
  last record;
begin
  select * into place from work_offers order by id limit 1 for update skip locked;
  if not found then return 0; end if;
  ids := array(
    select id from tasks
    where coalesce(workspace_id, tenant_id) = place.workspace_id
      and (created_at, id) < (coalesce(place.after_created_at, 'infinity'),
        coalesce(place.after_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
    order by created_at desc, id desc limit tasks_max);
  perform offer_tasks(place.tenant_id, ids, offers_work(place.workspace_id), true);
  if cardinality(ids) < tasks_max then
    delete from work_offers where id = place.id;
  else
    select created_at, id into last from tasks where id = ids[tasks_max];
    update work_offers set after_created_at = last.created_at, after_id = last.id where id = place.id;
  end if;
  return greatest(cardinality(ids), 1);
end $$;
