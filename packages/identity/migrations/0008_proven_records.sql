-- Each audit record is authenticated when it is written (decision 0109).

alter table audit_records
  -- by the clock of the process that wrote it; occurred_at is by the database's
  add column written_at timestamptz(3),
  -- HMAC-SHA-256 of the record's id, its content and written_at, by a key that the database never sees; null where no
  -- key was set, and in records of before
  add column mac bytea;

-- Up to which record there may be some without an HMAC. Made once, when a process seals with a key for the first time.
create table audit_starts (
  through bigint primary key,
  -- HMAC-SHA-256 of the number
  hmac bytea not null,
  key_id text not null,
  started_at timestamptz(3) not null default now()
);
create trigger audit_starts_append_only before update or delete on audit_starts
  for each row execute function refuse_change();
create trigger audit_starts_never_truncated before truncate on audit_starts
  for each statement execute function refuse_change();
