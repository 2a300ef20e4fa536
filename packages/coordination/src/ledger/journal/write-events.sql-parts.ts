import { part } from '@baton/kernel/database/sql';

/**
 * Types of events that are written to the journal but aren't delivered to sinks. See docs/reference/skills.md#events.
 */
const undeliveredTypes = ['skill.invocation_claimed'];

/** The origin of the events that a statement itself writes. */
export interface EventOrigin {
  readonly tenantId: string;
  readonly principalId: string;
  readonly iamPrincipalId: string | null;
  readonly correlationId: string;
  readonly requestId: string;
  readonly traceRunId: string | null;
  /** Whether the events are also written for delivery to sinks. */
  readonly writesOutbox: boolean;
}

/**
 * Expressions of a statement's `with` that write the events of its expression `new_events` (n, id, type,
 * schema_version, entity_type, entity_id, workspace_id, session_id, payload) in the order of `n`.
 */
export function writeEvents({ tenantId, writesOutbox, ...origin }: EventOrigin) {
  return part`drafts as (
      select new_events.*, ${origin.principalId}::uuid as actor_id, ${origin.iamPrincipalId}::uuid as iam_actor_id,
        ${origin.correlationId}::text as correlation_id, null::text as causation_id,
        ${origin.requestId}::text as request_id, ${origin.traceRunId}::text as trace_run_id
      from new_events
    ), ${writeDrafts(tenantId, writesOutbox)}`;
}

/** The only place that writes journal rows and their outbox rows. */
export function writeDrafts(tenantId: string, writesOutbox: boolean) {
  return part`written as (
      insert into events (id, tenant_id, type, schema_version, entity_type, entity_id, workspace_id, actor_id,
        iam_actor_id, session_id, correlation_id, causation_id, request_id, trace_run_id, payload)
      select id, ${tenantId}, type, schema_version, entity_type, entity_id, workspace_id, actor_id, iam_actor_id,
        session_id, correlation_id, causation_id, request_id, trace_run_id, payload
      from drafts order by n
      returning sequence, type
    ), queued as (
      insert into outbox (event_sequence, tenant_id) select sequence, ${tenantId} from written
      where ${writesOutbox}::boolean and type <> all (${undeliveredTypes})
    )`;
}
