-- The revision of the catalogue of tools reads id, version and status of each skill of the tenant, from the index alone.
create index skills_catalog on skills (tenant_id, id) include (row_version, status);
