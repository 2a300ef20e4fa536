import { z } from 'zod';
import { FreeObject, pageOf } from '@baton/values/wire';

/** A type of event in `GET /event-types`. See docs/reference/journal.md#events. */
export const EventType = z
  .strictObject({
    type: z.string(),
    version: z
      .int()
      .positive()
      .meta({ description: 'Sent as `schemaVersion`; a new version only adds fields.' }),
    entityType: z.string(),
    payloadSchema: FreeObject.meta({
      type: 'object',
      description: 'JSON Schema (2020-12). It allows unknown fields, because fields may be added.',
    }),
  })
  .meta({ id: 'EventType' });

export const EventTypePage = pageOf(EventType);
