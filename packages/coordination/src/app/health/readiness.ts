import { z } from 'zod';

export const Ready = z
  .strictObject({
    status: z.literal('ready'),
    revision: z.int().meta({ description: 'The newest migration that the database holds.' }),
  })
  .meta({ id: 'Ready' });

export const NotReady = z
  .strictObject({
    status: z.literal('unavailable'),
    reason: z.enum(['database_unreachable', 'migrations_pending']),
    dbRevision: z.int().optional(),
    headRevision: z.int().optional(),
  })
  .meta({ id: 'NotReady' });

export type Readiness = z.infer<typeof Ready> | z.infer<typeof NotReady>;
