import { prepareSchema } from '@baton/values/json-schema/schema';
import type { JsonObject } from '@baton/values/wire';
import { checkDocument, refuseSecretKeys } from '../service/documents.ts';
import { fail } from './errors.ts';

/**
 * Validates custom fields: first their form, then the type's schema, then keys that are named like secrets.
 * @param schema as it was stored
 * @throws Refusal `invalid_document`, `payload_too_large`, `payload_too_deep`, `custom_fields_invalid`,
 * `secret_material_rejected`
 */
export function parseCustomFields(customFields: unknown, schema: JsonObject): JsonObject {
  const field = 'customFields';
  checkDocument(customFields, { field });
  const errors = prepareSchema(schema).faultsOf(customFields);
  if (errors.length > 0) fail('custom_fields_invalid', { errors });
  refuseSecretKeys(customFields, field);
  return customFields;
}
