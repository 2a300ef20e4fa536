import { z } from 'zod';

/** The maximum number of events that one request archives or prunes; also the default. */
export const eventsPerCallMax = 100_000;

/** The body of `journal:archive` and `journal:prune`. See docs/reference/journal.md#archive-and-prune. */
export const RetentionBody = z
  .strictObject({
    beforeSeconds: z
      .int()
      .nonnegative()
      // PostgreSQL's earliest timestamp is 6,700 years ago, so no event is older.
      .max(100_000_000_000)
      .optional()
      .meta({
        description: 'The minimum age of events; CP_JOURNAL_RETENTION_MIN_AGE_SECONDS by default.',
      }),
    maxEvents: z
      .int()
      .min(1)
      .max(eventsPerCallMax)
      .optional()
      .meta({ description: 'The maximum number of events, oldest first.' }),
  })
  .meta({ id: 'JournalRetention' });
export type RetentionBody = z.output<typeof RetentionBody>;

const floorCursor = (description: string) => z.string().meta({ description });
const archiveFloorCursor = floorCursor('The beginning of the journal: events up to here are deleted.');
const eventCount = z.int().nonnegative();

export const JournalArchiving = z
  .strictObject({
    archived: eventCount.meta({ description: '0 if consumers have not confirmed any further event.' }),
    journalFloorCursor: floorCursor('The end of the archive.'),
    archiveFloorCursor,
    minAgeSeconds: z.int().nonnegative(),
  })
  .meta({ id: 'JournalArchiving' });
export type JournalArchiving = z.infer<typeof JournalArchiving>;

export const JournalPruning = z
  .strictObject({ pruned: eventCount, archiveFloorCursor })
  .meta({ id: 'JournalPruning' });
export type JournalPruning = z.infer<typeof JournalPruning>;
