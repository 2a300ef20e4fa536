import { sql } from '@baton/kernel/database/sql';
import type { Need, Recipient } from './notice.ts';

export interface WaitingRow {
  entity_id: string;
  task_id: string | null;
  task_public_id: string | null;
  task_title: string | null;
  actor_id: string | null;
  actor_name: string | null;
  question: string | null;
  workspace_id: string | null;
  candidates: string[];
}

/** The objects to select, and the recipients. */
export interface Which {
  readonly tenantId: string;
  readonly entityIds: readonly string[];
  /** Null for everybody. */
  readonly onlyId: string | null;
  readonly candidatesMax: number;
}

/**
 * Pending approvals with those they are addressed to: the assigned person, or the holders of the role in the tenant, in
 * the approval's workspace or above it. Excluded people and, for a check of a task, those who worked on it or requested
 * its completion can't decide it.
 */
export function findWaitingDecisions({ tenantId, entityIds, onlyId, candidatesMax }: Which) {
  return sql<WaitingRow>`
    with approval as materialized (
      select a.*, coalesce(w.path, '{}') as path from approvals a left join workspaces w on w.id = a.workspace_id
      where a.id = any (${entityIds}::uuid[]) and a.tenant_id = ${tenantId} and a.status = 'pending'
    ), addressee as (
      select id as approval_id, assigned_principal_id as id from approval
      where assigned_principal_id is not null and (${onlyId}::uuid is null or assigned_principal_id = ${onlyId}::uuid)
      union
      select a.id, g.principal_id from approval a
      join role_assignments g on g.role_id = a.required_role_id and g.tenant_id = a.tenant_id
      where (g.workspace_id is null or g.workspace_id = any (a.path))
        and (${onlyId}::uuid is null or g.principal_id = ${onlyId}::uuid)
    )
    select a.id as entity_id, a.task_id, t.public_id as task_public_id, t.title as task_title,
      a.requested_by_principal_id as actor_id, p.display_name as actor_name, a.comment as question,
      coalesce(t.workspace_id, a.workspace_id) as workspace_id,
      array(
        select addressee.id from addressee
        where addressee.approval_id = a.id and not addressee.id = any (a.excluded_principals)
          and not exists (
            select from verifications v
            where v.id = a.verification_id and (v.requester_id = addressee.id or has_worked_on(v.task_id, addressee.id)))
        order by addressee.id limit ${candidatesMax}
      ) as candidates
    from approval a left join tasks t on t.id = a.task_id left join principals p on p.id = a.requested_by_principal_id`;
}

/** The event that may be the assignment of a task. */
export interface Assignment {
  readonly actorId: string | null;
  /** Null for a digest, in which the order of events is lost. */
  readonly sequence: number | null;
}

/**
 * Open tasks with those they are assigned or addressed to. Nobody if it was assigned again after this event: the worker
 * may process the first event late, and the later event notifies the same person.
 */
export function findWaitingTasks(
  { tenantId, entityIds, onlyId, candidatesMax }: Which,
  { actorId, sequence }: Assignment,
) {
  return sql<WaitingRow>`
    with task as materialized (
      select t.*, coalesce(w.path, '{}') as path from tasks t left join workspaces w on w.id = t.workspace_id
      where t.id = any (${entityIds}::uuid[]) and t.tenant_id = ${tenantId} and t.category::text not like 'terminal%'
        and (t.assignee_id is not null or t.is_addressed)
        and not exists (
          select from events e
          where e.tenant_id = ${tenantId} and e.entity_id = t.id and e.sequence > ${sequence}::bigint
            and e.type = 'task.updated' and e.payload -> 'changes' ? 'assigneeId')
    ), addressee as (
      select id as task_id, assignee_id as id from task where assignee_id is not null
      union
      select t.id, d.principal_id from task t join task_addressees d on d.task_id = t.id where d.principal_id is not null
      union
      select t.id, g.principal_id from task t join task_addressees d on d.task_id = t.id
      join role_assignments g on g.role_id = d.role_id and g.tenant_id = d.tenant_id
      where (g.workspace_id is null or g.workspace_id = any (t.path))
        and (${onlyId}::uuid is null or g.principal_id = ${onlyId}::uuid)
    )
    select t.id as entity_id, t.id as task_id, t.public_id as task_public_id, t.title as task_title,
      ${actorId}::uuid as actor_id, p.display_name as actor_name, null as question, t.workspace_id,
      array(
        select addressee.id from addressee
        where addressee.task_id = t.id and (${onlyId}::uuid is null or addressee.id = ${onlyId}::uuid)
        order by addressee.id limit ${candidatesMax}
      ) as candidates
    from task t left join principals p on p.id = ${actorId}::uuid and p.tenant_id = ${tenantId}`;
}

/**
 * Comments and descriptions of tasks with those whom they still mention, whatever the status of the task. The author is
 * the author of the oldest of these mentions. An entity is the comment, or the task for its description.
 * @param mentionedIds only these principals; null for all
 */
export function findWaitingMentions(
  { tenantId, entityIds, onlyId, candidatesMax }: Which,
  mentionedIds: readonly string[] | null,
) {
  return sql<WaitingRow>`
    with mention as materialized (
      select source_id, principal_id, task_id, author_id, created_at from mentions
      where source_id = any (${entityIds}::uuid[]) and tenant_id = ${tenantId} and is_present
        and (${mentionedIds}::uuid[] is null or principal_id = any (${mentionedIds}::uuid[]))
        and (${onlyId}::uuid is null or principal_id = ${onlyId}::uuid)
    ), first as (
      select distinct on (source_id) source_id, task_id, author_id from mention order by source_id, created_at, principal_id
    )
    select f.source_id as entity_id, t.id as task_id, t.public_id as task_public_id, t.title as task_title,
      f.author_id as actor_id, p.display_name as actor_name, c.body as question, t.workspace_id,
      array(select principal_id from mention m where m.source_id = f.source_id order by principal_id limit ${candidatesMax}) as candidates
    from first f join tasks t on t.id = f.task_id and t.tenant_id = ${tenantId}
    left join comments c on c.id = f.source_id and c.tenant_id = ${tenantId}
    left join principals p on p.id = f.author_id and p.tenant_id = ${tenantId}`;
}

/** Control messages that haven't been acknowledged, with the principal of their run. Their text stays in Baton. */
export function findWaitingMessages({ tenantId, entityIds, onlyId }: Which) {
  return sql<WaitingRow>`
    select m.id as entity_id, m.task_id, t.public_id as task_public_id, t.title as task_title,
      m.requested_by_principal_id as actor_id, p.display_name as actor_name, null as question, t.workspace_id,
      array[r.principal_id] as candidates
    from run_control_messages m join runs r on r.id = m.run_id join tasks t on t.id = m.task_id
    left join principals p on p.id = m.requested_by_principal_id
    where m.id = any (${entityIds}::uuid[]) and m.tenant_id = ${tenantId} and m.status = 'accepted' and r.finished_at is null
      and (${onlyId}::uuid is null or r.principal_id = ${onlyId}::uuid)`;
}

export interface WhoOf {
  readonly tenantId: string;
  readonly ids: readonly string[];
  readonly needs: Need;
  readonly workspaceId: string | null;
  readonly rowsMax: number;
}

/** Of the given people, those who are active, have a live binding or key and may see the object, with their choices. */
export function findRecipients({ tenantId, ids, needs, workspaceId, rowsMax }: WhoOf) {
  return sql<Recipient>`
    select p.id, p.display_name, n.email, p.profile ->> 'email' as profile_email, coalesce(n.modes, '{}') as modes,
      coalesce(n.digest_interval_seconds, 86400) as digest_interval_seconds, w.id as webhook_id, w.host as webhook_host,
      w.secret_name as webhook_secret
    from principals p
    left join notification_preferences n on n.principal_id = p.id and n.tenant_id = p.tenant_id
    left join notification_webhooks w on w.principal_id = p.id and w.tenant_id = p.tenant_id
    where p.id = any (${ids}::uuid[]) and p.tenant_id = ${tenantId} and p.kind = 'human' and p.status = 'active'
      and exists (
        select from (
          select b.permissions from iam_bindings b where b.principal_id = p.id and b.status = 'active'
          union all
          select k.permissions from api_keys k
          where k.principal_id = p.id and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())) held
        where case ${needs}::text
          when 'decisions' then held.permissions && '{approvals.decide,admin}'
          when 'tasks' then held.permissions && '{tasks.read,admin}'
          else true end)
      and (sees_workspace(p.id, ${workspaceId}::uuid) or not exists (
        select from iam_bindings b
        where b.principal_id = p.id and b.status = 'active' and b.visibility = 'members'))
    order by p.id limit ${rowsMax}`;
}
