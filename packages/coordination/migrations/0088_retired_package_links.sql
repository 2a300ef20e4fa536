-- A row of package_objects with `retired_at` says nothing of objects that are made under its key from then on: they are
-- somebody else's, and a change of such a row leaves them as they are. What the package had made keeps its link.
create or replace function spread_package_link() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform set_package_link(old, null);
  elsif new.retired_at is null then
    perform set_package_link(new, package_link(new));
  end if;
  return null;
end $$;

-- A retired calendar comes back in its own row, so that no trigger on new rows sees it.
create trigger calendars_link_anew before update of status on calendars
  for each row when (old.status = 'retired' and new.status = 'active')
  execute function link_to_package('Calendar', 'key');
update calendars c set package = null from package_objects o
where o.tenant_id = c.tenant_id and o.kind = 'Calendar' and o.key = c.key and o.retired_at is not null
  and c.status = 'active' and c.package is not null;
