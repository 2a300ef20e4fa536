import type { JournalEvent } from '@baton/sdk';

/** An event as one line for people: time, type and object. */
export function formatEvent({
  occurredAt,
  type,
  entityType,
  entityId,
  payload,
}: Pick<JournalEvent, 'occurredAt' | 'type' | 'entityType' | 'entityId' | 'payload'>): string {
  const name = typeof payload['publicId'] === 'string' ? payload['publicId'] : `${entityType} ${entityId}`;
  return `${occurredAt}  ${type.padEnd(20)}  ${name}`;
}
