-- What instances still have to take, and what they could not close (organisation, section 15.4).
alter table process_instances
  -- When the worker looks after it again: inputs that were kept are taken, what was left open is closed. Null: nothing is left.
  add column attend_at timestamptz(3),
  -- Inputs that wait in process_inputs, and those that were passed over in this suspension because too many waited.
  add column kept_inputs integer not null default 0,
  add column passed_over integer not null default 0,
  -- Tasks, approvals and calls whose closing was refused, each with its reason.
  add column left_open jsonb not null default '[]';
update process_instances i
set kept_inputs = k.inputs, attend_at = case when i.status = 'running' then now() end
from (select instance_id, count(*) as inputs from process_inputs where held is not null group by instance_id) k
where i.id = k.instance_id;
create index process_instances_attended on process_instances (attend_at, id) where attend_at is not null;
