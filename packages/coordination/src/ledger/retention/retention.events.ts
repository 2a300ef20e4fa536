import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';

const throughCursor = z.string();
const minAgeSeconds = z.int().nonnegative();

/** The entity is the tenant. `throughCursor` is the place of the last event that was moved. */
export const journalArchived = defineEvent(
  'event_journal.archived',
  'event_journal',
  z.strictObject({ archived: z.int().positive(), throughCursor, minAgeSeconds }),
);

/** `throughCursor` is the place of the last event that was deleted, from which the journal can be read on. */
export const journalPruned = defineEvent(
  'event_journal.pruned',
  'event_journal',
  z.strictObject({ pruned: z.int().positive(), throughCursor, minAgeSeconds }),
);
