import { sql } from '@baton/kernel/database/sql';

export interface NewItem {
  readonly principal_id: string;
  readonly digest_interval_seconds: number;
}

/**
 * Schedules the digests of these people, unless they are scheduled. Locks each, so that additions to one digest wait for
 * each other.
 */
export function scheduleDigests(tenantId: string, people: readonly NewItem[]) {
  return sql`
    insert into notification_digests as d (principal_id, tenant_id, due_at)
    select p.principal_id, ${tenantId}, now() + make_interval(secs => p.digest_interval_seconds)
    from jsonb_to_recordset(${JSON.stringify(people)}::jsonb) as p (principal_id uuid, digest_interval_seconds integer)
    order by p.principal_id
    on conflict (principal_id) do update set due_at = coalesce(d.due_at, excluded.due_at)`;
}

export function insertDigestItems(
  of: { tenantId: string; eventId: string; kind: string; entityId: string },
  principalIds: readonly string[],
) {
  return sql`
    insert into notification_digest_items (principal_id, tenant_id, event_id, kind, entity_id)
    select id, ${of.tenantId}, ${of.eventId}, ${of.kind}, ${of.entityId} from unnest(${principalIds}::uuid[]) as p (id)
    on conflict (principal_id, event_id, kind) do nothing`;
}

/** Deletes the oldest items beyond `itemsMax` per person, and counts them. Their digests must be locked. */
export function deleteSurplusItems(tenantId: string, principalIds: readonly string[], itemsMax: number) {
  return sql`
    with surplus as (
      delete from notification_digest_items i
      using unnest(${principalIds}::uuid[]) as p (id) cross join lateral (
        select s.id from notification_digest_items s
        where s.principal_id = p.id and s.tenant_id = ${tenantId}
        order by s.id desc offset ${itemsMax}) oldest
      where i.principal_id = p.id and i.id = oldest.id
      returning i.principal_id
    )
    update notification_digests d set left_out = least(d.left_out + counted.items, 100000)
    from (select principal_id, count(*)::integer as items from surplus group by principal_id) counted
    where d.principal_id = counted.principal_id and d.tenant_id = ${tenantId}`;
}

/** Additions to a digest wait until the commit. */
export function lockDigest(tenantId: string, principalId: string) {
  return sql`
    select principal_id from notification_digests where principal_id = ${principalId} and tenant_id = ${tenantId}
    for update`;
}

export interface DueDigestRow {
  principal_id: string;
  tenant_id: string;
  due_at: string;
}

export function findDueDigests(after: readonly [at: string, id: string], rowsMax: number) {
  const [at, id] = after;
  return sql<DueDigestRow>`
    select principal_id, tenant_id, due_at from notification_digests
    where due_at <= now() and (due_at, principal_id) > (${at}::timestamptz, ${id}::uuid)
    order by due_at, principal_id limit ${rowsMax}`;
}

/**
 * Returns no row if the digest is no longer due, or another worker has taken it. @returns the number of the digest's
 * items
 */
export function takeDueDigest(tenantId: string, principalId: string) {
  return sql<{ items: number }>`
    with due as materialized (
      select principal_id from notification_digests
      where principal_id = ${principalId} and tenant_id = ${tenantId} and due_at <= now()
      for update skip locked
    )
    update notification_digests d set due_at = null from due where d.principal_id = due.principal_id
    returning (select count(*)::integer from notification_digest_items i
      where i.principal_id = d.principal_id and i.tenant_id = ${tenantId}) + d.left_out as items`;
}

export interface DigestItemRow {
  id: number;
  kind: string;
  entity_id: string;
}

/** The oldest items first. */
export function findDigestItems(tenantId: string, principalId: string, rowsMax: number) {
  return sql<DigestItemRow>`
    select id, kind, entity_id from notification_digest_items
    where principal_id = ${principalId} and tenant_id = ${tenantId}
    order by id limit ${rowsMax}`;
}

export function findLeftOut(tenantId: string, principalId: string) {
  return sql<{ left_out: number }>`
    select left_out from notification_digests where principal_id = ${principalId} and tenant_id = ${tenantId}`;
}

/** Deletes the items of a digest; later ones stay for the next. */
export function deleteDigestItems(tenantId: string, principalId: string, lastId: number) {
  return sql`
    delete from notification_digest_items
    where principal_id = ${principalId} and tenant_id = ${tenantId} and id <= ${lastId}`;
}

/** Deletes the schedule of a person without items; otherwise subtracts `leftOut` from the count of items left out. */
export function closeDigest(tenantId: string, principalId: string, leftOut: number) {
  return sql`
    with gone as (
      delete from notification_digests d
      where principal_id = ${principalId} and tenant_id = ${tenantId} and left_out <= ${leftOut} and due_at is null
        and not exists (select from notification_digest_items i where i.principal_id = d.principal_id)
      returning principal_id
    )
    update notification_digests set left_out = greatest(left_out - ${leftOut}, 0)
    where principal_id = ${principalId} and tenant_id = ${tenantId} and not exists (select from gone)`;
}
