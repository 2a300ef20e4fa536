-- Two epochs that began within 16 s of each other were 2^20 apart, whatever the clock said. A server that was started, and
-- then set back to a copy from before that start, gave the numbers of the first start again: a poller skipped them. Now
-- only the clock counts, unless it is wrong: behind the numbers that are known.
create or replace function enter_journal_epoch() returns text language plpgsql volatile as $$
declare
  held journal_epoch;
  cluster_now text;
  why text;
  head bigint;
  last_written bigint;
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
  head := coalesce(pg_sequence_last_value('events_sequence_seq'), 0);
  last_written := greatest(
    (select coalesce(max(sequence), 0) from events), (select coalesce(max(floor), 0) from journal_floor));
  -- The first start: there is no poller that could be overtaken.
  if held.server_started_at is null and greatest(head, last_written) = 0 then return null; end if;

  why := case
    when held.server_started_at is null then 'requested'
    when split_part(held.cluster, '/', 1) is distinct from split_part(cluster_now, '/', 1) then 'another_cluster'
    when (select (table_number, database_number) from journal_epoch)
      is distinct from (held.table_number, held.database_number) then 'restored'
    when held.cluster is distinct from cluster_now then 'another_cluster'
    else 'restart' end;
  first := (extract(epoch from clock_timestamp() - timestamptz '2026-01-01 00:00:00+00') * 65536)::bigint;
  if first <= greatest(head, last_written) then first := greatest(head, last_written) + 1048576; end if;
  perform setval('events_sequence_seq', first);
  insert into journal_epochs (first_sequence, previous_end, cluster, reason)
  -- Before migration 0014 pollers were told numbers that no event has.
  values (first, case when held.cluster is null then greatest(head, last_written) else last_written end, cluster_now, why);
  return why;
end $$;
