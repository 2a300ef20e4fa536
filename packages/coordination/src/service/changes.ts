import { fail } from './errors.ts';

/**
 * The first check of every partial change. See docs/reference/README.md#order-of-checks.
 * @param nullable the fields that null clears
 * @throws Refusal `invalid_field` for a null in another field
 */
export function refuseNulls(change: object, nullable: readonly string[] = []): void {
  const field = Object.entries(change).find(
    ([name, value]) => value === null && !nullable.includes(name),
  )?.[0];
  if (field !== undefined) fail('invalid_field', { field });
}

/**
 * Refuses a request that was made for another version of the object. See
 * docs/reference/README.md#optimistic-locking.
 * @param entity as in the ETag: `workspace_type`
 * @throws Refusal `version_conflict` when the object's version differs from the one in If-Match
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
