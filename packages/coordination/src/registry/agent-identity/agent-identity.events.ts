import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** The principal stays; the identity by which it enters is another one. */
export const agentIdentityReplaced = defineEvent(
  'agent.identity_replaced',
  'agent',
  z.strictObject({ key: z.string(), principalId: Uuid, reason: z.string() }),
);
