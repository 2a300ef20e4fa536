import { isDeepStrictEqual } from 'node:util';
import {
  BatonError,
  type PackagePlan,
  type PackageProblem,
  type PlannedChange,
  type TaskType,
} from '@baton/sdk';
import { PlainError } from '../../plain-error.ts';
import { type Change, holds, type Planning, refuseSkippedVersion, unchanged } from '../change.ts';
import { type Declared, isObject, type Kind } from '../documents.ts';
import type { JsonObject } from '../yaml-documents.ts';

/** Kinds that are compared with the plan endpoint for packages, because it knows the defaults of omitted fields. */
export const catalogueKinds = [
  'Calendar',
  'TaskType',
  'Agent',
  'Process',
  'WorkRule',
] as const satisfies Kind[];
type CatalogueKind = (typeof catalogueKinds)[number];

export const isOfCatalogue = ({ kind }: Pick<Declared, 'kind'>): boolean =>
  catalogueKinds.some((known) => known === kind);

/** The package is only planned, never applied, so it never owns an object. */
const manifest = 'key: baton-apply\nversion: "1"\n';

/** @throws PlainError if the documents are too many for one plan */
export async function planCatalogue(planning: Planning, documents: readonly Declared[]): Promise<Change[]> {
  if (documents.length === 0) return [];
  const named = new Map(documents.map((document, n) => [`${n}.json`, document]));
  const files = [...named].map(([path, { kind, key, spec }]) => ({
    path,
    content: JSON.stringify({ apiVersion: 'baton/v1', kind, key, spec }),
  }));
  // The current versions are read before the plan: a change between the two reads counts as later than the plan, and is
  // never overwritten.
  const bases = await versionsOf(planning, documents);
  const plan = await planned(planning, files);
  noteProblems(planning, plan.problems, named);
  const changes = new Map(plan.changes.map((change) => [`${change.kind}/${change.key}`, change]));
  const all: Change[] = [];
  for (const document of documents) {
    const change = changes.get(`${document.kind}/${document.key}`);
    // A document that the plan returns no change for has a problem, which is reported.
    if (change === undefined || change.action === 'unchanged') all.push(unchanged(document));
    else all.push(await changeOf(planning, document, change, bases.get(document) ?? stamped(0)));
  }
  return all;
}

async function planned(
  { baton }: Planning,
  files: { path: string; content: string }[],
): Promise<PackagePlan> {
  try {
    return await baton.packages.plan({
      package: { files: [{ path: 'package.yaml', content: manifest }, ...files] },
      overwriteConsole: true,
      replayLimit: 0,
    });
  } catch (error) {
    if (error instanceof BatonError && error.code === 'request_too_large')
      throw new PlainError(
        `Calendars, task types, agents, processes and rules of one apply are planned by one request, and these ${files.length} are too large for it: apply them in parts.`,
      );
    throw error;
  }
}

function noteProblems(
  planning: Planning,
  problems: readonly PackageProblem[],
  named: ReadonlyMap<string, Declared>,
): void {
  for (const { severity, file, path: given, message, code, hint } of problems) {
    if (severity !== 'error') continue;
    const path = pointerOf(given);
    const document = file === undefined ? undefined : named.get(file);
    if (document === undefined) {
      const isCount = message.includes('objects change');
      planning.problems.addAt(
        () => 'all files',
        isCount
          ? 'more than 100 calendars, task types, agents, processes and rules change: apply them in parts.'
          : `${code}: ${message}. ${hint ?? ''}`,
      );
      continue;
    }
    // Only the installation of packages replaces variables; the service rejects them in a process.
    if (code === 'unresolved_install_variable' && document.kind !== 'Process') continue;
    if (isGiven(planning, document, path, code)) continue;
    planning.problems.add(document, path, `${message} (${code}).${hint === undefined ? '' : ` ${hint}`}`);
  }
}

/** Converts pointers of the form `/spec/acceptance[0].kind`, which some errors contain. */
function pointerOf(path: string): string {
  if (!/\[\d+\]/.test(path)) return path;
  return path.replaceAll(/\[(\d+)\]/g, '/$1').replaceAll('.', '/');
}

const absentCodes = ['unknown_reference', 'unknown_role', 'unknown_requirement', 'not_found'];
const givenKinds: readonly Kind[] = ['Role', 'Capability', 'Workspace', 'Project'];

/** Whether it references only objects declared in the files themselves, which are created first. */
function isGiven({ declared }: Planning, document: Declared, path: string, code: string): boolean {
  if (!absentCodes.includes(code)) return false;
  const value = valueAt(document, path);
  return declared.some(({ kind, key }) => givenKinds.includes(kind) && key === value);
}

function valueAt({ spec }: Declared, path: string): unknown {
  let value: unknown = { spec };
  for (const part of path.slice(1).split('/'))
    value = (value as JsonObject | undefined)?.[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  return value;
}

async function changeOf(
  planning: Planning,
  document: Declared,
  change: PlannedChange,
  base: Base,
): Promise<Change> {
  const { key } = document;
  const kind = document.kind as CatalogueKind;
  const isNew = change.action === 'create';
  const fields = isNew ? change.fields : await withoutFilledIn(planning, document, change.fields);
  if (change.action === 'update' && fields.length === 0) return unchanged(document);
  const note = change.action === 'restore' ? 'It was retired, and becomes active again.' : undefined;
  return {
    document,
    action: isNew ? 'create' : 'change',
    // The service returns a hash of a long value; the file has the value itself.
    fields: fields.map(({ path, before, after }) => ({
      path,
      before,
      after: valueAt(document, `/spec${path}`) ?? after,
    })),
    ...(note !== undefined && { note }),
    async carryOut() {
      const now = await versionOf(planning, kind, key);
      if (now.stamp !== base.stamp) throw changedSince(kind, key);
      const written = await writers[kind](planning, document, base);
      if (written !== undefined) refuseSkippedVersion(document, base.version, written);
    },
  };
}

/**
 * Removes differences that are only defaults. A package plan compares against the package's recorded documents; without
 * a record, it reports defaults as differences.
 */
async function withoutFilledIn(
  { baton }: Planning,
  { kind, key, spec }: Declared,
  fields: PlannedChange['fields'],
): Promise<PlannedChange['fields']> {
  if (kind === 'WorkRule')
    return fields.filter(
      ({ path, before, after }) => !(path === '/condition' && before === true && after === null),
    );
  const filledIn = ['/lifecycleSchema', '/execution'];
  if (kind !== 'TaskType' || !fields.some(({ path }) => filledIn.includes(path))) return fields;
  const [current] = (await baton.taskTypes.list({ key, status: 'active', limit: 1 })).items;
  if (current === undefined) return fields;
  // Version 1 of `task` is the system's own; a type without a declared lifecycle has the same one.
  const { lifecycleSchema: wanted = (await oldestType(baton, 'task'))?.lifecycleSchema } = spec;
  const isSame: Readonly<Record<string, boolean>> = {
    '/lifecycleSchema': holds(current.lifecycleSchema, wanted),
    '/execution': isDeepStrictEqual(current.execution, executionOf(spec['execution'])),
  };
  return fields.filter(({ path }) => isSame[path] !== true);
}

/** How a new version of a type stores the members of `execution` that its document omits. */
function executionOf(given: unknown): JsonObject {
  const stated = (value: unknown): JsonObject =>
    isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null)) : {};
  const { retry, ...rest } = stated(given);
  const pauses = { backoffSeconds: 60, maxBackoffSeconds: 3600, ...stated(retry) };
  return { startDateHolds: true, ...rest, retry: pauses };
}

async function oldestType(baton: Planning['baton'], key: string): Promise<TaskType | undefined> {
  let oldest: TaskType | undefined;
  for await (const type of baton.taskTypes.list({ key, limit: 200 })) oldest = type;
  return oldest;
}

const changedSince = (kind: string, key: string) =>
  new PlainError(`Somebody has changed ${kind} ${key} since the plan: apply again, and check the plan.`);

/** The basis of a change. */
interface Base {
  /** 0 for an object that doesn't exist. */
  readonly version: number;
  /** Differs after every change that the plan for its kind detects. */
  readonly stamp: string;
  readonly id?: string;
  readonly status?: string;
}

async function versionOf({ baton }: Planning, kind: CatalogueKind, key: string): Promise<Base> {
  try {
    switch (kind) {
      case 'TaskType': {
        const [newest] = (await baton.taskTypes.list({ key, limit: 1 })).items;
        return stamped(newest?.version ?? 0, newest?.status);
      }
      case 'Agent': {
        const { currentRevision, version } = await baton.agents.get(key);
        return stamped(currentRevision, version);
      }
      case 'Calendar': {
        const { latestVersion, retired } = await baton.calendars.get(key);
        return stamped(latestVersion, retired?.at);
      }
      case 'Process': {
        const { latestVersion, retired } = await baton.processDefinitions.get(key);
        return stamped(latestVersion, retired?.at);
      }
      case 'WorkRule': {
        const [rule] = (await baton.rules.list({ key, limit: 1 })).items;
        if (rule === undefined) return stamped(0);
        const { id, version, status } = rule;
        return { ...stamped(version, id, status), id, status };
      }
    }
  } catch (error) {
    if (error instanceof BatonError && error.status === 404) return stamped(0);
    throw error;
  }
}

const stamped = (version: number, ...rest: readonly (string | number | undefined)[]): Base => ({
  version,
  stamp: [version, ...rest].join(' '),
});

const readsAtOnce = 8;

async function versionsOf(
  planning: Planning,
  documents: readonly Declared[],
): Promise<ReadonlyMap<Declared, Base>> {
  const bases = new Map<Declared, Base>();
  for (let from = 0; from < documents.length; from += readsAtOnce)
    await Promise.all(
      documents.slice(from, from + readsAtOnce).map(async (document) => {
        bases.set(document, await versionOf(planning, document.kind as CatalogueKind, document.key));
      }),
    );
  return bases;
}

type Writer = (planning: Planning, document: Declared, base: Base) => Promise<number | undefined>;

/** Each returns the number that the service assigned, if any. */
const writers: Readonly<Record<CatalogueKind, Writer>> = {
  async TaskType({ baton, attempt }, { key, spec }, { stamp }) {
    const body = { ...(spec as { displayName: string }), key };
    const idempotencyKey = attempt.keyOf('TaskType', stamp, body);
    return (await baton.taskTypes.create(body, { idempotencyKey })).version;
  },
  async Agent({ baton, attempt }, { key, spec }, { stamp }) {
    const body = { key, spec: spec as never };
    const idempotencyKey = attempt.keyOf('Agent', stamp, body);
    return (await baton.agents.publish(body, { idempotencyKey })).currentRevision;
  },
  async Calendar({ baton, attempt }, { key, spec }, { stamp }) {
    const body = { key, spec: spec as never };
    const idempotencyKey = attempt.keyOf('Calendar', stamp, body);
    return (await baton.calendars.publish(body, { idempotencyKey })).version;
  },
  async Process({ baton }, { key, spec }) {
    // The version number is in the file: the service rejects an existing one.
    await baton.processDefinitions.publish({ key, spec });
    return undefined;
  },
  async WorkRule({ baton }, { key, spec }, { id, version, status: before }) {
    const {
      status,
      description = '',
      condition = null,
      interpretation = null,
      goalId = null,
      identity = null,
      ...rest
    } = spec;
    if (id === undefined) {
      await baton.rules.create({ ...(spec as { trigger: never; action: never }), key });
      return undefined;
    }
    const { workspaceId: _place, ...fields } = rest;
    const change = { ...fields, description, condition, interpretation, goalId, identity };
    await baton.rules.update(id, change as never, { ifMatch: `"rule-${version}"` });
    const wanted = status ?? 'enabled';
    if (wanted === before) return undefined;
    await (wanted === 'enabled' ? baton.rules.enable(id) : baton.rules.disable(id));
    return undefined;
  },
};
