import type { z } from 'zod';
import { checkDocument } from '../../service/documents.ts';
import { type ErrorCode, fail } from '../errors.ts';

/** The maximum number of faults in a document that a refusal lists (docs/reference/rules.md#documents). */
const faultsMax = 20;

/** The problem and its path in the document: `action.fields.title`. */
export interface Fault {
  readonly field: string;
  readonly message: string;
}

/** Refuses a document for its faults; the first fault supplies the field. @throws Refusal `code` */
export function refuseFaults(code: ErrorCode, faults: readonly Fault[]): void {
  const [first] = faults;
  if (first !== undefined) fail(code, { ...first, errors: faults.slice(0, faultsMax) });
}

/**
 * Parses one of a rule's documents by its schema.
 * @throws Refusal `code`; `payload_too_large`, `payload_too_deep`, `invalid_document`
 */
export function parseRuleDocument<Schema extends z.ZodType>(
  schema: Schema,
  sent: unknown,
  field: string,
  code: ErrorCode,
): z.output<Schema> {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent))
    refuseFaults(code, [{ field, message: 'must be an object' }]);
  checkDocument(sent, { field });
  const result = schema.safeParse(sent);
  if (result.success) return result.data;
  refuseFaults(
    code,
    result.error.issues.map(({ path, message }) => ({
      field: [field, ...path.map(String)].join('.'),
      message,
    })),
  );
  throw new Error('a document was refused without a fault');
}
