-- What people and programs say about a task (core, section 8.12), and what they said before an edit.

create table comments (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  task_id uuid not null references tasks,
  author_principal_id uuid not null references principals,
  body text not null,
  run_id uuid,
  artifact_id uuid,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  edited_at timestamptz(3)
);
create index comments_of_task on comments (task_id, created_at, id);

create table comment_revisions (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  comment_id uuid not null references comments,
  task_id uuid not null,
  version integer not null,
  body text not null,
  author_principal_id uuid not null,
  created_at timestamptz(3) not null,
  superseded_at timestamptz(3) not null default now(),
  superseded_by uuid not null,
  unique (comment_id, version)
);
