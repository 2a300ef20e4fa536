import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import { encodeCursor } from '../../ledger/journal/cursor.ts';
import { floorsOf } from '../../ledger/retention/floors.ts';
import type { Tables } from '../../service/schema.ts';
import { consumer } from './delivery.ts';

/**
 * Where the count of the lag stops: counting a whole backlog would slow down its delivery. See
 * docs/reference/README.md#service-endpoints.
 */
export const lagMax = 1000;

const count = z.int().nonnegative();

/** How far a tenant's journal has been delivered to the memory service. See docs/reference/journal.md#consumers. */
export const AdapterState = z
  .strictObject({
    consumer: z.string(),
    tenantId: Uuid,
    cursor: z.string().nullable().meta({
      description: 'Everything up to this position is confirmed; `null` before the first cycle.',
    }),
    lagEvents: count.nullable().meta({ description: 'Stable events after the cursor, at most 1000.' }),
    lagCapped: z.boolean().meta({ description: 'Whether the count was cut off.' }),
    parked: z.boolean(),
    parkedAt: Timestamp.nullable(),
    parkedReason: z.string().nullable(),
    parkedEventId: Uuid.nullable().meta({ description: 'The first event that is not confirmed.' }),
    failureCount: count.meta({ description: 'Consecutive failed attempts at this position.' }),
    nextAttemptAt: Timestamp.nullable(),
    updatedAt: Timestamp.nullable(),
    deliveredTotal: count.meta({ description: 'Events that the memory service confirmed.' }),
    duplicatesTotal: count.meta({ description: 'Confirmed events that it already had.' }),
    failuresTotal: count,
    redrivesTotal: count,
    lastDeliveryAt: Timestamp.nullable(),
    journal: z.strictObject({ journalFloorCursor: z.string(), archiveFloorCursor: z.string() }),
  })
  .meta({ id: 'AdapterState' });
export type AdapterState = z.infer<typeof AdapterState>;

const reasonLengthMax = 500;

export const AdapterRedrive = z
  .strictObject({ reason: z.string().min(1).max(reasonLengthMax).default('operator_redrive') })
  .meta({ id: 'AdapterRedrive' });

export const AdapterRebuild = z
  .strictObject({
    cursor: z.string().max(2000).nullish().meta({
      description:
        'The cursor at which the delivery restarts; by default the oldest event that still exists.',
    }),
    reason: z.string().max(reasonLengthMax).default('operator_rebuild'),
  })
  .meta({ id: 'AdapterRebuild' });
export type AdapterRebuild = z.output<typeof AdapterRebuild>;

type ConsumerColumns = Omit<
  RowOf<Tables['event_consumers']>,
  'consumer' | 'lease_id' | 'leased_until' | 'served_at' | 'has_more' | 'created_at'
>;
type Floors = Pick<
  RowOf<Tables['journal_floors']>,
  'archive_position' | 'archive_sequence' | 'floor_position' | 'floor_sequence'
>;

/** A tenant's floors, and its cursor's row; the row's fields are null if it has none. */
export type StateRow = Floors & { [Column in keyof ConsumerColumns]: ConsumerColumns[Column] | null } & {
  tenant_id: string;
  /** Counted up to `lagMax` + 1. */
  lag: number;
  /** Seconds until the next attempt; null if none is scheduled. */
  wait_seconds: number | null;
};

export const adapterStateOf = wireMapper<StateRow>()(AdapterState, {
  consumer: () => consumer,
  cursor: ({ position, sequence }) =>
    position === null || sequence === null ? null : encodeCursor({ position, sequence }),
  lagEvents: ({ position, lag }) => (position === null ? null : Math.min(lag, lagMax)),
  lagCapped: ({ lag }) => lag > lagMax,
  parked: ({ parked_at: parkedAt }) => parkedAt !== null,
  failureCount: ({ failure_count: failures }) => failures ?? 0,
  deliveredTotal: ({ delivered_total: total }) => total ?? 0,
  duplicatesTotal: ({ duplicates_total: total }) => total ?? 0,
  failuresTotal: ({ failures_total: total }) => total ?? 0,
  redrivesTotal: ({ redrives_total: total }) => total ?? 0,
  journal: floorsOf,
});
