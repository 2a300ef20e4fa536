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
