import { z } from 'zod';
import { FreeObject, pageOf } from '@baton/values/wire';

/** A type of event as `GET /event-types` describes it (core, section 25). */
export const EventType = z
  .strictObject({
    type: z.string(),
    version: z
      .int()
      .positive()
      .meta({ description: 'Written as `schemaVersion`; a new one only adds fields.' }),
    entityType: z.string(),
    payloadSchema: FreeObject.meta({
      type: 'object',
      description: 'JSON Schema (2020-12). Fields may be added, so it allows others.',
    }),
  })
  .meta({ id: 'EventType' });

export const EventTypePage = pageOf(EventType);
