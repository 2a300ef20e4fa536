import { z } from 'zod';
import { Timestamp, Uuid } from '@baton/values/wire';
import { parseCursor } from '../journal/cursor.ts';
import { JournalEvent } from '../journal/event.ts';

export const cloudEventType = 'application/cloudevents+json';

/** The event sent to sinks: CloudEvents 1.0 in structured mode, with the whole journal event as its data. */
export const CloudEvent = z
  .strictObject({
    specversion: z.literal('1.0'),
    id: Uuid.meta({ description: 'The id of the event: detect repeats by it.' }),
    source: z.string().meta({ description: '`/tenants/` and the id of its tenant.' }),
    type: z.string(),
    subject: z.string().meta({ description: 'The kind and the id of the object, joined by a slash.' }),
    time: Timestamp,
    datacontenttype: z.literal('application/json'),
    sequence: z.string().meta({
      description: "Sorts as text in the order of the tenant's journal (an extension of CloudEvents).",
    }),
    data: JournalEvent,
  })
  .meta({ id: 'CloudEvent' });
export type CloudEvent = z.infer<typeof CloudEvent>;

export function cloudEventOf(event: JournalEvent): CloudEvent {
  return {
    specversion: '1.0',
    id: event.id,
    source: `/tenants/${event.tenantId}`,
    type: event.type,
    subject: `${event.entityType}/${event.entityId}`,
    time: event.occurredAt,
    datacontenttype: 'application/json',
    sequence: sequenceOf(event),
    data: event,
  };
}

/** Both parts have at most 16 digits, since they are safe integers. */
function sequenceOf({ cursor, sequence }: JournalEvent): string {
  const place = parseCursor(cursor);
  const position = 'position' in place ? place.position : 0;
  return [position, sequence].map((part) => String(part).padStart(16, '0')).join('.');
}
