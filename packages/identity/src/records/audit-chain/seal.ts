import type { RowOf } from '@baton/kernel/database/row';
import type { Tables } from '../../service/schema.ts';

/** A link of a tenant's chain. The digest and the HMACs are read in hexadecimal. */
export type SealRow = Omit<
  RowOf<Tables['audit_seals'], { digest: string; previous_hmac: string; hmac: string }>,
  'sealed_at'
>;

/** The position up to which retention has removed a tenant's records. */
export type RemovalRow = Pick<
  RowOf<Tables['audit_removals'], { hmac: string }>,
  'position' | 'hmac' | 'key_id'
>;

/** The end of a tenant's chain. */
export type HeadRow = Pick<SealRow, 'tenant_id' | 'position' | 'hmac'>;

/** Records of one tenant that one link will seal. */
export type RunRow = Pick<SealRow, 'tenant_id' | 'first_sequence' | 'last_sequence' | 'records'>;

/** The records of a tenant from one number to another; at most `records` of them are read. */
export interface Range {
  tenant_id: string;
  after: number;
  through: number;
  records: number;
}

/** The content of the records in a range. */
export interface ContentRow {
  records: number;
  occurred_from: string | null;
  occurred_to: string | null;
  /** One record per line, as a JSON array of strings and integers: no two records have the same line. */
  content: string;
  /**
   * One line per record: the time of writing (milliseconds since 1970), a colon and the HMAC; empty without an HMAC.
   */
  proofs: string;
}

/** The number up to which records may lack an HMAC. */
export type StartRow = Pick<RowOf<Tables['audit_starts'], { hmac: string }>, 'through' | 'hmac' | 'key_id'>;

/** The records that no link covers. */
export interface BehindRow {
  /** Not sealed yet. */
  unsealed: number;
  /** The subset of these records that should be covered. */
  overdue: number;
  /** Records that are not sealed although later records of other tenants are; the sealer never leaves such records. */
  skipped: number;
  first_sequence: number | null;
  last_sequence: number | null;
  occurred_from: string | null;
  occurred_to: string | null;
}
