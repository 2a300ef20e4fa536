import type { Db } from '@baton/kernel/database/db';
import type { Operation } from '@baton/kernel/http/service';
import type { ResourceType } from '../../access/policy/catalogue.ts';
import { nameOf, type Resource, type Tuple, tuplesMax } from '../../access/policy/decision.ts';
import type { Places } from '../../access/policy/rights.ts';
import type { Caller } from '../../service/caller.ts';
import { readViewer } from '../../service/sight/sight.ts';
import { parseTaskRef, type TaskRef } from '../../work/tasks/task-ref.ts';
import { isAtPath, isSeen } from '../within-sight.ts';
import {
  type AnchorRow,
  anchorsOf,
  findIdentities,
  findPaths,
  findPlacedTasks,
  findPlaceOfProcess,
  findReferenced,
  findTaskOfNumber,
  type PlacedTaskRow,
} from './places.sql.ts';

/** Finds the objects of a request and their relations. See docs/reference/authorization.md#catalog. */

type AnchorKind = keyof typeof anchorsOf;
type Kind = AnchorKind | 'task' | 'external_reference' | 'process';

/** A reference to an object, as contained in a request. */
interface Named {
  readonly kind: Kind;
  readonly id: string | null;
  /** The number of the task, instead of its id. */
  readonly number: number | null;
  /** The key of the process, instead of its id. */
  readonly key?: string;
}

/** The paths whose requests are about one object, with its kind. */
const kindAt: Readonly<Record<string, Kind>> = {
  '/tasks/{ref}': 'task',
  '/claims/{id}': 'claim',
  '/runs/{id}': 'run',
  '/approvals/{id}': 'approval',
  '/artifacts/{id}': 'artifact',
  '/context-packs/{id}': 'context_pack',
  '/goals/{id}': 'goal',
  '/workspaces/{id}': 'workspace',
  '/child-handles/{id}': 'child_handle',
  '/external-references/{id}': 'external_reference',
  '/projects/{id}': 'project',
  '/rules/{id}': 'rule',
  '/rule-evaluations/{id}': 'rule_evaluation',
  '/process-instances/{id}': 'process_instance',
};

/** Fields of the body or query that identify an object if the path doesn't, the most specific first. */
const kindOfField: readonly (readonly [field: string, kind: Kind])[] = [
  ['runId', 'run'],
  ['taskId', 'task'],
  ['task', 'task'],
  ['projectId', 'project'],
  ['workspaceId', 'workspace'],
  ['parentId', 'workspace'],
  ['parentWorkspaceId', 'workspace'],
  ['rootId', 'workspace'],
];

/** The relation between a person and an object of each kind. */
const relationOf: Partial<Record<Kind, string>> = {
  run: 'holder',
  approval: 'requested_by',
  project: 'owner',
};
/** Kinds that the decision point knows. An object of another kind is represented by its task or workspace. */
const typeOf: Partial<Record<Kind, ResourceType>> = {
  run: 'run',
  approval: 'approval',
  artifact: 'artifact',
  project: 'project_profile',
};

/** Returns the objects of one request. */
export function placesOf(
  caller: Caller,
  endpoint: Pick<Operation, 'path'>,
  input: { readonly params: object; readonly query: object; readonly body: unknown },
): Places {
  const path = Object.keys(kindAt).find((known) => isAtPath(endpoint.path, known));
  return {
    async ofRequest(db) {
      const named = path === undefined ? namedInFields(input) : namedInPath(path, input.params);
      if (named === undefined || !(await isInSight(db, caller, path, named))) return [];
      const found = await objectOf(db, caller.tenantId, named);
      if (found === undefined) return [];
      return (await resourcesOf(db, caller, found.kind, [found.id])).get(found.id) ?? [];
    },
    async ofType(db, type, ids) {
      if (type === 'tenant') return ids.map((id) => ({ type, id, tuples: [] }));
      if (type === 'memory_namespace') return namespaces(db, caller, ids);
      const kind = Object.keys(typeOf).find((known) => typeOf[known as Kind] === type) ?? type;
      const found = await this.ofKind(db, kind, ids);
      return ids.flatMap((id) => found.get(id)?.slice(0, 1) ?? []);
    },
    async ofKind(db, kind, ids) {
      return kind === 'task' || kind in anchorsOf ? resourcesOf(db, caller, kind as Kind, ids) : new Map();
    },
  };
}

function namedInPath(path: string, params: object): Named {
  const name = path.slice(path.indexOf('{') + 1, -1);
  const asked = (params as Record<string, string | TaskRef>)[name] as string | TaskRef;
  const ref = typeof asked === 'string' ? { id: asked, number: null } : asked;
  return { kind: kindAt[path] as Kind, ...ref };
}

function namedInFields({
  query,
  body,
}: {
  readonly query: object;
  readonly body: unknown;
}): Named | undefined {
  const fields = { ...query, ...membersOf(membersOf(body)['spec']), ...membersOf(body) };
  const { entityType, entityId } = fields;
  if ((entityType === 'task' || entityType === 'project') && typeof entityId === 'string')
    return { kind: entityType, ...parseTaskRef(entityId) };
  for (const [field, kind] of kindOfField) {
    const value = fields[field];
    if (typeof value === 'string') return { kind, ...parseTaskRef(value) };
    if (isTaskRef(value)) return { kind, ...value };
  }
  // An instance without a workspace is filed in the workspace of its process.
  const { process } = fields;
  return typeof process === 'string' ? { kind: 'process', id: null, number: null, key: process } : undefined;
}

/** The fields of a body; those of a published document are in `spec`. */
function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function isTaskRef(value: unknown): value is TaskRef {
  return typeof value === 'object' && value !== null && 'number' in value && 'id' in value;
}

/** Whether the caller sees the object: one that the caller can't see is treated like a missing one. */
async function isInSight(
  db: Db,
  caller: Caller,
  path: string | undefined,
  { id, number }: Named,
): Promise<boolean> {
  const { tenantId } = caller;
  const viewerId = await readViewer({ db, tenantId, caller });
  if (viewerId === null || path === undefined) return true;
  return isSeen({ db, tenantId }, viewerId, path, { id, number });
}

/** Resolves a reference: a task by its number, an external reference to its object. */
async function objectOf(
  db: Db,
  tenantId: string,
  { kind, id, number, key }: Named,
): Promise<{ kind: Kind; id: string } | undefined> {
  if (key !== undefined) {
    const process = await db.row(findPlaceOfProcess(tenantId, key));
    return process?.workspace_id == null ? undefined : { kind: 'workspace', id: process.workspace_id };
  }
  if (number !== null) {
    const found = await db.row(findTaskOfNumber(tenantId, number));
    return found && { kind, id: found.id };
  }
  if (id === null || kind !== 'external_reference') return id === null ? undefined : { kind, id };
  const found = await db.row(findReferenced(tenantId, id));
  return found && { kind: found.entity_type === 'task' ? 'task' : 'project', id: found.entity_id };
}

/**
 * For each object by its id: the object itself, if the decision point knows its kind, then its task, then its
 * workspace.
 */
async function resourcesOf(
  db: Db,
  caller: Caller,
  kind: Kind,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly Resource[]>> {
  const anchors = await anchorRows(db, caller.tenantId, kind, ids);
  const taskIds = present(anchors.map(({ task_id }) => task_id));
  const tasks = taskIds.length === 0 ? [] : await db.rows(findPlacedTasks(caller.tenantId, taskIds));
  const workspaceIds = present([...anchors, ...tasks].map(({ workspace_id }) => workspace_id));
  const paths = workspaceIds.length === 0 ? [] : await db.rows(findPaths(caller.tenantId, workspaceIds));
  const relations: Relations = {
    tenantId: caller.tenantId,
    tasks: new Map(tasks.map((task) => [task.id, task])),
    paths: new Map(paths.map(({ id, path }) => [id, path])),
    identities: await identitiesOf(db, caller, [
      ...anchors.map(({ person_id }) => person_id),
      ...tasks.flatMap(({ owner_id, assignee_id, created_by }) => [owner_id, assignee_id, created_by]),
    ]),
  };
  return new Map(anchors.map((anchor) => [anchor.id, chainOf(kind, anchor, relations)]));
}

async function anchorRows(
  db: Db,
  tenantId: string,
  kind: Kind,
  ids: readonly string[],
): Promise<AnchorRow[]> {
  if (kind in anchorsOf) return db.rows(anchorsOf[kind as AnchorKind](tenantId, ids));
  return ids.map((id) => ({ id, task_id: id, workspace_id: null, person_id: null }));
}

/** Memory namespaces of the tenant and of workspace trees, under the names that the decision point uses. */
async function namespaces(db: Db, { tenantId }: Caller, ids: readonly string[]): Promise<Resource[]> {
  const roots = ids.flatMap((id) => (id.startsWith('ws-') ? [id.slice('ws-'.length)] : []));
  const found = roots.length === 0 ? [] : await db.rows(findPaths(tenantId, roots));
  const paths = new Map(found.map(({ id, path }) => [id, path]));
  return ids.flatMap((id): Resource[] => {
    const root = id.startsWith('ws-') ? id.slice('ws-'.length) : null;
    if (root === null ? id !== `tenant-${tenantId}` : !paths.has(root)) return [];
    const object = nameOf({ type: 'memory_namespace', id });
    const own = { object, relation: 'workspace', subject: placeName(root, tenantId) };
    const relations = { tenantId, paths };
    return [{ type: 'memory_namespace', id, tuples: bounded([own, ...workspaceTuples(root, relations)]) }];
  });
}

/** The caller's identity comes from the token; other identities are looked up. */
async function identitiesOf(
  db: Db,
  { tenantId, principalId, iamPrincipalId }: Caller,
  people: readonly (string | null)[],
): Promise<Map<string, string>> {
  const others = present(people).filter((id) => id !== principalId);
  const found = others.length === 0 ? [] : await db.rows(findIdentities(tenantId, others));
  const identities = new Map(found.map((row) => [row.principal_id, row.iam_principal_id]));
  if (iamPrincipalId !== null) identities.set(principalId, iamPrincipalId);
  return identities;
}

interface Relations {
  readonly tenantId: string;
  readonly tasks: ReadonlyMap<string, PlacedTaskRow>;
  readonly paths: ReadonlyMap<string, readonly string[]>;
  readonly identities: ReadonlyMap<string, string>;
}

function chainOf(kind: Kind, anchor: AnchorRow, relations: Relations): Resource[] {
  const task = anchor.task_id === null ? undefined : relations.tasks.get(anchor.task_id);
  if (kind === 'task' && task === undefined) return [];
  const workspaceId = task === undefined ? anchor.workspace_id : task.workspace_id;
  const above = workspaceTuples(workspaceId, relations);
  const chain: Resource[] = [];
  const type = typeOf[kind];
  const ofTask = task === undefined ? [] : taskTuples(task, relations);
  if (type !== undefined) {
    const object = nameOf({ type, id: anchor.id });
    const own = [
      filedIn(object, type, anchor, relations),
      ...personTuple(object, relationOf[kind] ?? '', anchor.person_id, relations),
    ];
    chain.push({ type, id: anchor.id, tuples: bounded([...own, ...ofTask, ...above]) });
  }
  if (task !== undefined) chain.push({ type: 'task', id: task.id, tuples: bounded([...ofTask, ...above]) });
  if (workspaceId !== null) chain.push({ type: 'workspace', id: workspaceId, tuples: bounded(above) });
  return chain;
}

/** Parts of a task belong to the task; other objects are filed in a workspace or in the tenant itself. */
function filedIn(
  object: string,
  type: ResourceType,
  { task_id: taskId, workspace_id: workspaceId }: AnchorRow,
  { tenantId, tasks }: Relations,
): Tuple {
  if (taskId !== null && type !== 'approval') return { object, relation: 'task', subject: `task:${taskId}` };
  const ofTask = taskId === null ? null : (tasks.get(taskId)?.workspace_id ?? null);
  return { object, relation: 'workspace', subject: placeName(ofTask ?? workspaceId, tenantId) };
}

function taskTuples(task: PlacedTaskRow, relations: Relations): Tuple[] {
  const object = `task:${task.id}`;
  return [
    { object, relation: 'workspace', subject: placeName(task.workspace_id, relations.tenantId) },
    ...personTuple(object, 'owner', task.owner_id, relations),
    ...personTuple(object, 'requested_by', task.created_by, relations),
    ...personTuple(object, 'assignee', task.assignee_id, relations),
  ];
}

/** Each workspace with its parent, the nearest first. */
function workspaceTuples(
  workspaceId: string | null,
  { paths, tenantId }: Pick<Relations, 'paths' | 'tenantId'>,
): Tuple[] {
  const path = workspaceId === null ? [] : (paths.get(workspaceId) ?? []);
  return path
    .map((id, depth) => ({
      object: `workspace:${id}`,
      relation: 'parent',
      subject: placeName(path[depth - 1] ?? null, tenantId),
    }))
    .reverse();
}

function personTuple(
  object: string,
  relation: string,
  principalId: string | null,
  { identities }: Relations,
): Tuple[] {
  const identity = principalId === null ? undefined : identities.get(principalId);
  return identity === undefined ? [] : [{ object, relation, subject: `principal:${identity}` }];
}

const placeName = (workspaceId: string | null, tenantId: string) =>
  workspaceId === null ? `tenant:${tenantId}` : `workspace:${workspaceId}`;

const bounded = (tuples: readonly Tuple[]) => tuples.slice(0, tuplesMax);

const present = (ids: readonly (string | null)[]) => [...new Set(ids.filter((id) => id !== null))];
