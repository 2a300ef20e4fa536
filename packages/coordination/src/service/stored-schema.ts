import { nodesOf } from '@baton/values/json';
import { prepareSchema } from '@baton/values/json-schema/schema';
import { SchemaDefect } from '@baton/values/json-schema/schema-tree';
import type { JsonObject } from '@baton/values/wire';
import { checkDocument, type DocumentBounds, refuseSecretText } from './documents.ts';
import { fail } from './errors.ts';

/**
 * Validates a tenant's JSON Schema before it is stored: first its size, then its syntax, then its strings for
 * secrets. Property names are not checked for secrets. See docs/reference/README.md#documents.
 * @throws Refusal `invalid_document`, `payload_too_large`, `payload_too_deep`, `invalid_json_schema` with `field`,
 * `path`, `message` and, for a dangling reference, `ref`; `secret_material_rejected`
 */
export function checkStoredSchema(value: unknown, bounds: DocumentBounds): asserts value is JsonObject {
  checkDocument(value, bounds);
  const { field } = bounds;
  try {
    prepareSchema(value);
  } catch (error) {
    if (!(error instanceof SchemaDefect)) throw error;
    const { path, message, ref } = error;
    const shownPath = path.slice(0, 200).toWellFormed();
    fail('invalid_json_schema', { field, path: shownPath, message, ...(ref !== undefined && { ref }) });
  }
  const texts = [...nodesOf(value)].flatMap(({ value: one }) => (typeof one === 'string' ? [one] : []));
  refuseSecretText(texts.join('\n'), field);
}
