import { z } from 'zod';
import { Timestamp, Uuid } from '@baton/values/wire';

/** An undelivered event of a sink: pending, or a dead letter. See docs/reference/journal.md#sinks. */
export const UndeliveredEvent = z
  .strictObject({
    id: Uuid.meta({ description: 'The id of this delivery: an event has one delivery per sink.' }),
    eventId: Uuid,
    type: z.string(),
    sink: z.string(),
    attempts: z.int().nonnegative().meta({ description: 'Attempts that may have reached the sink.' }),
    lastError: z.string().nullable(),
    nextAttemptAt: Timestamp.nullable().meta({
      description: 'Null for dead letters and dropped deliveries.',
    }),
  })
  .meta({ id: 'UndeliveredEvent' });
export type UndeliveredEvent = z.infer<typeof UndeliveredEvent>;

export const Status = z.enum(['pending', 'dead']);
export type Status = z.infer<typeof Status>;

const reason = z.string().min(1).max(500).meta({ description: 'The reason, for the journal.' });
export const OutboxRedrive = z
  .strictObject({ reason: reason.default('operator_redrive') })
  .meta({ id: 'OutboxRedrive' });
export const OutboxDrop = z.strictObject({ reason }).meta({ id: 'OutboxDrop' });

export interface UndeliveredRow {
  place: number;
  sequence: number;
  event_id: string;
  type: string;
  sink: string;
  attempts: number;
  last_error: string | null;
  /** Null for dead letters and dropped deliveries. */
  next_attempt_at: string | null;
}

export function undeliveredEventOf(row: UndeliveredRow): UndeliveredEvent {
  return {
    id: deliveryIdOf(row),
    eventId: row.event_id,
    type: row.type,
    sink: row.sink,
    attempts: row.attempts,
    lastError: row.last_error,
    nextAttemptAt: row.next_attempt_at,
  };
}

type DeliveryPlace = Pick<UndeliveredRow, 'place' | 'sequence'>;

/**
 * The id of an event's delivery: a UUID of version 8 that encodes the delivery's place (48 bits) and the event's
 * sequence (60 bits). It doesn't change when the delivery is split, and needs no separate row or index.
 */
export function deliveryIdOf({ place, sequence }: DeliveryPlace): string {
  const [high, low] = [place.toString(16).padStart(12, '0'), sequence.toString(16).padStart(15, '0')];
  return `${high.slice(0, 8)}-${high.slice(8)}-8000-8${low.slice(0, 3)}-${low.slice(3)}`;
}

/** An id in another format is looked up at a place that doesn't exist. */
export function parseDeliveryId(id: string): DeliveryPlace {
  const [, ...parts] = /^(.{8})-(.{4})-8000-8(.{3})-(.{12})$/.exec(id) ?? [];
  const [place, sequence] = [parts.slice(0, 2), parts.slice(2)].map((words) =>
    Number.parseInt(words.join(''), 16),
  ) as [number, number];
  const isPlace = Number.isSafeInteger(place) && Number.isSafeInteger(sequence);
  return isPlace ? { place, sequence } : { place: 0, sequence: 0 };
}
