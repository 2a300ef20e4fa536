-- History can go backwards below the service: a snapshot of the disk is restored (same system identifier, same timeline),
-- a standby that lags is promoted behind a pooler, a dump is restored. Transaction ids then start again at numbers that
-- readers have passed, and nothing in the data says so. What does change is when the server process started, so that is
-- compared by every statement that takes a position; by readers also which database and table it is, since a dump may be
-- restored on the running server.
alter table journal_epoch
  add column server_started_at timestamptz,
  add column table_number bigint,
  add column database_number bigint,
  add column previous_offset bigint not null default 0,
  add column first_transaction bigint not null default 0;

-- Every time that positions went on at a higher place. Between `previous_end` and `first_position` this history has none:
-- whoever stands there has read another one.
create table journal_epochs (
  first_position bigint primary key,
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

-- Begins a new epoch when the server was started, replaced or restored since the last one; returns why, or null.
-- Its positions begin above every one of any history of this database: 2^20 a second since 2026, and no server commits that
-- many transactions. Should the clock be wrong, behind the positions that are known, 2^32 transactions above those. Both last
-- for centuries: positions stay below 2^53. The row's lock lets one do it; nobody writes a position between the start of the
-- server and this.
create function enter_journal_epoch() returns text language plpgsql volatile as $$
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
  -- The lowest position that is taken from now on is that of the transaction before: see journal_position().
  update journal_epoch set position_offset = first - (transaction_now - 1), previous_offset = held.position_offset,
    first_transaction = case when top_given = known then transaction_now else 0 end;
  insert into journal_epochs (first_position, previous_end, cluster, reason)
  values (first, top_given, cluster_now, why);
  return why;
end $$;

-- As before, with the question whether the server is still the one that the offset is for.
create or replace function journal_position() returns bigint language plpgsql volatile as $$
declare
  base bigint;
begin
  select position_offset into base from journal_epoch
  where server_started_at = pg_postmaster_start_time() and table_number = tableoid::bigint;
  if base is null then
    perform enter_journal_epoch();
    select position_offset into base from journal_epoch;
  end if;
  return base
    + greatest(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1);
end $$;

-- As before, and in the epoch before for as long as transactions run that are older than the new one: some have taken a
-- position there and commit later, when an operator asks for a new epoch.
create or replace function journal_horizon() returns bigint language sql stable as $$
  select case when oldest < first_transaction then previous_offset else position_offset end + oldest
  from journal_epoch, (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest) now
$$;

-- Whether this history has such a place: an event that exists, or a horizon that an epoch of its can have had.
create function is_journal_place(tenant uuid, place_position bigint, place_sequence bigint, horizon bigint)
returns boolean language plpgsql stable as $$
begin
  if place_sequence > 0 then
    return exists (
      select from events where tenant_id = tenant and position = place_position and sequence = place_sequence);
  end if;
  return place_position <= horizon and not exists (
    select from journal_epochs where previous_end < place_position and place_position < first_position);
end $$;
