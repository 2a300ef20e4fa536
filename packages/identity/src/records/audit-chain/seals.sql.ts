import { sql } from '@baton/kernel/sql';

/** A link of a tenant's chain. Digest and HMACs are hexadecimal here. */
export interface SealRow {
  tenant_id: string;
  position: number;
  first_sequence: number;
  last_sequence: number;
  records: number;
  occurred_from: string;
  occurred_to: string;
  digest: string;
  previous_hmac: string;
  hmac: string;
  key_id: string;
}

/** Held by the one process that seals; what the others sealed before is visible to the statements after this one. */
export function lockSealing() {
  return sql<{ held: boolean }>`select pg_try_advisory_xact_lock(19024::bigint << 48) as held`;
}

/** To be read before the records, in a statement of its own: see audit_settled(). */
export function settledAudits() {
  return sql<{ settled: number }>`select audit_settled() as settled`;
}

export function sealedThrough() {
  return sql<{ last: number }>`select coalesce(max(last_sequence), 0) as last from audit_seals`;
}

export interface RunRow {
  tenant_id: string;
  first_sequence: number;
  last_sequence: number;
  records: number;
}

/** The next records without a seal, each tenant's cut into runs for one link each, in their order. */
export function unsealedRuns(after: number, through: number, recordsMax: number, recordsPerLink: number) {
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

/** Where the chain of each of these tenants ends; those without one are left out. */
export function headsOf(tenantIds: readonly string[]) {
  return sql<{ tenant_id: string; position: number; hmac: string }>`
    select t.tenant_id, head.position, encode(head.hmac, 'hex') as hmac
    from unnest(${tenantIds}::uuid[]) as t (tenant_id)
    cross join lateral (
      select position, hmac from audit_seals s where s.tenant_id = t.tenant_id order by position desc limit 1) head`;
}

/** The records of a tenant from one number to another; more than `records` of them are not read. */
export interface Range {
  tenant_id: string;
  after: number;
  through: number;
  records: number;
}

export interface ContentRow {
  records: number;
  occurred_from: string | null;
  occurred_to: string | null;
  /** One record a line, as a JSON array of texts and integers: no two records make the same line. */
  content: string;
}

/**
 * What the records of each range say, in the order of the ranges: all that a seal protects. Tenant and number are
 * compared as a pair, which only the tenant's own index can do: by the primary key a range of a quiet tenant would be a
 * walk through everybody's records. Such a walk does not stop at the end of a range by itself, so the limit stops it.
 */
export function contentOf(ranges: readonly Range[]) {
  const numbered = JSON.stringify(ranges.map((range, n) => ({ ...range, n })));
  return sql<ContentRow>`
    select found.records, found.occurred_from, found.occurred_to, coalesce(found.content, '') as content
    from jsonb_to_recordset(${numbered}::jsonb) as r (
      n integer, tenant_id uuid, after bigint, through bigint, records integer)
    cross join lateral (
      select count(*) as records, min(a.occurred_at) as occurred_from, max(a.occurred_at) as occurred_to,
        string_agg(
          jsonb_build_array(a.sequence, a.id, a.tenant_id, a.action, a.actor_ref, a.resource_type, a.resource_id,
            a.outcome, a.reason, a.request_id, (extract(epoch from a.occurred_at) * 1000)::bigint)::text,
          e'\n' order by a.sequence) as content
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

export function sealsAfter(tenantId: string, position: number, rowsMax: number) {
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

/** What follows sees the store as it is now, whatever is sealed or removed meanwhile. */
export function readOneMoment() {
  return sql`set transaction isolation level repeatable read, read only`;
}

/** The tenant with the lowest id that has records or links. */
export function firstTenant() {
  return sql<{ tenant_id: string }>`
    select tenant_id from (
      (select tenant_id from audit_seals order by tenant_id limit 1)
      union all
      (select tenant_id from audit_records order by tenant_id, sequence limit 1)
    ) found
    order by tenant_id limit 1`;
}

/** The next one. */
export function tenantAfter(tenantId: string) {
  return sql<{ tenant_id: string }>`
    select tenant_id from (
      (select tenant_id from audit_seals where tenant_id > ${tenantId} order by tenant_id limit 1)
      union all
      (select tenant_id from audit_records where tenant_id > ${tenantId} order by tenant_id, sequence limit 1)
    ) found
    order by tenant_id limit 1`;
}

/** How far retention has removed a tenant's records. */
export interface RemovalRow {
  position: number;
  hmac: string;
  key_id: string;
}

export function lastRemoval(tenantId: string) {
  return sql<RemovalRow>`
    select position, encode(hmac, 'hex') as hmac, key_id
    from audit_removals where tenant_id = ${tenantId} order by position desc limit 1`;
}

export interface BehindRow {
  /** Not sealed yet. */
  unsealed: number;
  /** Not sealed although later records, of other tenants, are: the sealer leaves none out. */
  skipped: number;
  first_sequence: number | null;
  last_sequence: number | null;
  occurred_from: string | null;
  occurred_to: string | null;
}

/** What a tenant has behind the last link of its chain, or before all numbers that are ever drawn. */
export function recordsBehind(tenantId: string, sequence: number) {
  return sql<BehindRow>`
    select count(*) filter (where not is_skipped) as unsealed, count(*) filter (where is_skipped) as skipped,
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
 * One hash over the heads of all chains as they were when everything up to a number was sealed. Links are made in the
 * order of the numbers, so the same number gives the same hash for ever. Reads one index entry per tenant, not one per
 * link.
 */
export function overallHead(through: number) {
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
