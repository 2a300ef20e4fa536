import type { RowOf } from '@baton/kernel/database/row';
import type { Auditing } from '../../records/audit.ts';
import type { Emitting } from '../../records/journal/journal.ts';
import type { Tables } from '../../service/schema.ts';
import type { Context } from '../context.ts';

/** Work that a request deferred when it was acknowledged. */
export type EndingRow = RowOf<Tables['endings']>;

/**
 * The actor of the changes and records: the caller of the request, or, if the job acts on the caller's behalf, the job.
 */
export type Acting = Auditing & Emitting & Pick<Context, 'db'>;

/** An ending that the job has locked, and processes in batches. */
export interface Ending extends Acting, Pick<Context, 'auditKey'> {
  readonly row: EndingRow;
}
