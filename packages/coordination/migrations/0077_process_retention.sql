-- Instances that have ended are forgotten after a time, with their journals (organisation, section 15.4).
create index process_instances_over on process_instances (completed_at, id)
  where completed_at is not null and attend_at is null;
-- What asks memory goes before its instance, which is looked up here when that is removed.
create index process_recalls_of_instance on process_recalls (instance_id);

-- Lines are still never changed, and are removed only of an instance that has ended.
drop trigger process_instance_journal_append_only on process_instance_journal;
create trigger process_instance_journal_never_changed before update on process_instance_journal
  for each row execute function refuse_process_journal_change();
create trigger process_instance_journal_never_truncated before truncate on process_instance_journal
  for each statement execute function refuse_process_journal_change();
create function refuse_open_process_journal_deletion() returns trigger language plpgsql as $$
begin
  if exists (
    select from (select distinct instance_id from gone) g left join process_instances i on i.id = g.instance_id
    where i.completed_at is null)
  then
    raise exception 'the journal of a process instance that has not ended is kept' using errcode = 'restrict_violation';
  end if;
  return null;
end $$;
create trigger process_instance_journal_append_only after delete on process_instance_journal
  referencing old table as gone for each statement execute function refuse_open_process_journal_deletion();
