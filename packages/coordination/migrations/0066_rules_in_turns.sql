-- Evaluations that wait, and rules with a schedule, are taken tenant by tenant: one with many keeps no other.
drop index rule_evaluations_due;
create index rule_evaluations_due on rule_evaluations (tenant_id, next_check_at, id) where next_check_at is not null;
drop index rules_due;
create index rules_due on rules (tenant_id, next_run_at, id) where next_run_at is not null;

-- The tasks whose claims, or the call whose end, an evaluation waits for: their end has it look again at once.
alter table rule_evaluations add column waits_for uuid[] not null default '{}';
create index rule_evaluations_wait_for on rule_evaluations using gin (waits_for) where next_check_at is not null;
