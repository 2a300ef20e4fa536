import type { z } from 'zod';
import { checkDocument, refuseSecretKeys } from '../../service/documents.ts';
import { fail } from '../errors.ts';

/**
 * Parses one of the documents of a task type.
 * @throws Refusal `code` with the path of the defect as a JSON pointer; `invalid_document`, `payload_too_large`,
 * `payload_too_deep`, `secret_material_rejected`
 */
export function parseSchemaDocument<Form extends z.ZodType>(
  form: Form,
  document: unknown,
  field: string,
  code: 'invalid_approval_schema' | 'invalid_completion_schema',
): z.output<Form> {
  checkDocument(document, { field });
  const result = form.safeParse(document);
  if (!result.success) {
    const [first] = result.error.issues;
    const path = (first?.path ?? []).map((step) => `/${pointerStep(String(step))}`).join('');
    fail(code, { field, path: path.slice(0, 200).toWellFormed(), message: first?.message });
  }
  refuseSecretKeys(document, field);
  return result.data;
}

function pointerStep(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1');
}
