import { newId } from '@baton/values/ids';
import { lockPackages } from '../../organisation/version-lock.ts';
import { holds } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type PackageObject,
  type PackageRecord,
  type RecordedKind,
  type RecordedPackage,
  recordedKinds,
} from './package.ts';
import { findUnknownObjects, insertPackage, insertPackageObjects } from './packages.sql.ts';

const shownMax = 20;

/**
 * Records the package of objects that an installer created with the operations of their kinds
 * (docs/reference/packages.md#record). Objects of another package are transferred. Repeating the request changes
 * nothing.
 * @throws Refusal `permission_denied` without the permission for each kind, `unknown_object`
 */
export async function recordPackage(
  context: Context,
  { package: { key, version }, installHash: sentHash, objects: sent }: PackageRecord,
): Promise<RecordedPackage> {
  requireRights(context, new Set(sent.map(({ kind }) => kind)));
  const { db, tenantId } = context;
  await lockPackages(context);
  const unknown = await db.rows(findUnknownObjects(tenantId, sent));
  if (unknown.length > 0) fail('unknown_object', { ...unknown[0], unknown: unknown.slice(0, shownMax) });
  const installHash = sentHash ?? null;
  const installed = { tenantId, key, version, installHash };
  const objects = named(sent);
  await db.run(insertPackage({ ...installed, id: newId(), title: key }));
  await db.run(insertPackageObjects(installed, 'installer', objects));
  return { package: { key, version }, installHash, objects };
}

/** Records the installed version of a package. The caller holds the lock on packages. */
export async function installPackage(
  { db, tenantId }: Context,
  installed: { key: string; version: string; installHash: string; title: string },
): Promise<void> {
  await db.run(insertPackage({ ...installed, tenantId, id: newId() }));
}

/** Removes duplicates. A skill is identified by its name without a version, because all versions share the link. */
function named(objects: readonly PackageObject[]): PackageObject[] {
  const keyOf = ({ kind, key }: PackageObject) => (kind === 'Skill' ? (key.split('@', 1)[0] as string) : key);
  const once = new Map(
    objects.map((one) => [`${one.kind}/${keyOf(one)}`, { kind: one.kind, key: keyOf(one) }]),
  );
  return [...once.values()];
}

function requireRights({ caller }: Context, kinds: ReadonlySet<RecordedKind>): void {
  const required = [...new Set([...kinds].map((kind) => recordedKinds[kind]))].sort();
  const missing = required.filter((permission) => !holds(caller.permissions, permission));
  if (missing.length > 0) fail('permission_denied', { required: missing });
}
