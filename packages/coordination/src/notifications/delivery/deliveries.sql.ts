import { sql } from '@baton/kernel/database/sql';

export interface DeliveryOf {
  readonly tenantId: string;
  readonly eventId: string;
  readonly recipientId: string;
  readonly channel: string;
}

/** The maximum number of messages to an address or a webhook in a period. */
export interface Bound {
  readonly messagesMax: number;
  readonly seconds: number;
  /** Only messages of this kind count; null for all. */
  readonly kind: string | null;
}

const unknownMax = 3;

/** What is sent, and what it counts as. */
export interface Counted {
  readonly kind: string;
  /** The digest of the address, which several people may share, or the recipient's id. */
  readonly countedAs: string;
}

/** Attempts that count towards one maximum begin one after another, so that it is exact whatever runs in parallel. */
export function lockCounted({ tenantId, channel }: DeliveryOf, countedAs: string) {
  const key = `notifications/${tenantId}/${channel}/${countedAs}`;
  return sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`;
}

export interface BegunRow {
  is_over: boolean;
  /** Null if nothing begins: the message was sent or left out, or the maximum is reached. */
  attempts: number | null;
  unknown_attempts: number | null;
}

/**
 * Records an attempt before it begins, unless the maximum has already been sent, or may have been: each attempt with an
 * unknown result counts, too. Call `lockCounted` first, in another statement: this one must see what was recorded before the lock was acquired.
 */
export function beginDelivery(
  { tenantId, eventId, recipientId, channel }: DeliveryOf,
  { kind, countedAs }: Counted,
  { messagesMax, seconds, kind: countedKind }: Bound,
) {
  return sql<BegunRow>`
    with recent as materialized (
      select coalesce(sum(greatest(unknown_attempts, 1)), 0) >= ${messagesMax}::integer as is_over from (
        select unknown_attempts from notification_deliveries
        where counted_as = ${countedAs} and channel = ${channel} and tenant_id = ${tenantId}
          and counted_at > now() - make_interval(secs => ${seconds})
          and (${countedKind}::text is null or kind = ${countedKind}::text)
        limit ${messagesMax}) counted
    ), begun as (
      insert into notification_deliveries as d
        (event_id, recipient_id, channel, tenant_id, kind, unknown_attempts, attempts, counted_at, counted_as)
      select ${eventId}, ${recipientId}, ${channel}, ${tenantId}, ${kind}, 1, 1, now(), ${countedAs} from recent where not is_over
      on conflict (event_id, recipient_id, channel) do update
        set unknown_attempts = least(d.unknown_attempts + 1, ${unknownMax}), attempts = least(d.attempts + 1, 1000),
          counted_at = now(), counted_as = excluded.counted_as
        where d.sent_at is null and not d.left_out and d.tenant_id = excluded.tenant_id
      returning attempts, unknown_attempts
    )
    select recent.is_over, begun.attempts, begun.unknown_attempts from recent left join begun on true`;
}

export function updateToSent({ tenantId, eventId, recipientId, channel }: DeliveryOf) {
  return sql`
    update notification_deliveries set sent_at = now(), counted_at = now(), refusal = null
    where event_id = ${eventId} and recipient_id = ${recipientId} and channel = ${channel} and tenant_id = ${tenantId}`;
}

/** Records that an attempt is known to have sent nothing. @param isAttempt whether it counts all the same */
export function updateToUnsent({ tenantId, eventId, recipientId, channel }: DeliveryOf, isAttempt: boolean) {
  return sql`
    update notification_deliveries
    set unknown_attempts = greatest(unknown_attempts - 1, 0),
      counted_at = case when unknown_attempts > 1 then counted_at end,
      attempts = greatest(attempts - case when ${isAttempt}::boolean then 0 else 1 end, 0)
    where event_id = ${eventId} and recipient_id = ${recipientId} and channel = ${channel} and tenant_id = ${tenantId}`;
}

/** Records that no further attempt is made. */
export function updateToRefused({ tenantId, eventId, recipientId, channel }: DeliveryOf, reason: string) {
  return sql`
    update notification_deliveries set refusal = left(${reason}, 200)
    where event_id = ${eventId} and recipient_id = ${recipientId} and channel = ${channel} and tenant_id = ${tenantId}`;
}

/**
 * A dead letter that an operator redrives is sent to those whom it didn't reach: with all attempts, but only once more
 * to those who may have received it.
 */
export function allowOneMore(tenantId: string, eventId: string, channel: string, unknownMaxBefore: number) {
  return sql`
    update notification_deliveries
    set refusal = null, attempts = 0, unknown_attempts = least(unknown_attempts, ${unknownMaxBefore - 1})
    where event_id = ${eventId} and channel = ${channel} and tenant_id = ${tenantId} and refusal is not null
      and sent_at is null`;
}

/** Records that a message isn't sent to these recipients. @returns those to whom this is new */
export function insertLeftOut(
  { tenantId, eventId, channel }: Omit<DeliveryOf, 'recipientId'>,
  kind: string,
  recipientIds: readonly string[],
) {
  return sql<{ recipient_id: string }>`
    insert into notification_deliveries as d
      (event_id, recipient_id, channel, tenant_id, kind, unknown_attempts, left_out)
    select ${eventId}, id, ${channel}, ${tenantId}, ${kind}, 0, true from unnest(${recipientIds}::uuid[]) as r (id)
    order by id
    on conflict (event_id, recipient_id, channel) do update set left_out = true
      where d.sent_at is null and not d.left_out and d.tenant_id = excluded.tenant_id
    returning recipient_id`;
}

export interface ProgressRow {
  id: string;
  /** Sent, or left out. */
  is_settled: boolean;
  /** Whether an attempt was ever recorded. */
  is_begun: boolean;
  refusal: string | null;
  attempts: number;
  /** Seconds until the recipient is tried again; 0 while the recipient isn't paused. */
  paused_seconds: number;
  /** Consecutive failures of the recipient's address or webhook. */
  failures: number;
  /** Whether the address or webhook was refused for good. */
  is_refused: boolean;
}

/** Which messages of an event reached their recipients, and which recipients are paused. */
export function findProgress(
  { tenantId, eventId, channel }: Omit<DeliveryOf, 'recipientId'>,
  recipients: readonly { recipientId: string; target: string }[],
) {
  const ids = recipients.map(({ recipientId }) => recipientId);
  const targets = recipients.map(({ target }) => target);
  return sql<ProgressRow>`
    select r.id, coalesce(d.sent_at is not null or d.left_out, false) as is_settled,
      d.event_id is not null as is_begun, d.refusal,
      coalesce(d.attempts, 0) as attempts,
      coalesce(greatest(extract(epoch from p.paused_until - now()), 0), 0)::float8 as paused_seconds,
      coalesce(p.failures, 0) as failures, coalesce(p.is_refused, false) as is_refused
    from unnest(${ids}::uuid[], ${targets}::text[]) as r (id, target)
    left join notification_deliveries d
      on d.event_id = ${eventId} and d.recipient_id = r.id and d.channel = ${channel} and d.tenant_id = ${tenantId}
    left join notification_pauses p
      on p.recipient_id = r.id and p.channel = ${channel} and p.tenant_id = ${tenantId} and p.target = r.target`;
}

export function deleteOldDeliveries(ageSeconds: number, rowsMax: number) {
  return sql`
    delete from notification_deliveries where ctid = any (array(
      select ctid from notification_deliveries
      where created_at < now() - make_interval(secs => ${ageSeconds})
      order by created_at limit ${rowsMax} for update skip locked))`;
}
