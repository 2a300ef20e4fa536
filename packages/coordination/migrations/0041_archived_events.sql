-- History that every consumer has confirmed moves to a table of its own, and may be deleted there (core, sections 17.1, 18).
-- A tenant's events lie, in the order of the journal: deleted up to `floor`, then in archived_events up to `moved`, then in
-- events. `archive` and `floor` are decided by a command at once; what follows is moved and deleted in batches right after,
-- so that no transaction holds back readers for long.
create table archived_events (
  like events,
  primary key (tenant_id, position, sequence)
);
create index archived_events_of_entity on archived_events (tenant_id, entity_id, position, sequence);

alter table journal_floors
  -- The highest sequence that was pruned: an older consumer's number below it may lie in deleted history.
  add column floor_top_sequence bigint not null default 0,
  -- Everything up to here belongs to the archive.
  add column archive_position bigint not null default 0,
  add column archive_sequence bigint not null default 0,
  -- Everything up to here lies in the archive, and nothing behind it does.
  add column moved_position bigint not null default 0,
  add column moved_sequence bigint not null default 0,
  -- Up to here nothing is left to be deleted from the archive.
  add column deleted_position bigint not null default 0,
  add column deleted_sequence bigint not null default 0,
  -- When the worker archives this tenant's history next, where that is switched on.
  add column archive_due_at timestamptz(3) not null default '-infinity';
create index journal_floors_unsettled on journal_floors (tenant_id)
  where (moved_position, moved_sequence) < (archive_position, archive_sequence)
    or (deleted_position, deleted_sequence) < (floor_position, floor_sequence);
create index journal_floors_due on journal_floors (archive_due_at, tenant_id);

-- The journal stays append-only. A row leaves `events` only when the archive holds the same row, and the archive only when
-- it lies at or below its tenant's floor; the archive takes only what stands in `events`. Nothing else is let through, to
-- whoever owns the tables.
drop trigger events_append_only on events;
create trigger events_never_updated before update on events
  for each row execute function refuse_journal_change();
create trigger archived_events_never_updated before update on archived_events
  for each row execute function refuse_journal_change();
create trigger archived_events_never_truncated before truncate on archived_events
  for each statement execute function refuse_journal_change();

-- Here and below each row is looked up by an ordered look into the index that is meant, and is deleted by where it lies:
-- plans are kept, and one that was made while the archive was empty read all of it for each row (1,000 rows took 2 s).
create function refuse_unarchived_deletion() returns trigger language plpgsql as $$
begin
  if exists (
    select from gone g left join lateral (
      select a as row from archived_events a
      where a.tenant_id = g.tenant_id and (a.position, a.sequence) >= (g.position, g.sequence)
      order by a.position, a.sequence limit 1
    ) kept on true
    where kept.row is distinct from g)
  then
    raise exception 'the journal is append-only: DELETE of what is not archived refused' using errcode = 'restrict_violation';
  end if;
  return null;
end $$;
create trigger events_append_only after delete on events referencing old table as gone
  for each statement execute function refuse_unarchived_deletion();

create function refuse_foreign_archive() returns trigger language plpgsql as $$
begin
  if exists (
    select from come c left join lateral (
      select e as row from events e where e.sequence >= c.sequence order by e.sequence limit 1
    ) written on true
    where written.row is distinct from c)
  then
    raise exception 'the journal is append-only: INSERT of what is not in it refused' using errcode = 'restrict_violation';
  end if;
  return null;
end $$;
create trigger archived_events_from_journal after insert on archived_events referencing new table as come
  for each statement execute function refuse_foreign_archive();

create function refuse_unpruned_deletion() returns trigger language plpgsql as $$
begin
  if exists (
    select from gone g where not exists (
      select from journal_floors f
      where f.tenant_id = g.tenant_id and (g.position, g.sequence) <= (f.floor_position, f.floor_sequence)))
  then
    raise exception 'the journal is append-only: DELETE of what is not pruned refused' using errcode = 'restrict_violation';
  end if;
  return null;
end $$;
create trigger archived_events_append_only after delete on archived_events referencing old table as gone
  for each statement execute function refuse_unpruned_deletion();

-- Moves a tenant's next events that belong to the archive into it; returns how many. The floor's lock lets one at a time do
-- it, and each statement sees what the one before it has left.
create function move_to_archive(tenant uuid, rows_max integer) returns integer language plpgsql volatile as $$
declare
  held journal_floors;
  places tid[];
  last_position bigint;
  last_sequence bigint;
begin
  select * into held from journal_floors where tenant_id = tenant for update;
  places := array(
    select ctid from events
    where tenant_id = tenant and (position, sequence) > (held.moved_position, held.moved_sequence)
      and (position, sequence) <= (held.archive_position, held.archive_sequence)
    order by position, sequence limit rows_max);
  if cardinality(places) = 0 then
    update journal_floors set moved_position = archive_position, moved_sequence = archive_sequence
    where tenant_id = tenant and (moved_position, moved_sequence) < (archive_position, archive_sequence);
    return 0;
  end if;
  select position, sequence into last_position, last_sequence from events where ctid = places[cardinality(places)];
  insert into archived_events select * from events where ctid = any (places);
  delete from events where ctid = any (places);
  update journal_floors set moved_position = last_position, moved_sequence = last_sequence where tenant_id = tenant;
  return cardinality(places);
end $$;

-- Deletes a tenant's next events that were pruned from the archive; returns how many.
create function delete_from_archive(tenant uuid, rows_max integer) returns integer language plpgsql volatile as $$
declare
  held journal_floors;
  places tid[];
  last_position bigint;
  last_sequence bigint;
begin
  select * into held from journal_floors where tenant_id = tenant for update;
  places := array(
    select ctid from archived_events
    where tenant_id = tenant and (position, sequence) > (held.deleted_position, held.deleted_sequence)
      and (position, sequence) <= (held.floor_position, held.floor_sequence)
    order by position, sequence limit rows_max);
  if cardinality(places) = 0 then
    update journal_floors set deleted_position = floor_position, deleted_sequence = floor_sequence
    where tenant_id = tenant and (deleted_position, deleted_sequence) < (floor_position, floor_sequence);
    return 0;
  end if;
  select position, sequence into last_position, last_sequence from archived_events where ctid = places[cardinality(places)];
  delete from archived_events where ctid = any (places);
  update journal_floors set deleted_position = last_position, deleted_sequence = last_sequence where tenant_id = tenant;
  return cardinality(places);
end $$;

-- As before, also for a journal that lies in the archive.
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
  if held.server_started_at is null and not exists (select from events) and not exists (select from archived_events)
  then return null; end if;

  transaction_now := greatest(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint);
  select greatest(
      coalesce(max(newest.position), 0), (select coalesce(max(greatest(floor_position, archive_position)), 0) from journal_floors))
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

-- As before, also in the archive.
create or replace function is_journal_place(tenant uuid, place_position bigint, place_sequence bigint, horizon bigint)
returns boolean language plpgsql stable as $$
begin
  if place_sequence > 0 then
    return coalesce(
        (select true from events
        where tenant_id = tenant and (position, sequence) >= (place_position, place_sequence)
          and (position, sequence) <= (place_position, place_sequence)
        order by position, sequence limit 1), false)
      or coalesce(
        (select true from archived_events
        where tenant_id = tenant and (position, sequence) >= (place_position, place_sequence)
          and (position, sequence) <= (place_position, place_sequence)
        order by position, sequence limit 1), false);
  end if;
  return place_position <= horizon and not exists (
    select from journal_epochs where previous_end < place_position and place_position < first_position);
end $$;

-- As before, for any number of events that wait, of this tenant and of others: it walks the tenant's own journal, behind the
-- archive, as far as one call can archive (100,000 events), and ends at the first that waits.
create or replace function oldest_undelivered(tenant uuid, out event_position bigint, out event_sequence bigint)
returns setof record language sql stable as $$
  select e.position, e.sequence
  from journal_floors f cross join lateral (
    select position, sequence from events
    where tenant_id = tenant and (position, sequence) > (f.archive_position, f.archive_sequence)
    order by position, sequence limit 100000
  ) e
  cross join lateral (select from outbox o where o.event_sequence = e.sequence limit 1) waits
  where f.tenant_id = tenant
  order by e.position, e.sequence limit 1
$$;
