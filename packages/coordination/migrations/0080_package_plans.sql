-- What a package said of an object when it was applied last, and what the object then was: the two tell apart what a newer
-- version of the package changes and what a person changed since (organisation, section 14.2). An object that a version of
-- the package leaves out is retired, and its row says when.
alter table package_objects
  add column said jsonb,
  add column was jsonb,
  add column retired_at timestamptz(3);

-- An object that somebody makes under the key of one that a package has retired is not the package's.
create or replace function link_to_package() returns trigger language plpgsql as $$
begin
  select package_link(o) into new.package from package_objects o
  where o.tenant_id = new.tenant_id and o.kind = tg_argv[0] and o.key = to_jsonb(new) ->> tg_argv[1]
    and o.retired_at is null;
  return new;
end $$;
