import { z } from 'zod';
import { Timestamp } from '@baton/values/wire';

const HorizonHolder = z
  .strictObject({
    pid: z.int().nullable().meta({ description: 'Null for a prepared transaction; see pg_prepared_xacts.' }),
    ageSeconds: z.number(),
    database: z.string().nullable(),
  })
  .meta({
    id: 'HorizonHolder',
    description:
      'The database backend whose transaction, open for 1 s or longer, delays the readers of the journal.',
  });

export type HorizonHolder = z.infer<typeof HorizonHolder>;

const JournalEpoch = z
  .strictObject({
    beganAt: Timestamp.nullable(),
    reason: z.string().nullable().meta({ description: 'restart, another_cluster, restored or requested.' }),
    cursorsRefused: z
      .int()
      .meta({ description: 'Refused cursors of another history, since this process started.' }),
  })
  .meta({
    id: 'JournalEpoch',
    description:
      'The journal continued in a new epoch after a failover or a restore within a day, or readers of a lost history have appeared.',
  });

export type JournalEpoch = z.infer<typeof JournalEpoch>;

const MemoryRest = z.strictObject({ circuitsOpen: z.int() }).meta({
  id: 'MemoryRest',
  description:
    'The number of tenants for which the memory service has failed repeatedly and is not called at the moment. Their contexts lack memory; nothing else depends on it.',
});

export const Ready = z
  .strictObject({
    status: z.literal('ready'),
    revision: z.int().meta({ description: 'The newest migration applied to the database.' }),
    detail: z
      .strictObject({
        horizonHolder: HorizonHolder.optional(),
        journalEpoch: JournalEpoch.optional(),
        memory: MemoryRest.optional(),
      })
      .optional(),
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
