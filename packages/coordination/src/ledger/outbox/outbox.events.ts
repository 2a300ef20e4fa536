import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

const payload = z.strictObject({ eventId: Uuid, sink: z.string(), reason: z.string() });

export const outboxRedriven = defineEvent('outbox.redriven', 'outbox_delivery', payload);
export const outboxDropped = defineEvent('outbox.dropped', 'outbox_delivery', payload);
