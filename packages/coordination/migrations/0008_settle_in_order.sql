-- A completion locks its task, then the tasks that wait for it. In the order of their ids, two completions could wait for
-- each other: one had locked B, which waits for A too, and wanted A; the other one completed A and wanted B. So a
-- completion waits only while it holds none of the waiting tasks: all that such a wait holds is a prerequisite of what it
-- waits for, and relations have no cycle.
create or replace function settle_prerequisite() returns trigger language plpgsql as $$
declare
  waiting uuid[];
  wanted uuid;
  busy uuid;
begin
  select array_agg(distinct waiting_task_id) into waiting from task_relations where prerequisite_task_id = new.id;
  if waiting is null then
    return null;
  end if;
  -- After the last attempt they are waited for in the order of their ids; what deadlocks then is repeated.
  for attempt in 1..20 loop
    wanted := null;
    begin
      if busy is not null then
        perform from tasks where id = busy for no key update;
      end if;
      foreach wanted in array waiting loop
        perform from tasks where id = wanted for no key update nowait;
      end loop;
      exit;
    exception when lock_not_available then
      -- The lock timeout of the wait itself.
      if wanted is null then
        raise;
      end if;
      busy := wanted;
    end;
  end loop;
  with locked as materialized (
    select w.id, r.relations
    from tasks w join (
      select waiting_task_id, count(*) as relations from task_relations
      where prerequisite_task_id = new.id group by waiting_task_id
    ) r on r.waiting_task_id = w.id
    order by w.id
    for no key update of w
  )
  update tasks w
  set open_prerequisites = w.open_prerequisites
    + case when new.category = 'terminal_success' then -locked.relations else locked.relations end
  from locked where w.id = locked.id;
  return null;
end $$;
