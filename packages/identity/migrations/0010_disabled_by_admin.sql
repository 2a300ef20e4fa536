-- Who disabled a person: a directory enables only whom it disabled itself.
alter table principals add column disabled_by_admin boolean not null default false;
-- `active` is false while an administrator has disabled the person; this tells that the directory wants them active.
alter table scim_users add column suspended boolean not null default false;

-- A directory that disables somebody disables their identity as well; an administrator leaves it as it is.
update principals p set disabled_by_admin = true
where p.status = 'disabled'
  and not exists (select 1 from external_identities e where e.principal_id = p.id and e.status = 'disabled')
  and not exists (select 1 from scim_users u where u.principal_id = p.id and not u.active);
update scim_users u set active = false, suspended = true, version = version + 1, modified_at = now()
from principals p
where p.id = u.principal_id and p.disabled_by_admin and u.active;
