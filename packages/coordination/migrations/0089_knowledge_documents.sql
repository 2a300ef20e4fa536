-- The documents that were stored in memory through this service, by natural key: a process may say by which of them it is
-- governed (organisation, section 15.2), and memory has no way to ask for one by its key.
create table knowledge_documents (
  tenant_id uuid not null references tenants,
  natural_key text not null,
  -- A document is kept once in a tree of workspaces.
  root_workspace_id uuid not null references workspaces,
  -- For which it was stored last.
  workspace_id uuid not null references workspaces,
  primary key (tenant_id, natural_key, root_workspace_id)
);
insert into knowledge_documents (tenant_id, natural_key, root_workspace_id, workspace_id)
select distinct on (e.tenant_id, e.payload ->> 'naturalKey', e.payload ->> 'rootWorkspaceId')
  e.tenant_id, e.payload ->> 'naturalKey', (e.payload ->> 'rootWorkspaceId')::uuid, e.workspace_id
from events e
where e.type = 'knowledge.document_stored'
order by e.tenant_id, e.payload ->> 'naturalKey', e.payload ->> 'rootWorkspaceId', e.position desc, e.sequence desc;
