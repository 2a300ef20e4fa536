-- What rules and calls of skills leave behind is forgotten after a while: the oldest is found by an index.

create index rule_evaluations_old on rule_evaluations (updated_at, id) where status <> 'waiting';

-- When it was last seen whether the task of a key is still open.
alter table rule_work add column looked_at timestamptz(3) not null default now();
create index rule_work_old on rule_work (looked_at);

create index rule_touched_tasks_old on rule_touched_tasks (touched_at);

-- A call that an approval allowed is kept, so that it allows no second one.
create index skill_invocations_old on skill_invocations (finished_at, id)
  where finished_at is not null and approval_id is null;
