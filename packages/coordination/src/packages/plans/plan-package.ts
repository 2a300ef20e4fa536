import { inSlices } from '@baton/kernel/limits/slices';
import { prepareSchema } from '@baton/values/json-schema/schema';
import type { JsonObject } from '@baton/values/wire';
import { getWorkspaceRow } from '../../organisation/workspaces/workspaces.ts';
import { readDeclaration } from '../../registry/package-settings/declare-settings.ts';
import type { SettingsDeclaration } from '../../registry/package-settings/package-settings.ts';
import { canonicalHash } from '../../service/durable-text/canonical.ts';
import { isInSight } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import type { Manifest, PackageProblem } from '../source/package-source.ts';
import type { ReadPackage } from '../source/read-package.ts';
import { validateChanges } from './change-refusals.ts';
import { type Change, computeChanges, type Desired, isWriting, nameOf, renderChanges } from './changes.ts';
import { describeRefusal, readDocuments } from './desired.ts';
import {
  changesMax,
  type PackagePlan,
  type PlannedProcess,
  type PlannedSettings,
  type PlanOptions,
} from './plan.ts';
import { coverageOf, planProcesses } from './process-plans.ts';
import {
  findInstalled,
  findOutside,
  findWorld,
  type InstalledRow,
  versionsMax,
  type WorldRow,
} from './world.sql.ts';

/** The content of the documents, independent of the tenant's objects. */
export interface ReadContent {
  readonly manifest: Manifest | undefined;
  readonly desired: readonly Desired[];
  readonly kept: ReadonlySet<string>;
  /** Undefined for a package without settings. */
  readonly settings: SettingsDeclaration | undefined;
  readonly problems: readonly PackageProblem[];
}

/** The changes, and the state that they were computed from. */
export interface Computed {
  readonly changes: readonly Change[];
  readonly settings: PlannedSettings | null;
  readonly problems: readonly PackageProblem[];
  readonly planHash: string;
  readonly catalogEtag: string;
}

/** @throws Refusal `not_found` for a workspace that the caller does not see */
export async function readContent(
  context: Context,
  { package: manifest, documents, problems }: ReadPackage,
  { workspaceId }: PlanOptions,
): Promise<ReadContent> {
  if (workspaceId !== null) await getWorkspaceRow(context, workspaceId);
  const read = await readDocuments(documents, workspaceId);
  const found = [...problems, ...read.problems];
  const document = documents.find(({ kind }) => kind === 'Settings');
  let settings: SettingsDeclaration | undefined;
  if (document !== undefined)
    try {
      settings = readDeclaration(document.spec);
    } catch (error) {
      found.push(...describeRefusal(error).map((one) => ({ ...one, file: document.file })));
    }
  return { manifest, desired: read.desired, kept: read.kept, settings, problems: found };
}

/**
 * Compares the documents with the tenant's objects. One statement reads all objects, so that a plan reflects one
 * moment. The apply recomputes everything that the plan's hash covers.
 */
export async function computePlan(
  context: Context,
  { manifest, desired, kept, settings, problems: read }: ReadContent,
  options: PlanOptions,
): Promise<Computed> {
  if (manifest === undefined) return hashed({ ...nothing, problems: read }, desired, options, [], undefined);
  const { rows: world, hidden, installed } = await readWorld(context, manifest, desired);
  const byName = new Map(world.map((row) => [nameOf(row.kind, row.key), row]));
  const found = [
    ...desired.flatMap((one) => problemsOf(manifest, one, byName, hidden)),
    ...worldProblems(world),
  ];
  const faulty = new Set(found.map(({ name }) => name));
  const changes = await inSlices(
    computeChanges(
      manifest.key,
      desired.filter(({ kind, key }) => !faulty.has(nameOf(kind, key))),
      {
        renames: manifest.renames,
        overwriteConsole: options.overwriteConsole,
        kept: new Set([...kept, ...faulty]),
      },
      world,
    ),
  );
  const planned = plannedSettings(settings, installed);
  const problems = [
    ...read,
    ...found.map(({ name: _name, ...one }) => one),
    ...changes.flatMap(problemsOfChange),
    ...countProblems(changes),
    ...settingsProblems(settings, installed),
  ];
  return hashed({ changes, settings: planned, problems, manifest }, desired, options, world, installed);
}

interface World {
  readonly rows: readonly WorldRow[];
  /** Names of objects that the caller may not see: they are treated as missing. */
  readonly hidden: ReadonlySet<string>;
  readonly installed: InstalledRow | undefined;
  readonly etag: string;
}

/** All existing objects that a package contains or refers to. */
export async function readWorld(
  context: Context,
  { key, renames }: Manifest,
  desired: readonly Desired[],
): Promise<World> {
  const { db, tenantId } = context;
  const named = [
    ...desired.map((one) => ({ kind: one.kind, key: one.key })),
    ...renames.map(({ kind, from }) => ({ kind, key: from })),
  ];
  const [kinds, keys] = [named.map(({ kind }) => kind), named.map((one) => one.key)];
  const all = await db.rows(findWorld(tenantId, key, { kinds, keys }));
  const hidden = await hiddenOf(context, all);
  const rows = all.filter((row) => !hidden.has(nameOf(row.kind, row.key)));
  const installed = await db.row(findInstalled(tenantId, key));
  return { rows, hidden, installed, etag: etagOf(rows, installed) };
}

const nothing = { changes: [], settings: null, manifest: undefined };

async function hiddenOf(context: Context, world: readonly WorldRow[]): Promise<ReadonlySet<string>> {
  const places = [...new Set(world.map(({ workspace_id: id }) => id).filter((id) => id !== null))];
  const unseen = new Set<string>();
  for (const id of places) if (!(await isInSight(context, id))) unseen.add(id);
  return new Set(
    world
      .filter(({ workspace_id: id }) => id !== null && unseen.has(id))
      .map(({ kind, key }) => nameOf(kind, key)),
  );
}

type Named = PackageProblem & { readonly name: string };

/** The reason why a document can't be compared with its object. */
function problemsOf(
  { key: packageKey, renames }: Manifest,
  { kind, key, file }: Desired,
  world: ReadonlyMap<string, WorldRow>,
  hidden: ReadonlySet<string>,
): Named[] {
  const name = nameOf(kind, key);
  const row = world.get(name);
  const refuse = (code: string, message: string): Named[] => [
    { name, code, severity: 'error', path: '/key', file, message },
  ];
  if (hidden.has(name)) return refuse('not_found', 'no such object exists');
  if (row?.package_key != null && row.package_key !== packageKey && row.retired_by_package_at === null)
    return refuse('invalid_document', `belongs to the package ${row.package_key}`);
  if (kind === 'Agent' && row?.status === 'retired')
    return refuse('agent_retired', 'was retired: an agent and its key cannot be restored');
  if (kind !== 'Agent' || row?.id != null) return [];
  const from = renames.find((one) => one.kind === kind && one.to === key)?.from ?? '';
  if (world.get(nameOf(kind, from))?.package_key === packageKey)
    return refuse(
      'invalid_document',
      'the key of an agent cannot change: its identity and its secrets depend on it',
    );
  return [];
}

/** Objects beyond the limit of what one plan compares. */
export function worldProblems(world: readonly WorldRow[]): Named[] {
  return world
    .filter(({ id, state }) => id !== null && state === null)
    .map(({ kind, key }) => ({
      name: nameOf(kind, key),
      code: 'payload_too_large',
      severity: 'error',
      path: '',
      message: `${nameOf(kind, key)} exceeds what one plan can compare`,
    }));
}

function problemsOfChange({
  kind,
  key,
  action,
  renamedFrom,
  world,
  written,
  deprecates,
  desired,
}: Change): PackageProblem[] {
  const file = desired === undefined ? {} : { file: desired.file };
  const found = (code: string, severity: PackageProblem['severity'], path: string, message: string) => [
    { code, severity, path, ...file, message },
  ];
  if (deprecates.length > versionsMax)
    return found('invalid_document', 'error', '', `${key} has more than ${versionsMax} active versions`);
  if (isForeignCalendar({ kind, world, desired }))
    return found('calendar_retired', 'warning', '/key', 'a person or another package retired this calendar');
  const version = Number(written?.['version']);
  if (
    kind === 'Process' &&
    world?.version != null &&
    isWriting({ action }) &&
    version <= world.version &&
    renamedFrom === null
  )
    return found('process_version_conflict', 'error', '/spec/version', `must be above ${world.version}`);
  const place = written?.['workspaceId'] ?? null;
  if (kind === 'WorkRule' && world?.id != null && place !== (world.workspace_id ?? null))
    return found('invalid_document', 'error', '/spec/workspaceId', 'a rule keeps its workspace');
  return [];
}

/** Whether a person or another package has retired the calendar, so that this package does not restore it. */
export function isForeignCalendar({
  kind,
  world,
  desired,
}: Pick<Change, 'kind' | 'world' | 'desired'>): boolean {
  return (
    kind === 'Calendar' &&
    desired !== undefined &&
    world?.status === 'retired' &&
    (world.package_key === null ||
      world.retired_by_package_at === null ||
      world.retired_by_package_at !== world.retired_at)
  );
}

function countProblems(changes: readonly Change[]): PackageProblem[] {
  const count = changes.filter(isWriting).length;
  if (count <= changesMax) return [];
  return [
    {
      code: 'invalid_document',
      severity: 'error',
      path: '',
      message: `${count} objects change; a version of a package may change at most ${changesMax}`,
      hint: 'Split the changes into several versions.',
    },
  ];
}

function plannedSettings(
  settings: SettingsDeclaration | undefined,
  installed: InstalledRow | undefined,
): PlannedSettings | null {
  const previousSchemaHash = installed?.settings_schema_hash ?? null;
  if (settings === undefined) {
    if (previousSchemaHash === null) return null;
    return { action: 'retire', title: null, schemaHash: null, previousSchemaHash };
  }
  const { title, schemaHash } = settings;
  const [now, before] = [
    [title, schemaHash, settings.uischema],
    [installed?.settings_title ?? null, previousSchemaHash, installed?.settings_uischema ?? null],
  ];
  const isSame = hashOf(now) === hashOf(before);
  const action = isSame ? 'unchanged' : previousSchemaHash === null ? 'create' : 'update';
  return { action, title, schemaHash, previousSchemaHash };
}

/** The stored settings may not fit the new schema; if they don't, people must set them again. */
function settingsProblems(
  settings: SettingsDeclaration | undefined,
  installed: InstalledRow | undefined,
): PackageProblem[] {
  if (settings === undefined || installed === undefined) return [];
  const faults = prepareSchema(settings.schema).faultsOf(installed.settings_values);
  return faults.map(({ path, message }) => ({
    code: 'settings_invalid',
    severity: 'warning',
    path,
    message: `the current settings do not match the schema: ${message}`.slice(0, 300).toWellFormed(),
  }));
}

function hashed(
  {
    changes,
    settings,
    problems,
    manifest,
  }: Pick<Computed, 'changes' | 'settings' | 'problems'> & { manifest: Manifest | undefined },
  desired: readonly Desired[],
  { workspaceId, overwriteConsole }: PlanOptions,
  world: readonly WorldRow[],
  installed: InstalledRow | undefined,
): Computed {
  const catalogEtag = etagOf(world, installed);
  const planHash = hashOf({
    package: manifest ?? null,
    documents: desired.toSorted(compareNames).map(({ kind, key, hash }) => [kind, key, hash]),
    options: [workspaceId, overwriteConsole],
    changes: changes
      .toSorted(compareNames)
      .map(({ kind, key, action, renamedFrom, deprecates, fields }) => [
        kind,
        key,
        action,
        renamedFrom,
        deprecates,
        fields.map(({ name, owner, applies }) => [name, owner, applies]),
      ]),
    settings,
    catalogEtag,
  });
  return { changes, settings, problems, planHash, catalogEtag };
}

/** The same documents yield the same plan, regardless of the order of their files. */
export function compareNames(one: Pick<Change, 'kind' | 'key'>, other: Pick<Change, 'kind' | 'key'>): number {
  return nameOf(one.kind, one.key) < nameOf(other.kind, other.key) ? -1 : 1;
}

const hashOf = (value: unknown) => canonicalHash(value as JsonObject, { fractions: 'allowed' });

function etagOf(world: readonly WorldRow[], installed: InstalledRow | undefined): string {
  const catalog = world.map((row) => {
    const { state: _state, said: _said, was: _was, bytes: _bytes, ...rest } = row;
    return rest;
  });
  return hashOf([catalog, installed?.version ?? null, installed?.settings_schema_hash ?? null]);
}

export interface Plan {
  readonly content: ReadContent;
  readonly computed: Computed;
  readonly processes: readonly PlannedProcess[];
  readonly problems: readonly PackageProblem[];
}

const problemsMax = 500;

/**
 * Plans a package (docs/reference/packages.md#plan); writes nothing.
 * @throws Refusal `not_found` for a workspace that the caller does not see
 */
export async function planPackage(context: Context, read: ReadPackage, options: PlanOptions): Promise<Plan> {
  const content = await readContent(context, read, options);
  const computed = await computePlan(context, content, options);
  const writing = computed.changes.filter(isWriting);
  // A plan with too many changes can't be applied, so its validation is skipped.
  const judged = writing.length > changesMax ? [] : await validateChanges(context, writing, content.desired);
  const problems = [...computed.problems, ...judged].sort(errorsFirst).slice(0, problemsMax);
  const processes = writing.length > changesMax ? [] : await planProcesses(context, writing);
  return { content, computed, processes, problems };
}

const errorsFirst = (a: PackageProblem, b: PackageProblem): number =>
  Number(b.severity === 'error') - Number(a.severity === 'error');

const outsideMax = 1000;

/** A plan in the format of the response. */
export async function showPlan(
  { db, tenantId }: Context,
  { content: { manifest }, computed, processes, problems }: Plan,
): Promise<PackagePlan> {
  const { planHash, catalogEtag, changes, settings } = computed;
  const outside =
    manifest === undefined ? [] : await db.rows(findOutside(tenantId, manifest.key, outsideMax));
  const wanted = new Set(changes.map(({ kind, key }) => nameOf(kind, key)));
  return {
    planHash,
    catalogEtag,
    package: manifest === undefined ? null : { key: manifest.key, version: manifest.version },
    changes: await inSlices(renderChanges(changes)),
    outside: outside
      .filter(({ kind, key }) => !wanted.has(nameOf(kind, key)))
      .map(({ kind, key }) => ({ kind, key, appliedBy: 'installer' as const })),
    processes: [...processes],
    regulationCoverage: coverageOf(changes),
    settings,
    problems: [...problems],
    createdAt: new Date().toISOString(),
  };
}
