/** A journal row before it is written, by column names. See docs/reference/journal.md#events. */
export interface EventDraft {
  id: string;
  type: string;
  schema_version: number;
  entity_type: string;
  entity_id: string;
  workspace_id: string | null;
  actor_id: string | null;
  iam_actor_id: string | null;
  session_id: string | null;
  correlation_id: string;
  causation_id: string | null;
  request_id: string;
  trace_run_id: string;
  payload: unknown;
}
