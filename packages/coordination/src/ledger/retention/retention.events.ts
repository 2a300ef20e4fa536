import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';

const throughCursor = z.string();
const minAgeSeconds = z.int().nonnegative();

/** The entity is the tenant. `throughCursor` is the position of the last archived event. */
export const journalArchived = defineEvent(
  'event_journal.archived',
  'event_journal',
  z.strictObject({ archived: z.int().positive(), throughCursor, minAgeSeconds }),
);

/** `throughCursor` is the position of the last deleted event, after which the journal can be read. */
export const journalPruned = defineEvent(
  'event_journal.pruned',
  'event_journal',
  z.strictObject({ pruned: z.int().positive(), throughCursor, minAgeSeconds }),
);
