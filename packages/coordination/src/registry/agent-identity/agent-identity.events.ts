import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** The principal stays the same; its identity changes. */
export const agentIdentityReplaced = defineEvent(
  'agent.identity_replaced',
  'agent',
  z.strictObject({ key: z.string(), principalId: Uuid, reason: z.string() }),
);
