-- Tasks whose claim is dead, although nobody has recorded it yet: by the index of what is due. As a condition on the tenant's
-- claims the planner read all active ones of the tenant, 5 ms for 10,000 of them in every search for work. What is due of all
-- tenants is a few rows, since the worker sweeps within a second or two; the first 1,000 are looked at, and any others
-- become free when they are swept.
--
-- Without enable_sort = off, a plan that is made while the tables are empty may take any index of active claims and sort.
create or replace function tasks_of_dead_claims(tenant uuid) returns setof uuid language plpgsql stable
set enable_sort = off as $$
declare
  ended uuid;
begin
  return query
  with due as materialized (
    select c.task_id, c.tenant_id from claims c
    where c.status = 'active' and c.sweep_at <= now() and c.expires_at <= now()
    order by c.sweep_at, c.id limit 1000)
  select d.task_id from due d where d.tenant_id = tenant;
  for ended in
    with due as materialized (
      select s.id, s.tenant_id from sessions s
      where s.status = 'active' and s.sweep_at <= now() and s.expires_at <= now()
      order by s.sweep_at, s.id limit 1000)
    select d.id from due d where d.tenant_id = tenant
    union select session_id from endings where tenant_id = tenant and session_id is not null
  loop
    return query select task_id from claims where session_id = ended and status = 'active' limit 1000;
  end loop;
  for ended in select principal_id from endings where tenant_id = tenant and principal_id is not null loop
    return query select task_id from claims where holder_id = ended and status = 'active' limit 1000;
  end loop;
end $$;
