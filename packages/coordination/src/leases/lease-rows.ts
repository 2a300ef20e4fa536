import type { JsonObject } from '@baton/kernel/wire';

/** Rows of what lives under a lease: the session that holds it, the claim, and the run. */

export const sessionStatuses = ['active', 'stale', 'closed'] as const;

export interface SessionRow {
  id: string;
  tenant_id: string;
  principal_id: string;
  on_behalf_of_id: string | null;
  delegation_id: string | null;
  status: (typeof sessionStatuses)[number];
  client_name: string;
  client_version: string;
  control_level: 'human_operated' | 'connected';
  harness_type: string | null;
  harness_version: string | null;
  protocol_version: string | null;
  hostname: string | null;
  harness_capabilities: string[] | null;
  environment: JsonObject | null;
  metadata: JsonObject;
  started_at: string;
  heartbeat_at: string;
  expires_at: string;
  ended_at: string | null;
}

export const claimStatuses = ['active', 'released', 'stale'] as const;

export interface ClaimRow {
  id: string;
  tenant_id: string;
  task_id: string;
  session_id: string;
  holder_id: string;
  status: (typeof claimStatuses)[number];
  fencing_token: number;
  intent: string;
  acquired_at: string;
  heartbeat_at: string;
  expires_at: string;
  released_at: string | null;
  release_reason: string | null;
}

export const runStatuses = ['running', 'succeeded', 'failed', 'cancelled', 'suspended'] as const;

export interface RunRow {
  id: string;
  tenant_id: string;
  task_id: string;
  claim_id: string;
  principal_id: string;
  session_id: string;
  fencing_token: number;
  attempt: number;
  status: (typeof runStatuses)[number];
  started_at: string;
  finished_at: string | null;
  input: JsonObject | null;
  output: JsonObject | null;
  failure_reason: string | null;
  cancel_requested_at: string | null;
  cancel_requested_by: string | null;
  max_duration_seconds: number | null;
  max_actions: number | null;
  metadata: JsonObject;
  instructions_hash: string | null;
  instructions_refs: string[] | null;
  agent_revision_id: string | null;
  version: number;
  created_at: string;
  updated_at: string;
}

/** A run with the workspace of its task, for its events. */
export interface EndedRunRow extends RunRow {
  workspace_id: string | null;
}
