-- What a person decides about (core, section 14): the task, the artifact and the actions of the outcome as they were when
-- the approval was requested; after the decision, as they were when it was made. Approvals from before have none.
alter table approvals
  -- {taskVersion, artifactSha256, snapshot, values}; `values` has what the expressions of the outcome's actions stand for.
  add column subject jsonb,
  -- Of the canonical JSON of the snapshot.
  add column subject_digest text check (subject_digest ~ '^sha256:[0-9a-f]{64}$'),
  -- The subject of the request, where a later one was approved.
  add column requested_subject jsonb,
  -- The approval of an earlier subject, which this one asks for again.
  add column supersedes_approval_id uuid references approvals,
  add check ((subject is null) = (subject_digest is null));
create index approvals_superseding on approvals (supersedes_approval_id) where supersedes_approval_id is not null;

-- What the expressions of the actions stand for, as it was decided. Null for outcomes decided before this migration.
alter table approval_outcomes add column expression_values jsonb;

