import { defineEvent } from '@baton/kernel/service';
import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';

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

/** `reason` is given where nobody asked for the close: `principal_disabled`, `delegation_ended`. */
export const sessionClosed = defineEvent(
  'session.closed',
  'session',
  z.strictObject({ releasedClaims: z.int(), reason: z.string().optional() }),
  2,
);

export const sessionExpired = defineEvent(
  'session.expired',
  'session',
  z.strictObject({ expiresAt: Timestamp, releasedClaims: z.int() }),
);
