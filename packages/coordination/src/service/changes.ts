import { fail } from './errors.ts';

/**
 * What every change of an object field by field begins with (core, sections 1.2 and 1.8).
 * @param nullable the fields that null empties
 * @throws Refusal `invalid_field` for a null in another one
 */
export function refuseNulls(change: object, nullable: readonly string[] = []): void {
  const field = Object.entries(change).find(
    ([name, value]) => value === null && !nullable.includes(name),
  )?.[0];
  if (field !== undefined) fail('invalid_field', { field });
}

/**
 * @param entity as in the ETag: `workspace_type`
 * @throws Refusal `version_conflict` when the object has another version than If-Match names (core, section 1.8)
 */
export function requireVersionOf(
  entity: string,
  { id, version }: { id: string; version: number },
  expectedVersion: number,
): void {
  if (version === expectedVersion) return;
  const idField = `${entity.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())}Id`;
  fail('version_conflict', { [idField]: id, entity, id, expectedVersion, currentVersion: version });
}
