import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { AgentReason, AgentStatus } from './agent-status.ts';

/** Emitted when the phase, reason, node or revision has changed, not for every report. */
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
