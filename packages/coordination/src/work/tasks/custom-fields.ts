import type { JsonObject } from '@baton/values/wire';
import type { TypeRules } from '../../definitions/task-types/type-rules.ts';
import { checkDocument, refuseSecretKeys } from '../../service/documents.ts';
import { fail } from '../errors.ts';

/**
 * Parses and validates custom fields: first their shape, then the type's schema, then keys that are named like secrets.
 * @throws Refusal `invalid_document`, `payload_too_large`, `payload_too_deep`, `custom_fields_invalid`,
 * `secret_material_rejected`
 */
export function parseCustomFields(sent: unknown, { fieldSchema }: TypeRules): JsonObject {
  checkDocument(sent, { field: 'customFields' });
  const errors = fieldSchema.faultsOf(sent);
  if (errors.length > 0) fail('custom_fields_invalid', { errors });
  refuseSecretKeys(sent, 'customFields');
  return sent;
}
