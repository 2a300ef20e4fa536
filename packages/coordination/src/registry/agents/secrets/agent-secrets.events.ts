import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';

const head = { agentKey: z.string(), name: z.string() };

export const agentSecretSet = defineEvent(
  'agent.secret_set',
  'agent',
  z.strictObject({ ...head, created: z.boolean() }),
);

export const agentSecretDeleted = defineEvent('agent.secret_deleted', 'agent', z.strictObject(head));
