-- A move between statuses of the category blocked, out of one that holds the task back into one from which a claim starts, begins
-- the count of failed attempts anew. Before, it kept the count, and the next failure ended the attempts again.
--
-- A calendar's new zone is noted whether or not a workspace names the calendar. Before, a workspace that another transaction was
-- creating at that moment wasn't seen, and its tasks kept the old zone.

-- Whether the move of a task is somebody's decision that it can be tried again: out of a status that holds it back.
create function ends_hold(old tasks, new tasks) returns boolean language sql stable as $$
  select old.category = 'blocked' and (new.category <> 'blocked'
    or new.status <> old.status and is_claimable_blocked(new.type_id, new.status)
      and not is_claimable_blocked(old.type_id, old.status))
$$;

create or replace function note_availability() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    new.starts_at := start_of_work(new.workspace_id, new.type_id, new.start_date);
  else
    if (new.start_date, new.workspace_id, new.type_id) is distinct from (old.start_date, old.workspace_id, old.type_id) then
      new.starts_at := start_of_work(new.workspace_id, new.type_id, new.start_date);
    end if;
    if new.category like 'terminal%'
      or new.active_claim_id is not distinct from old.active_claim_id and ends_hold(old, new) then
      new.failed_attempts := 0;
      new.retry_at := null;
    elsif new.failed_attempts > old.failed_attempts and is_last_attempt(new.type_id, new.failed_attempts - 1) then
      new.retry_at := attempts_are_over();
      insert into exhausted_tasks (task_id, tenant_id) values (new.id, new.tenant_id) on conflict do nothing;
    end if;
  end if;
  new.available_at := greatest(new.starts_at, new.retry_at);
  return new;
end $$;

create or replace trigger tasks_note_availability before update of start_date, workspace_id, type_id, starts_at, retry_at,
  failed_attempts, category, status on tasks
  for each row when (
    (new.failed_attempts > 0 or new.retry_at is not null) and (new.category like 'terminal%' or new.category <> old.category
      or new.category = 'blocked' and new.status <> old.status)
    or old.failed_attempts <> new.failed_attempts
    or old.retry_at is distinct from new.retry_at
    or old.starts_at is distinct from new.starts_at
    or old.start_date is distinct from new.start_date
    or new.start_date is not null and (old.workspace_id is distinct from new.workspace_id or old.type_id <> new.type_id))
  execute function note_availability();

create or replace function note_zone_of_calendar() returns trigger language plpgsql as $$
begin
  if (select spec ->> 'timezone' from calendar_versions where id = new.id)
    is distinct from (select spec ->> 'timezone' from calendar_versions where id = old.id) then
    perform note_zone_change(new.tenant_id);
  end if;
  return null;
end $$;

-- Who may decide is found by what was granted, however many people a tenant has. The statement repeats the conditions.
create index iam_bindings_of_deciders on iam_bindings (tenant_id, created_at desc, id desc)
  where status = 'active' and permissions && '{approvals.decide,admin}';
create index api_keys_of_deciders on api_keys (tenant_id, created_at desc, id desc)
  where revoked_at is null and permissions && '{approvals.decide,admin}';
