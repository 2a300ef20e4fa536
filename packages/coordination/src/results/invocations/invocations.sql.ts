import { sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';
import type { CredentialSnapshot } from '../../access/authn/credential-snapshot.ts';
import type { AuthorizationBasis, InvocationRow } from '../../leases/invocations/invocation-row.ts';

export interface NewInvocation {
  id: string;
  tenantId: string;
  skillId: string;
  requestedBy: { kind: InvocationRow['requested_by_kind']; ref: string };
  authorityPrincipalId: string;
  credential: CredentialSnapshot;
  basis: AuthorizationBasis | null;
  idempotencyKey: string | null;
  inputs: JsonObject;
  taskId: string | null;
  runId: string | null;
  workspaceId: string | null;
  maxAttempts: number;
  timeoutSeconds: number;
  backoffSeconds: number;
}

/**
 * Locks the skill against being disabled until the commit. Returns no row if the skill is disabled, the key already
 * identifies a call, or the basis has been used. A task can't be claimed while it is verified, so all principals that
 * worked on it are known by now.
 */
export function insertInvocation(call: NewInvocation) {
  const basis = call.basis === null ? null : JSON.stringify(call.basis);
  const approvalId = call.basis?.kind === 'approval' ? call.basis.approvalId : null;
  const verificationId = call.requestedBy.kind === 'verification' ? call.requestedBy.ref : null;
  return sql<InvocationRow>`
    with skill as materialized (
      select id, protocol, target, audience from skills
      where id = ${call.skillId} and tenant_id = ${call.tenantId} and status <> 'disabled' for share
    )
    insert into skill_invocations (id, tenant_id, skill_id, protocol, target, audience, requested_by_kind,
      requested_by_ref, authority_principal_id, credential, authorization_basis, approval_id, idempotency_key, inputs,
      task_id, run_id, workspace_id, max_attempts, timeout_seconds, backoff_seconds, barred_principals)
    select ${call.id}, ${call.tenantId}, skill.id, skill.protocol, skill.target, skill.audience, ${call.requestedBy.kind},
      ${call.requestedBy.ref}, ${call.authorityPrincipalId}, ${JSON.stringify(call.credential)}, ${basis}::jsonb,
      ${approvalId}::uuid, ${call.idempotencyKey}, ${JSON.stringify(call.inputs)}, ${call.taskId}::uuid,
      ${call.runId}::uuid, ${call.workspaceId}::uuid, ${call.maxAttempts}::integer, ${call.timeoutSeconds}::integer,
      ${call.backoffSeconds}::integer, barred_from_judging(${verificationId}::uuid)
    from skill
    on conflict do nothing
    returning *`;
}

/** Whether the tenant has at least this many pending calls; stops counting there, using the index of the queues. */
export function hasPendingCalls(tenantId: string, calls: number) {
  return sql<{ has: boolean }>`
    select count(*) >= ${calls}::integer as has from (
      select from skill_invocations where tenant_id = ${tenantId} and status = 'pending' limit ${calls}
    ) as waiting`;
}

export function findInvocation(tenantId: string, id: string) {
  return sql<InvocationRow>`select * from skill_invocations where id = ${id} and tenant_id = ${tenantId}`;
}

/** A call with the name and version of its skill. */
export type NamedInvocationRow = InvocationRow & { skill: string; version: string };

export function findNamedInvocation(tenantId: string, id: string) {
  return sql<NamedInvocationRow & { age_seconds: number }>`
    select i.*, s.name as skill, s.version,
      extract(epoch from clock_timestamp() - i.created_at)::float8 as age_seconds
    from skill_invocations i join skills s on s.id = i.skill_id
    where i.id = ${id} and i.tenant_id = ${tenantId}`;
}

/** The call of a principal with this key; keys that the core generates can't equal a key in a request. */
export function findInvocationOfKey(principalId: string, isSent: boolean, idempotencyKey: string) {
  return sql<NamedInvocationRow>`
    select i.*, s.name as skill, s.version from skill_invocations i join skills s on s.id = i.skill_id
    where i.authority_principal_id = ${principalId} and (i.requested_by_kind in ('principal', 'run')) = ${isSent}
      and i.idempotency_key = ${idempotencyKey}`;
}

/** Whether a run's principal has a skill, and whether the handle that launched the run grants it. */
export function findToolRights(tenantId: string, runId: string, skillId: string) {
  return sql<{ is_assigned: boolean; is_granted: boolean }>`
    select exists (
        select from skill_assignments a where a.principal_id = r.principal_id and a.skill_id = s.id
      ) as is_assigned,
      r.child_handle_id is null or s.name || '@' || s.version = any (h.skills) as is_granted
    from runs r join skills s on s.id = ${skillId} left join child_handles h on h.id = r.child_handle_id
    where r.id = ${runId} and r.tenant_id = ${tenantId}`;
}

/**
 * The use of a skill that an approval permits: its gate's task, and whether it has already been used for this version.
 * If the decider was shown an outcome of the decision, the approval permits only that outcome: the outcome of a task's
 * type is executed by a worker, and that of a check by the verification.
 */
export function findApprovalBasis(tenantId: string, approvalId: string, skillId: string) {
  return sql<{ task_id: string | null; is_approved: boolean; is_terminal: boolean; is_used: boolean }>`
    select a.task_id, a.gate and a.status = 'approved'
        and a.verification_id is null
        and not exists (select from approval_outcomes o where o.approval_id = a.id)
        and not exists (select from approvals later where later.supersedes_approval_id = a.id) as is_approved,
      coalesce(t.category in ('terminal_success', 'terminal_cancelled'), false) as is_terminal,
      exists (select from skill_invocations i where i.approval_id = a.id and i.skill_id = ${skillId}) as is_used
    from approvals a left join tasks t on t.id = a.task_id
    where a.id = ${approvalId} and a.tenant_id = ${tenantId}`;
}

/** The skill that executes a run's task, as the task's type declares. */
export function findExecutionBasis(
  tenantId: string,
  runId: string,
  pinned: { skill: string; version: string },
) {
  return sql<{ is_pinned: boolean; pending: number; pending_approvals: string[]; is_used: boolean }>`
    select coalesce(tt.execution ->> 'skill' = ${pinned.skill} and tt.execution ->> 'version' = ${pinned.version}, false)
        as is_pinned,
      t.pending_gates as pending, pending_gates_of(t.id) as pending_approvals,
      exists (
        select from skill_invocations i where i.run_id = r.id and i.authorization_basis ->> 'kind' = 'execution'
      ) as is_used
    from runs r join tasks t on t.id = r.task_id join task_types tt on tt.id = t.type_id
    where r.id = ${runId} and r.tenant_id = ${tenantId}`;
}
