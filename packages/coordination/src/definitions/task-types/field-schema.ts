import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { JsonObject } from '@baton/kernel/wire';

/**
 * Compiles a type's schema of custom fields (JSON Schema 2020-12; formats only annotate, as the draft says).
 * @returns undefined for the empty schema, which accepts everything
 */
export function compileSchema(schema: JsonObject): ValidateFunction | undefined {
  if (Object.keys(schema).length === 0) return undefined;
  // An instance of its own, so that schemas of different types can have the same $id and are freed with their type.
  return new Ajv2020({ allErrors: true, strict: false, validateFormats: false, logger: false }).compile(
    schema,
  );
}

/** A fault of an instance: where it is, and what is wrong, without what was sent. */
export interface SchemaFault {
  path: string;
  message: string;
}

const faultsMax = 20;
const pathLengthMax = 200;

/** What is wrong with an instance, at most 20 faults; empty when it fits. */
export function faultsOf(validate: ValidateFunction, instance: JsonObject): SchemaFault[] {
  if (validate(instance)) return [];
  return (validate.errors ?? []).slice(0, faultsMax).map(({ instancePath, message }) => ({
    path: instancePath.slice(0, pathLengthMax).toWellFormed(),
    message: message ?? 'does not fit',
  }));
}
