import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import type { EventDeclaration } from '@baton/kernel/http/service';
import { observer } from '@baton/kernel/process/observer';
import type { Context } from '../context.ts';
import { insertAudits, insertEventsAndAudits } from './journal.sql.ts';

/** The parts of a context that an event needs. */
export type Emitting = Pick<Context, 'endpoint' | 'events'>;

/**
 * Adds an event to this change. It is written in the command's transaction, so that either both state and event are
 * stored or neither is. A payload contains ids and public prefixes, but never a secret, a hash or a subject.
 */
export function emit<Payload extends z.ZodType>(
  context: Emitting,
  event: EventDeclaration<Payload>,
  about: { tenantId: string; aggregateId: string },
  payload: z.input<Payload>,
): void {
  reportToTests(context, event, payload);
  context.events.push({
    id: randomUUID(),
    tenant_id: about.tenantId,
    type: event.type,
    aggregate_type: event.entity,
    aggregate_id: about.aggregateId,
    payload,
  });
}

/** Writes the events and audit records, in order. Called once, just before the commit. */
export async function flushRecords({
  db,
  events,
  audits,
  auditKey,
  eventTypes,
}: Pick<Context, 'db' | 'events' | 'audits' | 'auditKey'> &
  Partial<Pick<Context, 'eventTypes'>>): Promise<void> {
  const [newEvents, newAudits] = [events.splice(0), audits.splice(0)];
  for (const { type } of newEvents) eventTypes?.add(type);
  if (newEvents.length > 0) await db.run(insertEventsAndAudits(newEvents, newAudits, auditKey));
  else if (newAudits.length > 0) await db.run(insertAudits(newAudits, auditKey));
}

function reportToTests({ endpoint }: Emitting, event: EventDeclaration, payload: unknown): void {
  const watching = observer();
  if (watching === undefined) return;
  const result = event.payload.safeParse(payload);
  if (!result.success)
    watching.violated(`${event.type} was written with an invalid payload: ${result.error.message}`);
  watching.emitted('identity', endpoint, event.type);
}
