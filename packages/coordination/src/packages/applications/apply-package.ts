import { Refusal } from '@baton/kernel/http/refusal';
import type { Json } from '@baton/values/wire';
import { requireMayFile } from '../../access/policy/filed-in.ts';
import { lockPackages } from '../../organisation/version-lock.ts';
import { declareSettings } from '../../registry/package-settings/declare-settings.ts';
import { canonicalHash } from '../../service/durable-text/canonical.ts';
import { holds, type Permission } from '../../service/permissions.ts';
import { installPackage } from '../catalog/record-package.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Change, isWriting, nameOf, wasOf } from '../plans/changes.ts';
import { describeRefusal } from '../plans/desired.ts';
import type { AppliedPackage, PlanOptions } from '../plans/plan.ts';
import {
  type Computed,
  compareNames,
  computePlan,
  isForeignCalendar,
  type Plan,
  planPackage,
  type ReadContent,
  readWorld,
  worldProblems,
} from '../plans/plan-package.ts';
import { type Manifest, type ObjectKind, objectKinds } from '../source/package-source.ts';
import type { ReadPackage } from '../source/read-package.ts';
import {
  type AppliedObject,
  deleteObjects,
  insertAppliedObjects,
  updateObjectsToRetired,
} from './applied.sql.ts';
import { writerCodes, writers } from './writers.ts';

/** A plan that may be applied. */
export interface PreparedApplication {
  readonly content: ReadContent & { readonly manifest: Manifest };
  readonly options: PlanOptions;
  /** The hash of the plan, as computed outside the transaction. */
  readonly planHash: string;
  readonly changes: readonly Change[];
}

/** An order of kinds in which every object follows the objects that it refers to. */
const kindOrder: readonly ObjectKind[] = ['Calendar', 'TaskType', 'Agent', 'Process', 'WorkRule', 'View'];

/**
 * Plans and validates before the transaction, so that the transaction only writes (docs/reference/packages.md#apply).
 * @throws Refusal `permission_denied` without the permission for each kind, `not_found` for the workspace,
 * `invalid_package`, `plan_stale`, `migration_required`, `calendar_retired`
 */
export async function prepareApplication(
  context: Context,
  read: ReadPackage,
  options: PlanOptions,
  planHash: string,
): Promise<PreparedApplication> {
  requireRights(
    context,
    read.documents.map(({ kind }) => kind),
  );
  const plan = await planPackage(context, read, options);
  const { changes } = plan.computed;
  requireRights(
    context,
    changes.filter(isWriting).map(({ kind }) => kind),
  );
  await requirePlaces(context, changes.filter(isWriting));
  const manifest = requireValid(plan);
  requireFresh(plan.computed, planHash);
  requireMigrations(plan);
  const foreign = changes.find(isForeignCalendar);
  if (foreign !== undefined) fail('calendar_retired', { calendar: foreign.key });
  return { content: { ...plan.content, manifest }, options, planHash, changes };
}

function requireRights({ caller }: Context, kinds: readonly string[]): void {
  const touched = objectKinds.filter((kind) => kinds.includes(kind));
  const needed = touched.map((kind): Permission => writers[kind].permission);
  const required = [...new Set(needed)].sort();
  const missing = required.filter((permission) => !holds(caller.permissions, permission));
  if (missing.length > 0) fail('permission_denied', { required: missing });
}

/** The workspaces of processes and rules, collected so that external authorization needs one request. */
async function requirePlaces(context: Context, changes: readonly Change[]): Promise<void> {
  for (const filed of ['Process', 'WorkRule'] as const) {
    const places = changes
      .filter(({ kind }) => kind === filed)
      .flatMap(({ written, world }) => [
        ...(written === undefined ? [] : [(written['workspaceId'] ?? null) as string | null]),
        ...(world?.id == null ? [] : [world.workspace_id]),
      ]);
    await requireMayFile(context, writers[filed].permission, ...places);
  }
}

function requireValid({ content: { manifest }, problems }: Plan): Manifest {
  if (manifest === undefined || problems.some(({ severity }) => severity === 'error'))
    return fail('invalid_package', { problems });
  return manifest;
}

function requireFresh({ planHash: currentPlanHash, catalogEtag }: Computed, planHash: string): void {
  if (currentPlanHash !== planHash) fail('plan_stale', { currentPlanHash, catalogEtag });
}

function requireMigrations({ processes }: Plan): void {
  const wanting = processes.flatMap(({ key, toVersion, instances }) =>
    instances
      .filter(({ migrationRequired }) => migrationRequired)
      .map(({ version, open }) => ({ process: key, from: version, to: toVersion, open })),
  );
  if (wanting.length > 0) fail('migration_required', { migrations: wanting });
}

/**
 * Applies a plan in one transaction (docs/reference/packages.md#apply): the objects, with the operations of their
 * kinds, the declared settings, and the record of the package's objects.
 * @throws Refusal `plan_stale` if the objects have changed; those of the writers
 */
export async function applyPackage(
  context: Context,
  { content, options, planHash, changes: foreseen }: PreparedApplication,
): Promise<AppliedPackage> {
  const { manifest } = content;
  await lockPackages(context);
  for (const { kind, world, key, action } of inOrder(foreseen.filter(isWriting)))
    if (action !== 'retire') await writers[kind].hold?.(context, world?.key ?? key);
  const computed = await computePlan(context, content, options);
  requireFresh(computed, planHash);
  const changes = inOrder(computed.changes);
  await writeChanges(context, changes, manifest);
  const after = await keepRecord(context, content, changes);
  const applied = changes.filter(isWriting).map(({ kind, key, action }) => ({
    kind,
    key,
    action,
    version: after.versions.get(nameOf(kind, key)) ?? null,
  }));
  return { planHash, catalogEtag: after.etag, applied };
}

function inOrder(changes: readonly Change[]): Change[] {
  return kindOrder.flatMap((kind) => changes.filter((change) => change.kind === kind));
}

async function writeChanges(
  context: Context,
  changes: readonly Change[],
  { key, version }: Manifest,
): Promise<void> {
  const author = { key, version };
  for (const change of changes) {
    const { kind, action, written } = change;
    if (action === 'unchanged' || written === undefined) continue;
    await refusing(change, writers[kind].write(context, { ...change, written }, author));
  }
  for (const change of changes.toReversed()) {
    const { kind, action, renamedFrom, deprecates } = change;
    // A rule has received its new key; objects of every other kind are created again under the new key, so the old ones
    // are retired.
    const isReplaced = renamedFrom !== null && kind !== 'WorkRule';
    if (action === 'retire' || isReplaced || deprecates.length > 0)
      await refusing(change, writers[kind].retire(context, change, author));
  }
}

/** @throws Refusal those of the writer, unchanged or as a problem of the package */
async function refusing({ desired }: Change, writing: Promise<unknown>): Promise<void> {
  try {
    await writing;
  } catch (error) {
    if (!(error instanceof Refusal) || ownCodes.has(error.code)) throw error;
    const file = desired === undefined ? {} : { file: desired.file };
    fail('invalid_package', { problems: describeRefusal(error).map((one) => ({ ...one, ...file })) });
  }
}

const ownCodes: ReadonlySet<string> = new Set(['permission_denied', ...writerCodes]);

interface Kept {
  readonly versions: ReadonlyMap<string, number | null>;
  readonly etag: string;
}

/** Records the package's objects and their current state, which the next plan compares. */
async function keepRecord(
  context: Context,
  { manifest, desired, settings }: PreparedApplication['content'],
  changes: readonly Change[],
): Promise<Kept> {
  const { db, tenantId } = context;
  const { key, version, title = key } = manifest;
  const hashes = desired.toSorted(compareNames).map(({ hash }) => hash);
  const installHash = canonicalHash([key, version, hashes] as Json);
  await installPackage(context, { key, version, installHash, title });
  await declareSettings(context, key, settings ?? null);
  const { rows } = await readWorld(context, manifest, desired);
  const byName = new Map(rows.map((row) => [nameOf(row.kind, row.key), row]));
  requireOwnVersions(changes, byName);
  const objects = changes.flatMap((change): AppliedObject[] => {
    const { kind, desired: document } = change;
    if (document === undefined) return [];
    const state = byName.get(nameOf(kind, change.key))?.state ?? {};
    return [{ kind, key: change.key, said: document.spec, was: wasOf(change, state) }];
  });
  await db.run(insertAppliedObjects(tenantId, { key, version, installHash }, objects));
  const retired = changes.filter(({ action }) => action === 'retire');
  await db.run(
    updateObjectsToRetired(
      tenantId,
      retired.map(({ kind }) => kind),
      retired.map((one) => one.key),
    ),
  );
  const renamed = changes.filter(({ renamedFrom }) => renamedFrom !== null);
  await db.run(
    deleteObjects(
      tenantId,
      renamed.map(({ kind }) => kind),
      renamed.map(({ renamedFrom }) => renamedFrom as string),
    ),
  );
  const kept = await readWorld(context, manifest, desired);
  const tooMuch = worldProblems(kept.rows).map(({ name: _name, ...one }) => one);
  // Otherwise no later plan could change or retire these objects, because they exceed what one plan compares.
  if (tooMuch.length > 0) fail('invalid_package', { problems: tooMuch });
  return { versions: new Map([...byName].map(([name, row]) => [name, row.version])), etag: kept.etag };
}

/** Kinds whose versions are numbered consecutively. */
const countedKinds: readonly ObjectKind[] = ['Calendar', 'Agent', 'View'];

/**
 * A key that did not exist can't be locked: a concurrent creation is detected by its version.
 * @throws Refusal `plan_stale`
 */
function requireOwnVersions(
  changes: readonly Change[],
  after: ReadonlyMap<string, { readonly version: number | null }>,
): void {
  for (const { kind, key, world, renamedFrom } of changes) {
    const before = renamedFrom === null ? (world?.version ?? 0) : 0;
    const version = after.get(nameOf(kind, key))?.version ?? 0;
    if (countedKinds.includes(kind) && version > before + 1) fail('plan_stale', { kind, key });
  }
}
