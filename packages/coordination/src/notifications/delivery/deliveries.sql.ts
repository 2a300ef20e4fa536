import { sql } from '@baton/kernel/database/sql';

export interface DeliveryOf {
  readonly tenantId: string;
  readonly eventId: string;
  readonly recipientId: string;
  readonly channel: string;
}

const unknownMax = 3;

/** Records an attempt before it begins. Returns no row if the message has already been sent. */
export function beginDelivery({ tenantId, eventId, recipientId, channel }: DeliveryOf, kind: string) {
  return sql<{ unknown_attempts: number }>`
    insert into notification_deliveries as d (event_id, recipient_id, channel, tenant_id, kind, unknown_attempts)
    values (${eventId}, ${recipientId}, ${channel}, ${tenantId}, ${kind}, 1)
    on conflict (event_id, recipient_id, channel) do update
      set unknown_attempts = least(d.unknown_attempts + 1, ${unknownMax})
      where d.sent_at is null and d.tenant_id = excluded.tenant_id
    returning unknown_attempts`;
}

export function updateToSent({ tenantId, eventId, recipientId, channel }: DeliveryOf) {
  return sql`
    update notification_deliveries set sent_at = now(), unknown_attempts = 0
    where event_id = ${eventId} and recipient_id = ${recipientId} and channel = ${channel} and tenant_id = ${tenantId}`;
}

/** Records that an attempt is known to have sent nothing. */
export function updateToUnsent({ tenantId, eventId, recipientId, channel }: DeliveryOf) {
  return sql`
    update notification_deliveries set unknown_attempts = greatest(unknown_attempts - 1, 0)
    where event_id = ${eventId} and recipient_id = ${recipientId} and channel = ${channel} and tenant_id = ${tenantId}`;
}

/** A dead letter that an operator redrives is sent once more to those who may have received it. */
export function allowOneMore(tenantId: string, eventId: string, channel: string, unknownMaxBefore: number) {
  return sql`
    update notification_deliveries set unknown_attempts = ${unknownMaxBefore - 1}
    where event_id = ${eventId} and channel = ${channel} and tenant_id = ${tenantId} and sent_at is null
      and unknown_attempts > ${unknownMaxBefore}`;
}

export interface ProgressRow {
  id: string;
  is_begun: boolean;
  is_sent: boolean;
  /** Counted only up to the maximum. */
  sent_last_hour: number;
}

/**
 * Which messages of an event were sent to these recipients, and how many other messages they were sent in the last
 * hour.
 */
export function findProgress(
  { tenantId, eventId, channel }: Omit<DeliveryOf, 'recipientId'>,
  ids: readonly string[],
  hourlyMax: number,
) {
  return sql<ProgressRow>`
    select r.id, d.event_id is not null as is_begun, d.sent_at is not null as is_sent,
      (select count(*)::integer from (
        select from notification_deliveries s
        where s.recipient_id = r.id and s.channel = ${channel} and s.sent_at > now() - interval '1 hour'
          and s.tenant_id = ${tenantId} limit ${hourlyMax}) recent) as sent_last_hour
    from unnest(${ids}::uuid[]) as r (id)
    left join notification_deliveries d
      on d.event_id = ${eventId} and d.recipient_id = r.id and d.channel = ${channel} and d.tenant_id = ${tenantId}`;
}

export function deleteOldDeliveries(ageSeconds: number, rowsMax: number) {
  return sql`
    delete from notification_deliveries where ctid = any (array(
      select ctid from notification_deliveries
      where created_at < now() - make_interval(secs => ${ageSeconds})
      order by created_at limit ${rowsMax} for update skip locked))`;
}
