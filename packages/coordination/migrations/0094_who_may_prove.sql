-- Who may prove that a task is done, and who may take away what it must meet.

-- A run is started under a claim, so the holders of a task's claims are all who ever worked on it.
create function has_worked_on(task uuid, principal uuid) returns boolean
language sql stable
as $$
  select exists (select from claims where task_id = task and holder_id = principal)
$$;

-- Who asked for a completion, and so has no say in whether the task is done. What a person's rule or decision asks for is
-- asked by the declaration.
alter table verifications
  add column requester_id uuid,
  -- Evidence that the present check was offered by somebody who may not prove it.
  add column not_counted jsonb not null default '[]';

update verifications set requester_id = authority_principal_id
where finished_at is null and (trigger in ('complete', 'run') or credential ->> 'kind' <> 'human');

-- An approval that an attempt asked for, and for which of its checks. No other decides that check.
alter table approvals
  add column verification_id uuid references verifications (id),
  add column check_key text,
  add constraint approvals_of_check check ((verification_id is null) = (check_key is null));
update approvals a
set verification_id = v.id, check_key = v.checks -> v.cursor ->> 'key'
from verifications v
where v.approval_id = a.id and v.owns_approval and v.finished_at is null and v.checks -> v.cursor ->> 'key' is not null;
-- Attempts that wait for a gate of somebody else ask for one of their own.
update verifications set next_check_at = now()
where finished_at is null and approval_id is not null and not owns_approval;

-- Who added each requirement of a task, by `role:reviewer` and the like. What stood there before was added by nobody known.
alter table tasks add column requirement_authors jsonb not null default '{}';

-- Who must not take a call that judges a task: whoever worked on it, and an agent or a service that asked for its completion.
alter table skill_invocations add column barred_principals uuid[] not null default '{}';
create function barred_from_judging(verification uuid) returns uuid[]
language sql stable
as $$
  select array(
    select holder_id from claims c join verifications v on v.task_id = c.task_id where v.id = verification
    union
    select authority_principal_id from verifications where id = verification and credential ->> 'kind' <> 'human'
    order by 1)
$$;
update skill_invocations set barred_principals = barred_from_judging(requested_by_ref::uuid)
where requested_by_kind = 'verification' and status in ('pending', 'running');

-- The sets of barred principals in a queue, one after another: an executor that meets calls it must not take steps over all
-- of those that bar it.
create index skill_invocations_by_barred on skill_invocations
  (tenant_id, protocol, target, audience, hash_array_extended(barred_principals, 0), available_at, id)
  where status = 'pending';
