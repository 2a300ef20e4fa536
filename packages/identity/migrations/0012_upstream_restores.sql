-- How often the account in the upstream directory was set back to the stored state. A change of `active` that was sent
-- before such a restore and is stored after it would leave the directory and this database in different states.
alter table scim_users add column upstream_restores integer not null default 0;
