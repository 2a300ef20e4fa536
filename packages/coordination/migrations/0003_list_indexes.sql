-- Every filter of a list that a caller can use alone has an index, and so has the search `GET /tasks?q=`.
-- No index holds tasks.status: a claim changes it, and each index of a changed column makes the claim's update touch
-- them all. A status is looked up by the categories that it can have.
create index tasks_of_type on tasks (tenant_id, type_id, created_at desc, id desc);
create index tasks_of_category on tasks (tenant_id, category, created_at desc, id desc);
create index tasks_of_priority on tasks (tenant_id, priority, created_at desc, id desc);
create index claims_by_session on claims (session_id, acquired_at desc, id desc);
create index claims_by_task on claims (task_id, acquired_at desc, id desc);
create index claims_by_status on claims (tenant_id, status, acquired_at desc, id desc);
create index sessions_by_status on sessions (tenant_id, status, started_at desc, id desc);
create index runs_by_task on runs (task_id, started_at desc, id desc);
create index runs_by_principal on runs (principal_id, started_at desc, id desc);
create index runs_by_status on runs (tenant_id, status, started_at desc, id desc);
create index principals_of_kind on principals (tenant_id, kind, created_at desc, id desc);
create index task_types_of_status on task_types (tenant_id, status, created_at desc, id desc);

-- What q searches in: title, description and public id, with a line break between them, which no term holds. A table of
-- its own, because a claim writes the task's row anew and would write its entries of this index anew too. The text is
-- kept as it is and folded by the index, so a restore into another locale makes the index fit.
create table task_search (
  task_id uuid primary key references tasks on delete cascade,
  tenant_id uuid not null,
  words text not null
);

-- All sequences of 1, 2 and 3 characters of a text in lower case, each once, without those across white space, which no
-- term holds. The end of the tenant's id stands before each, so that no tenant's texts slow another's search. A text
-- beyond 8,192 characters has the one entry 'long' instead: every search looks at it.
-- plpgsql, because it keeps its plan and is never compiled into the statement of its caller.
create function task_grams(tenant uuid, words text) returns text[] language plpgsql immutable strict parallel safe as $$
declare
  prefix constant text := right(tenant::text, 8);
  letters constant text[] := string_to_array(translate(lower(words), e'\t\r\n', '   '), null);
begin
  if cardinality(letters) > 8192 then return array[prefix || 'long']; end if;
  return array(
    select prefix || gram from (
      select letters[n] from generate_subscripts(letters, 1) as n
      union select letters[n] || letters[n + 1] from generate_subscripts(letters, 1) as n
      union select letters[n] || letters[n + 1] || letters[n + 2] from generate_subscripts(letters, 1) as n
    ) as g(gram)
    where gram is not null and position(' ' in gram) = 0
  );
end $$;

-- Of the sequences that a text must hold to hold all terms, at most 16: the longest of each term, evenly spread.
create function search_grams(tenant uuid, terms text[]) returns text[] language plpgsql immutable strict parallel safe as $$
begin
  return (
    select array_agg(distinct right(tenant::text, 8) || substr(term, at, least(3, length(term))))
    from (select lower(given) as term from unnest(terms) as t(given)) as lowered,
      lateral generate_series(1, greatest(1, length(term) - 2),
        greatest(1, ceil(length(term) / greatest(1, floor(16.0 / cardinality(terms))))::integer)) as at
  );
end $$;

create function index_task_words() returns trigger language plpgsql as $$
begin
  insert into task_search (task_id, tenant_id, words)
  values (new.id, new.tenant_id, concat_ws(e'\n', new.title, new.description, new.public_id))
  on conflict (task_id) do update set words = excluded.words;
  return null;
end $$;
create trigger tasks_index_words_added after insert on tasks
  for each row execute function index_task_words();
create trigger tasks_index_words_changed after update of title, description on tasks
  for each row when (old.title <> new.title or old.description <> new.description)
  execute function index_task_words();

insert into task_search (task_id, tenant_id, words)
select id, tenant_id, concat_ws(e'\n', title, description, public_id) from tasks;

-- New entries wait in a list that every search reads; 1 MiB keeps that below a few milliseconds.
create index task_search_grams on task_search
  using gin ((task_grams(tenant_id, words) collate "C")) with (gin_pending_list_limit = 1024);
