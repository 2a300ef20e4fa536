import { randomUUID } from 'node:crypto';
import type { AuditDraft } from '../drafts.ts';
import { type AuditKey, hmacOf } from './audit-key.ts';

/** A record as written: with an id, the writer's time, and an HMAC over the record if a key is configured. */
export interface WrittenRecord extends AuditDraft {
  readonly id: string;
  readonly written_at: string;
  /** In hexadecimal. */
  readonly mac: string | null;
}

type Authenticated = Omit<WrittenRecord, 'mac' | 'written_at'>;

/** Creates the rows of drafts, as JSON for the insert; `n` is their order. */
export function encodeRecords(drafts: readonly AuditDraft[], key: AuditKey | undefined): string {
  const now = Date.now();
  const written_at = new Date(now).toISOString();
  return JSON.stringify(
    drafts.map((draft, n) => {
      const record = { ...draft, id: randomUUID() };
      return { ...record, n, written_at, mac: key === undefined ? null : recordMac(key, record, now) };
    }),
  );
}

/**
 * The HMAC over a record. The record's number and the database's time are not included; the record's link protects
 * them.
 */
export function recordMac(key: AuditKey, record: Authenticated, writtenMs: number): string {
  return hmacOf(key, [
    'baton audit record 1',
    record.id,
    record.tenant_id.toLowerCase(),
    record.action,
    record.actor_ref,
    record.resource_type,
    record.resource_id.toLowerCase(),
    record.outcome,
    record.reason,
    record.request_id,
    writtenMs,
  ]);
}
