import { z } from 'zod';
import { Timestamp, Uuid } from '@baton/kernel/wire';
import { JournalEvent } from '../../ledger/journal/event.ts';

/** An event as webhooks get it: CloudEvents 1.0 in structured mode. */
export const CloudEvent = z
  .strictObject({
    specversion: z.literal('1.0'),
    id: Uuid.meta({ description: 'The id of the event: tell repeats by it.' }),
    source: z.string().meta({ description: 'Which installation and tenant wrote it.' }),
    type: z.string(),
    subject: z.string().optional(),
    time: Timestamp,
    datacontenttype: z.literal('application/json'),
    data: JournalEvent,
  })
  .meta({ id: 'CloudEvent' });
