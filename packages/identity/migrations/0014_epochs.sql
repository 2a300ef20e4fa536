-- Numbers of the journal come from a sequence, which a restore takes back to numbers that pollers have passed: they would
-- skip what is written until the sequence is above theirs. So the journal notes which server it is written on, as in
-- coordination (decision 0205); on another one, after its restart or a restore, the sequence goes on higher up.
create table journal_epoch (
  only_row boolean primary key default true check (only_row),
  server_started_at timestamptz,
  table_number bigint,
  database_number bigint,
  -- system identifier and timeline; null until the first use, or where they can't be read
  cluster text
);
insert into journal_epoch default values;

-- Every time that the sequence went on higher up. Between `previous_end` and `first_sequence` this history has no event.
create table journal_epochs (
  first_sequence bigint primary key,
  previous_end bigint not null,
  began_at timestamptz(3) not null default clock_timestamp(),
  cluster text,
  reason text not null check (reason in ('restart', 'another_cluster', 'restored', 'requested'))
);

-- In a standby nothing can be written, so there is nothing to enter.
create function journal_epoch_is_current() returns boolean language sql stable as $$
  select pg_is_in_recovery() or not exists (
    select from journal_epoch
    where (server_started_at = pg_postmaster_start_time() and table_number = tableoid::bigint
      and database_number = (select oid::bigint from pg_database where datname = current_database())) is not true)
$$;

-- Begins a new epoch when the server was started, replaced or restored since the last one; returns why, or null. Its
-- numbers begin above those of every history of this database: 2^16 a second since 2026, more than it can write, or 2^20
-- above what is known, should the clock be wrong. They fit into the 48 bits of a writer's lock for over a century.
create function enter_journal_epoch() returns text language plpgsql volatile as $$
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
  first := greatest(
    (extract(epoch from clock_timestamp() - timestamptz '2026-01-01 00:00:00+00') * 65536)::bigint,
    greatest(head, last_written) + 1048576);
  perform setval('events_sequence_seq', first);
  insert into journal_epochs (first_sequence, previous_end, cluster, reason)
  -- Before this migration pollers were told numbers that no event has.
  values (first, case when held.cluster is null then greatest(head, last_written) else last_written end, cluster_now, why);
  return why;
end $$;

-- Before it draws a number, every writer asks whether the server is still the one that the sequence is for.
create function mark_journal_writer() returns trigger language plpgsql as $$
begin
  if exists (
    select from journal_epoch
    where (server_started_at = pg_postmaster_start_time() and table_number = tableoid::bigint) is not true)
  then perform enter_journal_epoch();
  end if;
  perform pg_advisory_xact_lock_shared(
    (19022::bigint << 48) | coalesce(pg_sequence_last_value('events_sequence_seq'), 0));
  return null;
end $$;
drop trigger events_mark_writer on events;
create trigger events_mark_writer before insert on events
  for each statement execute function mark_journal_writer();
