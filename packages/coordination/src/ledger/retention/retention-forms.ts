import { z } from 'zod';

/** The most events that one call archives or prunes; also where the body names no number. */
export const eventsPerCallMax = 100_000;

/** The body of `journal:archive` and `journal:prune` (core, section 18). */
export const RetentionBody = z
  .strictObject({
    beforeSeconds: z
      .int()
      .nonnegative()
      // The oldest time that PostgreSQL knows lies 6,700 years back; what is this old, nothing is.
      .max(100_000_000_000)
      .optional()
      .meta({
        description: 'How old an event is at least; CP_JOURNAL_RETENTION_MIN_AGE_SECONDS by default.',
      }),
    maxEvents: z
      .int()
      .min(1)
      .max(eventsPerCallMax)
      .optional()
      .meta({ description: 'How many events at most, the oldest first.' }),
  })
  .meta({ id: 'JournalRetention' });
export type RetentionBody = z.output<typeof RetentionBody>;

const floorCursor = (description: string) => z.string().meta({ description });
const archiveFloorCursor = floorCursor('Where the journal begins: what lies up to here is deleted.');
const eventCount = z.int().nonnegative();

export const JournalArchiving = z
  .strictObject({
    archived: eventCount.meta({ description: '0 protects what a consumer has not got yet.' }),
    journalFloorCursor: floorCursor('Up to here lies the archive.'),
    archiveFloorCursor,
    minAgeSeconds: z.int().nonnegative(),
  })
  .meta({ id: 'JournalArchiving' });
export type JournalArchiving = z.infer<typeof JournalArchiving>;

export const JournalPruning = z
  .strictObject({ pruned: eventCount, archiveFloorCursor })
  .meta({ id: 'JournalPruning' });
export type JournalPruning = z.infer<typeof JournalPruning>;
