-- What SCIM filters and totals over many users need.

-- Every text of a user's document as `<source>:<path>=<beginning in lower case>`, for one index that finds equal texts
-- and beginnings of every attribute, single or in a list. What it finds are candidates: the filter itself decides. The
-- source stands in front because tenants share values: everybody has emails of the type "work".
create function scim_search(source uuid, document jsonb) returns tsvector
language plpgsql immutable parallel safe as $$
declare
  tag constant text := left(source::text, 8) || ':';
  keys text[];
  bytes bigint;
  -- a tsvector holds 1 MiB
  bytes_max constant bigint := 900000;
begin
  -- Attributes of an extension count like those of the core: `User.department`.
  with held (path, item) as (
    select e.key, e.value from jsonb_each(document) e where position(':' in e.key) = 0
    union all
    select split_part(e.key, ':', -1) || '.' || x.key, x.value
    from jsonb_each(document) e
    cross join lateral jsonb_each(case jsonb_typeof(e.value) when 'object' then e.value else '{}' end) x
    where position(':' in e.key) > 0
  ), opened (path, item) as (
    select h.path, i.item
    from held h
    cross join lateral jsonb_array_elements(
      case jsonb_typeof(h.item) when 'array' then h.item else jsonb_build_array(h.item) end
    ) i (item)
  ), texts (path, item) as (
    select o.path, o.item from opened o
    union all
    select o.path || '.' || p.key, p.value
    from opened o cross join lateral jsonb_each(case jsonb_typeof(o.item) when 'object' then o.item else '{}' end) p
  ), keyed as (
    select distinct tag || path || '=' || left(lower(item #>> '{}'), 60) as key
    from texts where jsonb_typeof(item) = 'string'
  )
  select array_agg(key), sum(octet_length(key)) into keys, bytes from keyed;
  -- Whoever has more than that is a candidate of every filter.
  if bytes > bytes_max then keys := array[tag || '*']; end if;
  return array_to_tsvector(coalesce(keys, '{}'));
end $$;

-- What finds the candidates whose text at the path is the value, or begins with it.
create function scim_search_for(source uuid, path text, value text, is_beginning boolean) returns tsquery
language sql immutable parallel safe
return (
  '''' || replace(replace(left(source::text, 8) || ':' || path || '=' || left(lower(value), 60), '\', '\\'), '''', '''''')
  || '''' || case when is_beginning then ':*' else '' end || ' | ''' || left(source::text, 8) || ':*'''
)::tsquery;

alter table scim_users add column search tsvector
  generated always as (scim_search(provisioning_source_id, document)) stored;
-- Without a list of pending entries, which every search would read from end to end.
create index scim_users_search on scim_users using gin (search) with (fastupdate = off);

-- Few of many: to find them by looking at everybody takes as long as there are users.
create index scim_users_inactive on scim_users (provisioning_source_id, created_at, id) where not active;
create index scim_users_modified on scim_users (provisioning_source_id, modified_at, id);
create index scim_groups_modified on scim_groups (provisioning_source_id, modified_at, id);

-- Every list tells how many there are in all, and to count 100,000 rows each time is dear.
alter table provisioning_sources
  add column users_count bigint not null default 0,
  add column active_users_count bigint not null default 0;
update provisioning_sources s set
  users_count = (select count(*) from scim_users u where u.provisioning_source_id = s.id),
  active_users_count = (select count(*) from scim_users u where u.provisioning_source_id = s.id and u.active);

-- Every write of a source changes its row anyway (its last sync), so this makes nobody wait who did not before.
create function count_scim_users() returns trigger
language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    update provisioning_sources s
    set users_count = users_count + d.users, active_users_count = active_users_count + d.active_users
    from (
      select provisioning_source_id, count(*) as users, count(*) filter (where active) as active_users
      from new_users group by provisioning_source_id
    ) d
    where s.id = d.provisioning_source_id;
  elsif tg_op = 'DELETE' then
    update provisioning_sources s
    set users_count = users_count - d.users, active_users_count = active_users_count - d.active_users
    from (
      select provisioning_source_id, count(*) as users, count(*) filter (where active) as active_users
      from old_users group by provisioning_source_id
    ) d
    where s.id = d.provisioning_source_id;
  else
    -- Added up, not joined: one statement may change every user.
    update provisioning_sources s
    set active_users_count = active_users_count + d.change
    from (
      select provisioning_source_id, sum(active_users) as change
      from (
        select provisioning_source_id, count(*) filter (where active) as active_users
        from new_users group by provisioning_source_id
        union all
        select provisioning_source_id, -count(*) filter (where active)
        from old_users group by provisioning_source_id
      ) counted
      group by provisioning_source_id
    ) d
    where s.id = d.provisioning_source_id and d.change <> 0;
  end if;
  return null;
end $$;
create trigger scim_users_counted_in after insert on scim_users
  referencing new table as new_users for each statement execute function count_scim_users();
create trigger scim_users_counted_out after delete on scim_users
  referencing old table as old_users for each statement execute function count_scim_users();
create trigger scim_users_recounted after update on scim_users
  referencing old table as old_users new table as new_users for each statement execute function count_scim_users();
