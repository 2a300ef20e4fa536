import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { InstantInput, Timestamp, Uuid } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';

const reportedPhases = [
  'pending',
  'running',
  'waiting_for_node',
  'crash_looping',
  'node_unavailable',
  'stopped',
] as const;
const phases = ['unknown', ...reportedPhases] as const;

const code = z.string().min(1).max(100);
const node = z.string().min(1).max(253);
const countMax = 1000;
const count = z.int().min(0).max(countMax);

export const AgentStatusReport = z
  .strictObject({
    phase: z.enum(reportedPhases),
    reason: z
      .strictObject({ code, message: z.string().max(500).optional() })
      .nullish()
      .describe('The reason for the phase; suspected secrets in the message are not stored.'),
    observedRevision: z.int().min(1).max(1_000_000_000).nullish(),
    node: node.nullish(),
    instances: z.strictObject({ desired: count, ready: count }),
    observedAt: InstantInput.describe('A time in the future, by the clock of the service, is stored as now.'),
  })
  .meta({ id: 'AgentStatusReport' });
export type AgentStatusReport = z.output<typeof AgentStatusReport>;

export const AgentReason = z
  .strictObject({ code: z.string(), message: z.string().nullable() })
  .meta({ id: 'AgentReason' });
export type AgentReason = z.infer<typeof AgentReason>;

/** The status of an agent from its last report. See docs/reference/agents.md#status. */
export const AgentStatus = z
  .strictObject({
    phase: z.enum(phases).describe('`unknown` before the first report.'),
    reason: AgentReason.nullable(),
    observedRevision: z.int().nullable(),
    node: z.string().nullable(),
    instances: z.strictObject({ desired: z.int(), ready: z.int() }).nullable(),
    observedAt: Timestamp.nullable(),
    reportedAt: Timestamp.nullable(),
    reportedBy: Uuid.nullable(),
    lastSeenAt: Timestamp.nullable().describe(
      'Time of the last report, or of the last heartbeat of a session of its principal.',
    ),
  })
  .meta({ id: 'AgentStatus' });
export type AgentStatus = z.infer<typeof AgentStatus>;

export type AgentStatusRow = RowOf<
  Tables['agent_statuses'],
  {
    phase: AgentStatusReport['phase'];
    reason: AgentReason | null;
    instances: AgentStatusReport['instances'];
  }
>;

/** An agent with its reported status: all null before the first report. */
export type SeenAgentRow = {
  [Column in keyof Omit<AgentStatusRow, 'agent_id' | 'tenant_id'>]: AgentStatusRow[Column] | null;
} & { last_seen_at: string | null };

export const agentStatusOf = wireMapper<SeenAgentRow>()(AgentStatus, {
  phase: ({ phase }) => phase ?? 'unknown',
});
