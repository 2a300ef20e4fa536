import { sql } from '@baton/kernel/database/sql';
import type { BehindRow, ContentRow, HeadRow, Range, RemovalRow, RunRow, SealRow, StartRow } from './seal.ts';

/** Lets only one process seal at a time. Later statements see the links of earlier sealers. */
export function lockSealing() {
  return sql<{ held: boolean }>`select pg_try_advisory_xact_lock(19024::bigint << 48) as held`;
}

/**
 * The number up to which no further record can appear. Read it before the records, in a separate statement: see
 * audit_settled().
 */
export function findSettledAudits() {
  return sql<{ settled: number }>`select audit_settled() as settled`;
}

/** The link with the highest number. */
export function findLastSeal() {
  return sql<SealRow>`
    select tenant_id, position, first_sequence, last_sequence, records, occurred_from, occurred_to,
      encode(digest, 'hex') as digest, encode(previous_hmac, 'hex') as previous_hmac, encode(hmac, 'hex') as hmac, key_id
    from audit_seals order by last_sequence desc limit 1`;
}

/** The link that ends with a number. */
export function findSealEnding(lastSequence: number) {
  return sql<{ hmac: string }>`
    select encode(hmac, 'hex') as hmac from audit_seals where last_sequence = ${lastSequence}`;
}

/** One row per key that created a start mark. */
export function findStarts() {
  return sql<StartRow>`select through, encode(hmac, 'hex') as hmac, key_id from audit_starts order by through`;
}

/** The last number that was drawn: later records are above it. */
export function findLastDrawn() {
  return sql<{ last: number }>`
    select coalesce(pg_sequence_last_value('audit_records_sequence_seq'), 0) as last`;
}

export function insertStart({ through, hmac, key_id }: StartRow) {
  return sql`
    insert into audit_starts (through, hmac, key_id) values (${through}, decode(${hmac}, 'hex'), ${key_id})`;
}

export function findSealedThrough() {
  return sql<{ last: number }>`select coalesce(max(last_sequence), 0) as last from audit_seals`;
}

/** The next unsealed records, in order; each tenant's records are split into ranges for single links. */
export function findUnsealedRuns(after: number, through: number, recordsMax: number, recordsPerLink: number) {
  return sql<RunRow>`
    with batch as (
      select tenant_id, sequence from audit_records
      where sequence > ${after} and sequence <= ${through}
      order by sequence limit ${recordsMax}
    ), numbered as (
      select tenant_id, sequence,
        (row_number() over (partition by tenant_id order by sequence) - 1) / ${recordsPerLink}::bigint as run
      from batch
    )
    select tenant_id, min(sequence) as first_sequence, max(sequence) as last_sequence, count(*) as records
    from numbered group by tenant_id, run order by tenant_id, run`;
}

/** The end of each tenant's chain; tenants without a chain have no row. */
export function findHeads(tenantIds: readonly string[]) {
  return sql<HeadRow>`
    select t.tenant_id, head.position, encode(head.hmac, 'hex') as hmac
    from unnest(${tenantIds}::uuid[]) as t (tenant_id)
    cross join lateral (
      select position, hmac from audit_seals s where s.tenant_id = t.tenant_id order by position desc limit 1) head`;
}

/**
 * The content of each range, in the order of the ranges: everything that a seal protects. Tenant and number are
 * compared as a pair, so that PostgreSQL uses the tenant's index: with the primary key, a range of a small tenant would
 * read the records of all tenants. A scan by pairs doesn't stop at the end of the range, so the limit stops it.
 */
export function findContents(ranges: readonly Range[]) {
  const numbered = JSON.stringify(ranges.map((range, n) => ({ ...range, n })));
  return sql<ContentRow>`
    select found.records, found.occurred_from, found.occurred_to, coalesce(found.content, '') as content,
      coalesce(found.proofs, '') as proofs
    from jsonb_to_recordset(${numbered}::jsonb) as r (
      n integer, tenant_id uuid, after bigint, through bigint, records integer)
    cross join lateral (
      select count(*) as records, min(a.occurred_at) as occurred_from, max(a.occurred_at) as occurred_to,
        string_agg(
          jsonb_build_array(a.sequence, a.id, a.tenant_id, a.action, a.actor_ref, a.resource_type, a.resource_id,
            a.outcome, a.reason, a.request_id, (extract(epoch from a.occurred_at) * 1000)::bigint)::text,
          e'\n' order by a.sequence) as content,
        string_agg(
          coalesce((extract(epoch from a.written_at) * 1000)::bigint || ':' || encode(a.mac, 'hex'), ''),
          e'\n' order by a.sequence) as proofs
      from (
        select * from audit_records where (tenant_id, sequence) > (r.tenant_id, r.after)
        order by tenant_id, sequence limit r.records + 1
      ) a
      where a.tenant_id = r.tenant_id and a.sequence <= r.through
    ) found
    order by r.n`;
}

export function insertSeals(seals: readonly SealRow[]) {
  return sql`
    insert into audit_seals (tenant_id, position, first_sequence, last_sequence, records, occurred_from, occurred_to,
      digest, previous_hmac, hmac, key_id)
    select tenant_id, position, first_sequence, last_sequence, records, occurred_from, occurred_to,
      decode(digest, 'hex'), decode(previous_hmac, 'hex'), decode(hmac, 'hex'), key_id
    from jsonb_to_recordset(${JSON.stringify(seals)}::jsonb) as d (
      tenant_id uuid, position bigint, first_sequence bigint, last_sequence bigint, records integer,
      occurred_from timestamptz, occurred_to timestamptz, digest text, previous_hmac text, hmac text, key_id text)`;
}

export function findSealsAfter(tenantId: string, position: number, rowsMax: number) {
  return sql<SealRow>`
    select tenant_id, position, first_sequence, last_sequence, records, occurred_from, occurred_to,
      encode(digest, 'hex') as digest, encode(previous_hmac, 'hex') as previous_hmac, encode(hmac, 'hex') as hmac, key_id
    from audit_seals where tenant_id = ${tenantId} and position > ${position}
    order by position limit ${rowsMax}`;
}

export function findSeal(tenantId: string, position: number) {
  return sql<SealRow>`
    select tenant_id, position, first_sequence, last_sequence, records, occurred_from, occurred_to,
      encode(digest, 'hex') as digest, encode(previous_hmac, 'hex') as previous_hmac, encode(hmac, 'hex') as hmac, key_id
    from audit_seals where tenant_id = ${tenantId} and position = ${position}`;
}

/** All statements of this transaction see the database as of now. */
export function setReadOnlySnapshot() {
  return sql`set transaction isolation level repeatable read, read only`;
}

/** The tenant with the lowest id that has records or links. */
export function findFirstTenant() {
  return sql<Pick<SealRow, 'tenant_id'>>`
    select tenant_id from (
      (select tenant_id from audit_seals order by tenant_id limit 1)
      union all
      (select tenant_id from audit_records order by tenant_id, sequence limit 1)
    ) found
    order by tenant_id limit 1`;
}

/** The tenant after the given one, by id. */
export function findTenantAfter(tenantId: string) {
  return sql<Pick<SealRow, 'tenant_id'>>`
    select tenant_id from (
      (select tenant_id from audit_seals where tenant_id > ${tenantId} order by tenant_id limit 1)
      union all
      (select tenant_id from audit_records where tenant_id > ${tenantId} order by tenant_id, sequence limit 1)
    ) found
    order by tenant_id limit 1`;
}

export function findLastRemoval(tenantId: string) {
  return sql<RemovalRow>`
    select position, encode(hmac, 'hex') as hmac, key_id
    from audit_removals where tenant_id = ${tenantId} order by position desc limit 1`;
}

/** A tenant's records after the last link of its chain, and those with a number below 1, which is never assigned. */
export function findRecordsBehind(tenantId: string, sequence: number, unsealedMinutesMax: number) {
  return sql<BehindRow>`
    select count(*) filter (where not is_skipped) as unsealed,
      count(*) filter (where not is_skipped and occurred_at < now() - make_interval(mins => ${unsealedMinutesMax}))
        as overdue, count(*) filter (where is_skipped) as skipped,
      min(sequence) filter (where is_skipped) as first_sequence, max(sequence) filter (where is_skipped) as last_sequence,
      min(occurred_at) filter (where is_skipped) as occurred_from, max(occurred_at) filter (where is_skipped) as occurred_to
    from (
      select sequence, occurred_at, sequence < (select coalesce(max(last_sequence), 0) from audit_seals) as is_skipped
      from (
        select sequence, occurred_at from audit_records where tenant_id = ${tenantId} and sequence > ${sequence}
        union all
        select sequence, occurred_at from audit_records where tenant_id = ${tenantId} and sequence < 1
      ) found
    ) behind`;
}

/**
 * One hash over the heads of all chains, in their state when everything up to a number was sealed. Links are created in
 * the order of the numbers, so a number always gives the same hash. Reads one index entry per tenant, not per link.
 */
export function findOverallHead(through: number) {
  return sql<{ tenants: number; hash: string }>`
    with recursive tenant (id) as (
      (select tenant_id from audit_seals order by tenant_id limit 1)
      union all
      select (select tenant_id from audit_seals where tenant_id > tenant.id order by tenant_id limit 1)
      from tenant where tenant.id is not null
    )
    select count(*) as tenants,
      encode(sha256(convert_to(coalesce(string_agg(
        jsonb_build_array(tenant.id, head.position, encode(head.hmac, 'hex'))::text, e'\n' order by tenant.id), ''),
        'UTF8')), 'hex') as hash
    from tenant
    cross join lateral (
      select position, hmac from audit_seals s
      where s.tenant_id = tenant.id and s.last_sequence <= ${through}
      order by position desc limit 1) head`;
}
