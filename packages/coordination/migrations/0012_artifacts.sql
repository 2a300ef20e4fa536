-- What runs leave behind (core, section 15): records, and the bytes that some of them have in the store of contents.

-- An object in the store; its id is its name there. It is `writing` until its upload is complete, `stored` while something
-- needs it, and `doomed` once nothing does: only then are the bytes deleted, so a new upload never meets their deletion.
create table artifact_contents (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  state text not null default 'writing' check (state in ('writing', 'stored', 'doomed')),
  -- Both are known when the last byte is.
  sha256 text check (sha256 ~ '^[0-9a-f]{64}$'),
  size_bytes bigint check (size_bytes >= 0),
  state_since timestamptz(3) not null default clock_timestamp(),
  check (state <> 'stored' or (sha256 is not null and size_bytes is not null))
);
-- The same bytes are stored once in a tenant.
create unique index artifact_contents_shared on artifact_contents (tenant_id, sha256) where state = 'stored';
create index artifact_contents_to_delete on artifact_contents (state_since, id) where state <> 'stored';

-- Stored bytes that their uploader may name in artifacts until they expire.
create table artifact_uploads (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  content_id uuid not null references artifact_contents,
  created_by uuid not null,
  media_type text not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  expires_at timestamptz(3) not null
);
create index artifact_uploads_by_content on artifact_uploads (content_id);
create index artifact_uploads_to_delete on artifact_uploads (expires_at, id);

create table artifacts (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  created_by uuid not null,
  workspace_id uuid,
  task_id uuid,
  run_id uuid,
  type text not null,
  -- The version of the registered type that the record was checked against; null for a type that wasn't registered.
  type_version integer,
  name text not null,
  uri text,
  content jsonb,
  metadata jsonb not null default '{}',
  supersedes_artifact_id uuid references artifacts,
  content_state text not null default 'none' check (content_state in ('none', 'stored', 'purged')),
  content_id uuid references artifact_contents,
  size_bytes bigint,
  media_type text,
  sha256 text,
  created_at timestamptz(3) not null default now(),
  check ((content_state = 'stored') = (content_id is not null)),
  check ((content_state = 'none') = (sha256 is null))
);
create index artifacts_by_tenant on artifacts (tenant_id, created_at, id);
create index artifacts_by_type on artifacts (tenant_id, type, created_at, id);
create index artifacts_by_task on artifacts (tenant_id, task_id, created_at, id) where task_id is not null;
create index artifacts_by_run on artifacts (tenant_id, run_id, created_at, id) where run_id is not null;
create index artifacts_by_workspace on artifacts (tenant_id, workspace_id, created_at, id) where workspace_id is not null;
create index artifacts_by_content on artifacts (content_id) where content_id is not null;
create index artifacts_by_superseded on artifacts (supersedes_artifact_id) where supersedes_artifact_id is not null;

-- A record never changes, but for its bytes, which can be purged: a revision is a new record.
create trigger artifacts_stay
  before update of id, tenant_id, created_by, workspace_id, task_id, run_id, type, type_version, name, uri, content, metadata,
    supersedes_artifact_id, size_bytes, media_type, sha256, created_at or delete on artifacts
  for each row execute function refuse_removal();
create trigger artifacts_never_truncated before truncate on artifacts
  for each statement execute function refuse_removal();
