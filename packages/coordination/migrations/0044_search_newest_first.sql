-- GET /tasks?q= costs the same in a large tenant as in a small one (decision 0211): the index of texts is kept in buckets of
-- 32,768 task numbers, and a search asks it for the newest ones first.
drop trigger tasks_index_words_added on tasks;
drop trigger tasks_index_words_changed on tasks;
alter table task_search rename to earlier_search;
alter table earlier_search rename constraint task_search_pkey to earlier_search_pkey;

-- What q searches in: title, description and public id, with a line break between them, which no term holds. A table of
-- its own, because a claim writes the task's row anew and would write its entries of this index anew too. The text is
-- kept as it is and folded by the index, so a restore into another locale makes the index fit.
create table task_search (
  task_id uuid primary key references tasks on delete cascade,
  tenant_id uuid not null,
  created_at timestamptz(3) not null,
  bucket integer not null,
  words text not null
);

-- All sequences of 1, 2 and 3 characters of a text in lower case, without those across white space, which no term holds. The
-- end of the tenant's id and the bucket stand before each, so that no tenant's texts slow another's search, and new texts are
-- added to one part of the index. A text beyond 8,192 characters has the one entry 'long' instead: every search of the bucket
-- looks at it. plpgsql, because it keeps its plan and is never compiled into the statement of its caller. The characters are
-- read in a row: by their positions in the array, 8,000 of them took 2 s instead of 15 ms.
create function task_tokens(tenant uuid, bucket integer, words text) returns text[]
language plpgsql immutable strict parallel safe as $$
declare
  prefix constant text := right(tenant::text, 8) || to_hex(bucket) || ':';
  letters constant text[] := string_to_array(translate(lower(words), e'\t\r\n', '   '), null);
begin
  if cardinality(letters) > 8192 then return array[prefix || 'long']; end if;
  return array(
    select prefix || gram from (
      select unnest(array[a, a || b, a || b || c]) as gram
      from unnest(letters, letters[2:], letters[3:]) as w(a, b, c)
    ) as g
    where gram is not null and position(' ' in gram) = 0
  );
end $$;

create or replace function index_task_words() returns trigger language plpgsql as $$
begin
  insert into task_search (task_id, tenant_id, created_at, bucket, words)
  values (new.id, new.tenant_id, new.created_at, new.public_number / 32768,
    concat_ws(e'\n', new.title, new.description, new.public_id))
  on conflict (task_id) do update set words = excluded.words;
  return null;
end $$;
create trigger tasks_index_words_added after insert on tasks
  for each row execute function index_task_words();
create trigger tasks_index_words_changed after update of title, description on tasks
  for each row when (old.title <> new.title or old.description <> new.description)
  execute function index_task_words();

insert into task_search (task_id, tenant_id, created_at, bucket, words)
select t.id, t.tenant_id, t.created_at, t.public_number / 32768, s.words
from earlier_search s join tasks t on t.id = s.task_id order by t.tenant_id, t.public_number;
drop table earlier_search;
drop function task_grams(uuid, text);
drop function search_grams(uuid, text[]);

-- The newest and the oldest task of each bucket. Numbers and times agree only nearly: a transaction has the time of its begin.
create index task_search_of_bucket on task_search (tenant_id, bucket, created_at);
-- New entries wait in a list that every search reads; 1 MiB keeps that below a few milliseconds.
create index task_search_tokens on task_search
  using gin ((task_tokens(tenant_id, bucket, words) collate "C")) with (gin_pending_list_limit = 1024);
