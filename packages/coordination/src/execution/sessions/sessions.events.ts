import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';

export const sessionOpened = defineEvent(
  'session.opened',
  'session',
  z.strictObject({
    clientName: z.string(),
    harnessType: z.string().nullable(),
    controlLevel: z.string(),
    protocolVersion: z.string().nullable(),
    onBehalfOf: Uuid.nullable(),
    expiresAt: Timestamp,
  }),
);
