import type { RowOf } from '@baton/kernel/database/row';
import type { Tables } from '../../service/schema.ts';

/** A link of a tenant's chain. Digest and HMACs are read in hexadecimal. */
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

/** The records of a tenant from one number to another; more than `records` of them are not read. */
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
  /** One record a line, as a JSON array of texts and integers: no two records make the same line. */
  content: string;
  /**
   * A line for each of them: when it was written (milliseconds since 1970), a colon, its HMAC; empty without an HMAC.
   */
  proofs: string;
}

/** Up to which record there may be some without an HMAC. */
export type StartRow = Pick<RowOf<Tables['audit_starts'], { hmac: string }>, 'through' | 'hmac' | 'key_id'>;

/** The records that no link covers. */
export interface BehindRow {
  /** Not sealed yet. */
  unsealed: number;
  /** The subset of these that should be. */
  overdue: number;
  /** Not sealed although later records, of other tenants, are: the sealer leaves none out. */
  skipped: number;
  first_sequence: number | null;
  last_sequence: number | null;
  occurred_from: string | null;
  occurred_to: string | null;
}
