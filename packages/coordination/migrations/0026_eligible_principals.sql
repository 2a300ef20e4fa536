-- Whether any active principal fulfils a set of requirements: advice for whoever waits for a task. It looks at no more than
-- 1,000 principals, those who hold the item that the fewest hold; null when none of them does and there are more.
create function is_fulfilled_by_anybody(tenant uuid, requirements uuid) returns boolean language plpgsql stable as $$
declare
  item record;
  holders uuid[];
  fewest uuid[];
begin
  for item in select kind, subject_id, any_version_of from requirement_items where set_id = requirements order by position loop
    if item.kind = 'role' then
      holders := array(select distinct principal_id from role_assignments where role_id = item.subject_id limit 1001);
    elsif item.kind = 'capability' then
      holders := array(select principal_id from capability_assignments where capability_id = item.subject_id limit 1001);
    else
      holders := array(
        select distinct a.principal_id from skills s join skill_assignments a on a.skill_id = s.id
        where s.tenant_id = tenant and s.status <> 'disabled'
          and (s.id = item.subject_id and item.any_version_of is null or s.name = item.any_version_of) limit 1001);
    end if;
    if fewest is null or cardinality(holders) < cardinality(fewest) then
      fewest := holders;
    end if;
  end loop;
  if exists (
    select from principals p where p.id = any (fewest[:1000]) and p.tenant_id = tenant and p.status = 'active'
      and not exists (select from missing_items(tenant, requirements, p.id))) then
    return true;
  end if;
  return case when cardinality(fewest) <= 1000 then false end;
end $$;
