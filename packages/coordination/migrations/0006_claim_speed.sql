-- What the commonest statement, a claim, pays for.

-- Three indexes more for the lists cost a claim a quarter more WAL. Now each index serves two readers: the one of a session
-- its list and the end of its active claims, the one of a status the list by status and, merged over the three statuses,
-- the whole list. The claims of one task are found by (task_id, fencing_token).
drop index claims_newest;
drop index claims_of_session;
drop index claims_by_session;
drop index claims_by_task;
create index claims_by_session on claims (session_id, status, acquired_at desc, id desc);

-- A foreign key locks the row that it names, and all claims of a tenant at once name the same row: each wrote a list of all
-- the others. A claim's tenant is its task's, and an event's is that of the credential. What the keys kept from happening
-- to a tenant with a journal is refused as before.
alter table claims drop constraint claims_tenant_id_fkey;
alter table events drop constraint events_tenant_id_fkey;
create trigger tenants_of_the_journal before update of id or delete on tenants
  for each row execute function refuse_journal_change();
create trigger tenants_never_truncated before truncate on tenants
  for each statement execute function refuse_journal_change();

-- As before; but an assignment is computed without starting a query, which `perform` does.
create or replace function enter_principal(principal uuid, tenant uuid) returns text language plpgsql volatile as $$
declare
  locked text;
begin
  locked := pg_advisory_xact_lock_shared(principal_lock(principal))::text;
  return (select status from principals where id = principal and tenant_id = tenant);
end $$;
