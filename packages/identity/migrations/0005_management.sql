-- What operators may manage.

-- Lists in pages, in the order of creation.
create index memberships_of_tenant on memberships (tenant_id, created_at, principal_id) where status = 'active';
drop index service_accounts_of_tenant;
create index service_accounts_of_tenant on service_accounts (tenant_id, created_at, id);

-- The directory users behind a principal: they decide whether the admin may enable or rename it.
create index scim_users_of_principal on scim_users (principal_id);
