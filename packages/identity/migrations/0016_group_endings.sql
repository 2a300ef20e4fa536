-- A group is deleted in one step for everybody, and its members follow in batches: 20,000 in the transaction of the DELETE
-- took 1.1 s, and constant sign-ins into the group kept the DELETE out until it ended in 503. Whoever adds a member looks
-- for a group without this mark, under a lock that the mark doesn't wait for.
alter table groups add column deleted_at timestamptz(3);
alter table groups drop constraint groups_key;
create unique index groups_key on groups (tenant_id, key) where deleted_at is null;

alter table endings
  alter column principal_id drop not null,
  alter column token_generation drop not null,
  add column group_id uuid unique references groups,
  -- The key of the directory source that deleted the group, where it wasn't the admin.
  add column provisioning_source text,
  add check (num_nonnulls(principal_id, group_id) = 1),
  add check (num_nonnulls(principal_id, token_generation) in (0, 2));
