-- When an operator asks for a new epoch while commands run, some of them have taken a position of the epoch before and commit
-- later. Readers went on at the new epoch's positions at once, and skipped their events. Now the horizon stays in the epoch
-- before until the transactions that are older than the new one have ended.
alter table journal_epoch
  add column previous_offset bigint not null default 0,
  add column first_transaction bigint not null default 0;

create or replace function journal_horizon() returns bigint language sql stable as $$
  select case when oldest < first_transaction then previous_offset else position_offset end + oldest
  from journal_epoch, (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest) now
$$;

-- As before, and keeps the offset of the epoch before.
create or replace function enter_journal_epoch() returns text language plpgsql volatile as $$
declare
  held journal_epoch;
  cluster_now text;
  why text;
  transaction_now bigint;
  top_written bigint;
  top_given bigint;
  known bigint;
  first bigint;
begin
  select * into held from journal_epoch for update;
  if journal_epoch_is_current() then return null; end if;
  begin
    cluster_now := (select system_identifier || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
      from pg_control_system());
  exception when insufficient_privilege or feature_not_supported or object_not_in_prerequisite_state
    or undefined_function then null;
  end;
  update journal_epoch set cluster = cluster_now, server_started_at = pg_postmaster_start_time(),
    table_number = tableoid::bigint,
    database_number = (select oid::bigint from pg_database where datname = current_database());
  -- The first start: there is no cursor that could be overtaken.
  if held.server_started_at is null and not exists (select from events) then return null; end if;

  transaction_now := greatest(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint);
  select greatest(
      coalesce(max(newest.position), 0), (select coalesce(max(floor_position), 0) from journal_floors))
    into top_written
    from tenants t cross join lateral (
      select position from events where tenant_id = t.id order by position desc limit 1) newest;
  why := case
    when held.server_started_at is null then 'requested'
    when split_part(held.cluster, '/', 1) is distinct from split_part(cluster_now, '/', 1) then 'another_cluster'
    when (select (table_number, database_number) from journal_epoch)
      is distinct from (held.table_number, held.database_number) then 'restored'
    when held.cluster is distinct from cluster_now then 'another_cluster'
    else 'restart' end;
  -- Transaction ids go on after a restart or a fail-over; those of a dump say nothing of this cluster's.
  top_given := case
    when why = 'restored' or split_part(held.cluster, '/', 1) is distinct from split_part(cluster_now, '/', 1)
      then top_written
    else greatest(top_written, held.position_offset + transaction_now) end;
  known := greatest(top_written, held.position_offset + transaction_now);
  first := (extract(epoch from clock_timestamp() - timestamptz '2026-01-01 00:00:00+00') * 1048576)::bigint;
  if first <= known then first := known + 4294967296; end if;
  -- 0 where no transaction that runs now can have written to this database before.
  update journal_epoch set position_offset = first - transaction_now, previous_offset = held.position_offset,
    first_transaction = case when top_given = known then transaction_now else 0 end;
  insert into journal_epochs (first_position, previous_end, cluster, reason)
  values (first, top_given, cluster_now, why);
  return why;
end $$;
