import { type AuditKey, digestOf, hmacOf } from './audit-key.ts';
import type { ContentRow, HeadRow, RemovalRow, RunRow, SealRow } from './seal.ts';

/** The end of a chain, to which the next link is attached. Before the first link, it has position 0 and no HMAC. */
export type Head = Readonly<Pick<HeadRow, 'position' | 'hmac'>>;

/** The maximum number of records in one link. A check reads no more than this, even if the link claims to have more. */
export const recordsPerLinkMax = 256;

export const chainStart: Head = { position: 0, hmac: '' };

/** Creates the link that seals a range of records and follows `previous`. */
export function makeLink(key: AuditKey, previous: Head, run: RunRow, content: ContentRow): SealRow {
  const link = {
    tenant_id: run.tenant_id,
    position: previous.position + 1,
    first_sequence: run.first_sequence,
    last_sequence: run.last_sequence,
    records: content.records,
    occurred_from: content.occurred_from as string,
    occurred_to: content.occurred_to as string,
    digest: digestOf(content.content),
    previous_hmac: previous.hmac,
    key_id: key.id,
  };
  return { ...link, hmac: linkHmac(key, link) };
}

/** Computes the HMAC over every field of a link. */
export function linkHmac(key: AuditKey, link: Omit<SealRow, 'hmac'>): string {
  return hmacOf(key, [
    'baton audit link 1',
    link.tenant_id,
    link.position,
    link.first_sequence,
    link.last_sequence,
    link.records,
    link.occurred_from,
    link.occurred_to,
    link.previous_hmac,
    link.key_id,
    link.digest,
  ]);
}

/** The HMAC that states that retention removed the records up to this link. */
export function removalHmac(key: AuditKey, tenantId: string, { position, hmac }: Head): string {
  return hmacOf(key, ['baton audit removal 1', tenantId, position, hmac, key.id]);
}

/** The HMAC that states that records up to this number may lack their own HMAC. */
export function startHmac(key: AuditKey, through: number): string {
  return hmacOf(key, ['baton audit start 1', through, key.id]);
}

/** Whether a removal mark was made with the key, for a link that exists. */
export function isGenuineRemoval(
  key: AuditKey,
  tenantId: string,
  removal: RemovalRow,
  link: SealRow | undefined,
): boolean {
  return link !== undefined && removalHmac(key, tenantId, link) === removal.hmac;
}

/** The fault in the records of a genuine link; undefined if there is none. */
export function recordsProblem(link: SealRow, content: ContentRow): string | undefined {
  const missing = link.records - content.records;
  if (missing > 0) return `${missing} of its ${link.records} records ${missing === 1 ? 'is' : 'are'} removed`;
  if (missing < 0) return `a record is added to its ${link.records}`;
  return digestOf(content.content) === link.digest ? undefined : 'a record is changed';
}
