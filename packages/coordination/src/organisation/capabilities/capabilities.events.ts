import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';

export const capabilityCreated = defineEvent(
  'capability.created',
  'capability',
  z.strictObject({ name: z.string() }),
);

export const capabilityUpdated = defineEvent(
  'capability.updated',
  'capability',
  z.strictObject({ changes: z.record(z.string(), z.string()), version: z.int() }),
);
