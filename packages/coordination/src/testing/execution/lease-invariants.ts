import assert from 'node:assert/strict';
import { sql } from '@baton/kernel/database/sql';
import type { TestCoordination } from '../coordination.ts';

/** Invariants of the database, by name; each query finds the rows that violate it. */
const violations = {
  'a pointer of a task and its active claim belong together, with one lease': sql`
    select t.id from tasks t full join (select * from claims where status = 'active') c on c.task_id = t.id
    where t.active_claim_id is distinct from c.id or t.lease_expires_at is distinct from c.expires_at`,
  // The end of a run doesn't wait for a task that another command has locked; the worker releases the claim later
  // (`endings`).
  'no active claim is in an ended session, unless the worker is to release it': sql`
    select c.id from claims c join sessions s on s.id = c.session_id
    where c.status = 'active' and s.status <> 'active' and not exists (
      select from endings e where e.session_id = s.id or e.principal_id in (s.principal_id, s.on_behalf_of_id))`,
  'no active claim is held by a disabled principal, unless the worker is to release it': sql`
    select c.id from claims c join principals p on p.id = c.holder_id
    where c.status = 'active' and p.status = 'disabled' and not exists (
      select from endings e where e.principal_id = p.id or e.session_id = c.session_id)`,
  'fencing tokens rise by one per claim, and the last is the epoch': sql`
    select t.id from tasks t left join claims c on c.task_id = t.id group by t.id
    having count(c.id) <> t.claim_epoch or coalesce(max(c.fencing_token), 0) <> t.claim_epoch`,
  'a claim has one event of its end, an active one none': sql`
    select c.id from claims c left join events e on e.entity_id = c.id and e.type in ('claim.released', 'claim.expired')
    group by c.id having count(e.id) <> case when c.status = 'active' then 0 else 1 end`,
  'the end of a claim matches its event': sql`
    select c.id from claims c join events e on e.entity_id = c.id
    where (c.status = 'stale') <> (e.type = 'claim.expired')`,
  'in the journal the claims of a task follow one another: started, ended, started, with rising tokens': sql`
    select * from (
      select e.task, begins, claim, lag(begins) over journal as after_begin, lag(claim) over journal as after_claim,
        token, max(token) over (journal rows between unbounded preceding and 1 preceding) as token_before
      from (
        select coalesce(payload ->> 'taskId', entity_id::text) as task, type = 'task.claimed' as begins,
          coalesce(payload ->> 'claimId', entity_id::text) as claim, (payload ->> 'fencingToken')::bigint as token, position, sequence
        from events where type in ('task.claimed', 'claim.released', 'claim.expired')) e
      window journal as (partition by task order by position, sequence)) steps
    where (begins and (coalesce(after_begin, false) or token <= token_before))
      or (not begins and (after_begin is not true or after_claim <> claim))`,
  'in the journal the runs of a task follow one another: started, ended, started': sql`
    select * from (
      select run, begins, lag(begins) over journal as after_begin, lag(run) over journal as after_run
      from (
        select payload ->> 'taskId' as task, type = 'run.started' as begins, entity_id as run, position, sequence
        from events where type in ('run.started', 'run.succeeded', 'run.failed', 'run.cancelled', 'run.suspended')) e
      window journal as (partition by task order by position, sequence)) steps
    where (begins and coalesce(after_begin, false)) or (not begins and (after_begin is not true or after_run <> run))`,
  'a session has at most one event of its end': sql`
    select s.id from sessions s join events e on e.entity_id = s.id and e.type in ('session.closed', 'session.expired')
    group by s.id having count(*) filter (where e.type = 'session.closed') > 1 or count(*) filter (where e.type = 'session.expired') > 1
      or (s.status = 'active')`,
  'a run starts once and ends once': sql`
    select r.id from runs r left join events e on e.entity_id = r.id group by r.id
    having count(*) filter (where e.type = 'run.started') <> 1
      or count(*) filter (where e.type in ('run.succeeded', 'run.failed', 'run.cancelled', 'run.suspended'))
        <> case when r.status = 'running' then 0 else 1 end`,
  'attempts of a task count from one without a gap': sql`
    select task_id from runs group by task_id having max(attempt) <> count(*)`,
  'checkpoints and actions of a run count from one without a gap, up to its tallies': sql`
    select r.id from runs r
    where (select array[count(*), coalesce(max(seq), 0)] from checkpoints c where c.run_id = r.id)
        <> array[r.checkpoint_count, r.checkpoint_count]::bigint[]
      or (select array[count(*), coalesce(max(seq), 0)] from run_actions a where a.run_id = r.id)
        <> array[r.action_count, r.action_count]::bigint[]`,
  'a run has used what its actions have used': sql`
    select r.id from runs r
    where (r.input_tokens, r.output_tokens) <> (
        select coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) from run_actions a where a.run_id = r.id)
      or r.costs <> coalesce((
        select jsonb_object_agg(currency, spent) from (
          select currency, sum(cost_micros) as spent from run_actions a
          where a.run_id = r.id and cost_micros is not null group by currency) as summed), '{}')`,
  'a run has its manifest from its start on, in versions without a gap': sql`
    select r.id from runs r left join harness_manifests m on m.run_id = r.id group by r.id
    having count(m.version) = 0 or max(m.version) <> count(m.version)`,
  'a sweeper checks a live lease before it expires': sql`
    select id from claims where status = 'active' and sweep_at > expires_at
    union all select id from sessions where status = 'active' and sweep_at > expires_at`,
  'a task is completed once': sql`
    select entity_id from events where type = 'task.completed' group by entity_id having count(*) > 1`,
  'every event has its outbox row until it is delivered': sql`
    select e.id from events e left join outbox o on o.event_sequence = e.sequence where o.event_sequence is null`,
};

/** Checks the whole store of a test for inconsistencies left by a race. */
export async function checkLeaseInvariants(baton: TestCoordination): Promise<void> {
  for (const [invariant, query] of Object.entries(violations))
    assert.deepEqual(await baton.pool.rows(query), [], invariant);
}
