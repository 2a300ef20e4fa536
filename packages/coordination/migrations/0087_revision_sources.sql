-- Where a revision of an agent came from: {kind: manual}, or {kind: package, package: {key, version}} (organisation, section
-- 12.1). Null for earlier ones, of which it was not noted.
alter table agent_revisions add column source jsonb;
