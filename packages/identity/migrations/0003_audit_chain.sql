-- The audit record: an order that is safe to read and to seal, and the chain of seals.

-- Numbers of the audit record settle as those of the journal do (0001), by the same two functions: writers hold a shared
-- lock that names the number above which they draw, and 16 bits of its key say whose numbers they are.
create function mark_writer() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(
    (tg_argv[0]::bigint << 48) | coalesce(pg_sequence_last_value(tg_argv[1]::regclass), 0));
  return null;
end $$;

-- The highest number below which nothing can appear any more; see journal_settled() in 0001 for why.
create function settled_number(mark integer, numbers regclass) returns bigint language sql volatile as $$
  select least(head.number, (
    select min((locks.classid::bigint & 65535) << 32 | locks.objid::bigint)
    from pg_locks locks
    where locks.locktype = 'advisory' and locks.objsubid = 1 and locks.classid::bigint >> 16 = mark
      and locks.database = (select oid from pg_database where datname = current_database())
      and head.number >= 0))
  from (select coalesce(pg_sequence_last_value(numbers), 0) as number) head
$$;

drop trigger events_mark_writer on events;
create trigger events_mark_writer before insert on events
  for each statement execute function mark_writer('19022', 'events_sequence_seq');
drop function mark_journal_writer();
create or replace function journal_settled() returns bigint language sql volatile as $$
  select settled_number(19022, 'events_sequence_seq')
$$;

create trigger audit_records_mark_writer before insert on audit_records
  for each statement execute function mark_writer('19023', 'audit_records_sequence_seq');
create function audit_settled() returns bigint language sql volatile as $$
  select settled_number(19023, 'audit_records_sequence_seq')
$$;

-- One index for each way to ask for a tenant's records; all end in the order of the answer. Resources and requests have
-- ids of their own, so that the tenant need not stand in front of them. Each one costs every exchange some 7 µs, so
-- those by action and by type leave exchanges out: they are most of a tenant's records, and a walk along its own index
-- meets them soon.
create index audit_records_of_tenant on audit_records (tenant_id, sequence);
create index audit_records_by_actor on audit_records (tenant_id, actor_ref, sequence);
create index audit_records_by_resource on audit_records (resource_id, sequence);
create index audit_records_by_request on audit_records (request_id, sequence);
create index audit_records_by_action on audit_records (tenant_id, action, sequence)
  where action not in ('platform_access_tokens.exchange', 'tokens.exchange');
create index audit_records_by_resource_type on audit_records (tenant_id, resource_type, sequence)
  where resource_type not in ('platform_access_token', 'service_account');
create index audit_records_denied on audit_records (tenant_id, sequence) where outcome = 'denied';

-- The last number whose record is older than an instant, found by halving along the primary key: no index on the time
-- has to be kept for it. Times are those at which transactions began, so they follow the numbers only roughly: whoever
-- asks adds the time that a transaction may take.
create function audit_number_before(instant timestamptz) returns bigint language plpgsql stable strict as $$
declare
  low bigint := 0;
  high bigint := coalesce((select max(sequence) from audit_records), 0);
  middle bigint;
  found_number bigint;
  found_time timestamptz;
begin
  while low < high loop
    middle := low + (high - low + 1) / 2;
    select sequence, occurred_at into found_number, found_time
    from audit_records where sequence >= middle order by sequence limit 1;
    if found_time < instant then
      low := found_number;
    else
      high := middle - 1;
    end if;
  end loop;
  return low;
end $$;

-- A link of a tenant's chain: it seals the tenant's records after the link before it, up to last_sequence.
create table audit_seals (
  tenant_id uuid not null,
  position bigint not null check (position > 0),
  first_sequence bigint not null,
  last_sequence bigint not null,
  records integer not null check (records > 0),
  -- the oldest and the newest of the records
  occurred_from timestamptz(3) not null,
  occurred_to timestamptz(3) not null,
  -- SHA-256 of the records
  digest bytea not null,
  -- empty in the first link
  previous_hmac bytea not null,
  -- HMAC-SHA-256 of all of the above, by a key that the database never sees
  hmac bytea not null,
  key_id text not null,
  sealed_at timestamptz(3) not null default now(),
  primary key (tenant_id, position)
);
-- Numbers are drawn across tenants, so the highest one says how far the whole record is sealed.
create unique index audit_seals_by_last_sequence on audit_seals (last_sequence);

-- Up to which link retention has removed the records; the newest of a tenant counts.
create table audit_removals (
  tenant_id uuid not null,
  position bigint not null,
  -- HMAC-SHA-256 of the tenant, the position and that link's HMAC
  hmac bytea not null,
  key_id text not null,
  removed_at timestamptz(3) not null default now(),
  primary key (tenant_id, position)
);

create trigger audit_seals_append_only before update or delete on audit_seals
  for each row execute function refuse_change();
create trigger audit_seals_never_truncated before truncate on audit_seals
  for each statement execute function refuse_change();
create trigger audit_removals_append_only before update or delete on audit_removals
  for each row execute function refuse_change();
create trigger audit_removals_never_truncated before truncate on audit_removals
  for each statement execute function refuse_change();

-- A transaction that says so in `baton.audit_kept_since` may delete records older than that instant and than a day, if
-- they are sealed or nothing at all is. Everything else is refused as before. It keeps mistakes and injected statements
-- out, not the database's owner: what that one removes is missing from the chain.
create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE'
    and old.occurred_at < nullif(current_setting('baton.audit_kept_since', true), '')::timestamptz
    and old.occurred_at < now() - interval '1 day'
    and (
      old.sequence <= (
        select last_sequence from audit_seals where tenant_id = old.tenant_id order by position desc limit 1)
      or not exists (select from audit_seals))
  then
    return old;
  end if;
  raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end $$;
drop trigger audit_records_append_only on audit_records;
create trigger audit_records_append_only before update or delete on audit_records
  for each row execute function refuse_audit_change();
