-- A forced cancellation follows launches, by this index, whatever became of their relations `spawned_by`. Anybody with
-- `tasks.write` relates tasks, so the relations count only for a sender with `claims.manage` (core, section 11). The worker
-- goes on as it was begun. Of those that are under way, one that the run's own principal sent counts as without.
create index child_handles_of_task on child_handles (parent_task_id);

alter table run_cascades add column follows_relations boolean not null default false;
update run_cascades c set follows_relations = true
from run_control_messages m join runs r on r.id = m.run_id
where m.id = c.message_id and m.requested_by_principal_id <> r.principal_id;
alter table run_cascades alter column follows_relations drop default;
