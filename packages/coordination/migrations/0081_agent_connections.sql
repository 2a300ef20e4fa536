-- Which connections the current spec of an agent names (organisation, section 12.1).
create table agent_connections (
  agent_id uuid not null references agents,
  tenant_id uuid not null references tenants,
  connection_key text not null,
  primary key (agent_id, connection_key),
  foreign key (tenant_id, connection_key) references connections (tenant_id, key)
);
create index agent_connections_of_key on agent_connections (tenant_id, connection_key, agent_id);
