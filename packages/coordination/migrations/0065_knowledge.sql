-- What is being written to the memory service: the row stands from before the service is asked until its answer has its
-- event. A process that is killed in between leaves it to the worker, which asks again.
create table knowledge_intents (
  id uuid primary key,
  tenant_id uuid not null,
  kind text not null check (kind in ('snapshot', 'document', 'pack', 'configuration')),
  -- What is written, by the hash of its name: one write of it at a time, so that an older one never comes later.
  subject text not null,
  -- The request to the memory service, and what the event tells besides the answer.
  path text not null,
  body text not null,
  facts jsonb not null,
  -- Who wrote, and the ids that the event carries.
  principal_id uuid not null,
  iam_principal_id uuid,
  request_id text not null,
  correlation_id text not null,
  trace_run_id text not null,
  idempotency_key text,
  fingerprint text,
  attempts integer not null default 0,
  -- Until then the process that wrote it has it, or the worker waits.
  due_at timestamptz(3) not null,
  created_at timestamptz(3) not null default clock_timestamp()
);
-- A body may have 8 MiB and stands for seconds: compressing it would only take time.
alter table knowledge_intents alter column body set storage external;
create unique index knowledge_intents_of_subject on knowledge_intents (tenant_id, kind, subject);
create unique index knowledge_intents_of_key on knowledge_intents (tenant_id, idempotency_key)
  where idempotency_key is not null;
create index knowledge_intents_due on knowledge_intents (due_at, id);

-- The packs that the knowledge of a tree of workspaces goes by.
create table workspace_knowledge_packs (
  workspace_id uuid primary key references workspaces,
  tenant_id uuid not null references tenants,
  packs text[] not null check (cardinality(packs) <= 64),
  strict boolean not null,
  updated_at timestamptz(3) not null default clock_timestamp()
);
