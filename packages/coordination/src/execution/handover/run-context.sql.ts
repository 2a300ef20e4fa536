import { sql } from '@baton/kernel/database/sql';
import type { CheckpointRow } from '../checkpoints/checkpoint.ts';
import type { ControlMessageRow } from '../control-messages/control-message.ts';
import type { RunContextRow } from './run-context.ts';

/**
 * Reads most of a run's context in one snapshot, with the journal horizon of the same snapshot; returns no row for an
 * unknown run. Each list is bounded, and none contains free-form documents.
 */
export function findRunContext(tenantId: string, runId: string, listMax: number, relationsMax: number) {
  return sql<RunContextRow>`
    select journal_horizon() as horizon,
      jsonb_build_object('id', r.id, 'taskId', r.task_id, 'claimId', r.claim_id, 'status', r.status, 'attempt', r.attempt,
        'fencingToken', r.fencing_token, 'input', r.input, 'maxDurationSeconds', r.max_duration_seconds,
        'maxActions', r.max_actions, 'cancelRequestedAt', r.cancel_requested_at, 'startedAt', r.started_at,
        'instructionsHash', r.instructions_hash, 'instructionsRefs', r.instructions_refs) as run,
      jsonb_build_object('id', t.id, 'publicId', t.public_id, 'title', t.title, 'description', t.description,
        'status', t.status, 'priority', t.priority, 'workspaceId', t.workspace_id, 'version', t.version,
        'claimEpoch', t.claim_epoch) as task,
      case when w.id is not null then jsonb_build_object('id', w.id, 'slug', w.slug, 'name', w.name) end as workspace,
      case when c.id is not null then jsonb_build_object('id', c.id, 'status', c.status, 'fencingToken', c.fencing_token,
        'expiresAt', c.expires_at, 'sessionId', c.session_id) end as claim,
      tt.key as type_key, tt.version as type_version, tt.instructions,
      case when tt.instructions <> '' then 'sha256:' || encode(sha256(convert_to(tt.instructions, 'UTF8')), 'hex') end
        as instructions_hash,
      tool_policy(r.principal_id, r.session_id) as tools,
      coalesce((select jsonb_agg(jsonb_build_object('id', id, 'fromTaskId', from_task_id, 'toTaskId', to_task_id,
          'type', type, 'createdByPrincipalId', created_by, 'createdAt', created_at) order by created_at, id) from (
        select * from task_relations where from_task_id = t.id
        union all select * from task_relations where to_task_id = t.id
        order by created_at, id limit ${relationsMax}) x), '[]') as relations,
      coalesce((select jsonb_agg(jsonb_build_object('id', id, 'type', type, 'name', name, 'runId', run_id, 'uri', uri,
          'contentState', content_state, 'mediaType', media_type, 'sizeBytes', size_bytes,
          'supersedesArtifactId', supersedes_artifact_id, 'createdAt', created_at) order by created_at desc, id desc) from (
        select * from artifacts where tenant_id = t.tenant_id and task_id = t.id
        order by created_at desc, id desc limit ${listMax}) x), '[]') as artifacts,
      coalesce((select jsonb_agg(jsonb_build_object('id', id, 'gate', gate, 'requiredRoleId', required_role_id,
          'assignedPrincipalId', assigned_principal_id, 'requestedByPrincipalId', requested_by_principal_id,
          'comment', comment, 'createdAt', created_at) order by created_at desc, id desc) from (
        select * from approvals where task_id = t.id and status = 'pending'
        order by created_at desc, id desc limit ${listMax}) x), '[]') as approvals,
      coalesce((select jsonb_agg(jsonb_build_object('key', key, 'type', type, 'from', source, 'required', required,
          'artifactId', artifact_id, 'sourceTaskId', source_task_id) order by place, nth) from (
        select i.*, row_number() over (partition by i.place order by a.created_at desc, a.id desc) as nth
        from task_inputs(t.id) i left join artifacts a on a.id = i.artifact_id) x where nth <= ${listMax}), '[]') as inputs
    from runs r
    join tasks t on t.id = r.task_id
    join task_types tt on tt.id = t.type_id
    left join workspaces w on w.id = t.workspace_id
    left join claims c on c.id = r.claim_id
    where r.id = ${runId} and r.tenant_id = ${tenantId}`;
}

export type AttemptCheckpointRow = CheckpointRow & { attempt: number };

/** The newest checkpoints of all runs of a task, up to a total size of their documents. */
export function findNewestCheckpoints(tenantId: string, taskId: string, rowsMax: number, bytesMax: number) {
  return sql<AttemptCheckpointRow>`
    select c.id, c.tenant_id, c.run_id, c.task_id, c.created_by_principal_id, c.seq, c.kind, c.data, c.data_bytes,
      c.created_at, r.attempt
    from (
      select *, sum(data_bytes) over (order by created_at desc, id desc) - data_bytes as bytes_before from (
        select * from checkpoints where task_id = ${taskId} and tenant_id = ${tenantId}
        order by created_at desc, id desc limit ${rowsMax}
      ) as newest
    ) as c
    join runs r on r.id = c.run_id
    where c.bytes_before < ${bytesMax}
    order by c.created_at desc, c.id desc`;
}

/** A run's open messages, by sequence number. */
export function findWaitingMessages(tenantId: string, runId: string, rowsMax: number) {
  return sql<ControlMessageRow>`
    select * from run_control_messages
    where run_id = ${runId} and tenant_id = ${tenantId} and status = 'accepted'
    order by seq limit ${rowsMax}`;
}
