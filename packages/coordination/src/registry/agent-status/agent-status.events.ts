import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { AgentReason, AgentStatus } from './agent-status.ts';

/** Written when phase, reason, node or revision changed, not for each report. */
export const agentStatusChanged = defineEvent(
  'agent.status_changed',
  'agent',
  z.strictObject({
    key: z.string(),
    phase: AgentStatus.shape.phase,
    node: z.string().nullable(),
    reason: AgentReason.nullable(),
    observedRevision: z.int().nullable(),
  }),
);
