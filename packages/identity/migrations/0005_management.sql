-- What operators may manage.

-- Lists in pages, in the order of creation.
create index memberships_of_tenant on memberships (tenant_id, created_at, principal_id) where status = 'active';
drop index service_accounts_of_tenant;
create index service_accounts_of_tenant on service_accounts (tenant_id, created_at, id);

-- The directory users behind a principal: they decide whether the admin may enable or rename it.
create index scim_users_of_principal on scim_users (principal_id);

create index tenants_created on tenants (created_at, id);
create index groups_of_tenant on groups (tenant_id, created_at, id);
create index group_members_of_group on group_members (group_id, created_at, principal_id);

-- The last event that was removed because of its age; 0 while all are there. A reader that starts below has missed some.
create table journal_floor (
  only_row boolean primary key default true check (only_row),
  floor bigint not null default 0
);
insert into journal_floor default values;

-- The journal lets go of its oldest events only: of what is older than a transaction says in `baton.journal_kept_since`,
-- and than a day, and lies at or below the floor, so that none vanishes without readers being told. Everything else is
-- refused as before.
create function refuse_event_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE'
    and old.occurred_at < nullif(current_setting('baton.journal_kept_since', true), '')::timestamptz
    and old.occurred_at < now() - interval '1 day'
    and old.sequence <= (select floor from journal_floor)
  then
    return old;
  end if;
  raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end $$;
drop trigger events_append_only on events;
create trigger events_append_only before update or delete on events
  for each row execute function refuse_event_change();

-- For who follows one type of event, revocations above all.
create index events_by_type on events (type, sequence);
