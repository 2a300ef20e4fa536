-- For which version of its type an application's secret was entered: it is sent to the token address of that version and to no
-- other. Before, whoever published another version had the secret sent to an address of their own.
alter table connection_oauth_apps add column type_version integer;
update connection_oauth_apps a set type_version = (
  select max(t.version) from connection_types t
  where t.tenant_id = a.tenant_id and t.key = a.type_key and t.created_at <= a.updated_at);
