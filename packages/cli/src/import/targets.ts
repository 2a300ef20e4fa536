import { type BatonClient, BatonError, type TaskType } from '@baton/sdk';
import { World } from '../apply/world.ts';
import { exitCodes } from '../error-text.ts';
import { findWorkspaceId } from '../names.ts';
import { PlainError } from '../plain-error.ts';
import type { Source, SourceItem } from './source.ts';

/** The workspace, types and assignees for an import. */
export interface Targets {
  /** The principal for a name in the source. */
  assigneeIdOf(name: string): string | undefined;
  /** The task type of an item; undefined for the default one. */
  typeOf(item: Pick<SourceItem, 'typeKey'>): TaskType;
  workspaceIdOf(item: Pick<SourceItem, 'workspace'>): string | undefined;
}

export interface TargetOptions {
  readonly workspace?: string;
  readonly type?: string;
  /** Maps names in the source to ids, `me`, or `agent:KEY`. */
  readonly people: ReadonlyMap<string, string>;
}

const defaultTypeKey = 'task';
const assigneeForm = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|agent:.{1,200})$/i;

/** Reads the targets of a source. @throws PlainError for an unknown type, workspace or person */
export async function findTargets(
  baton: BatonClient,
  source: Source,
  options: TargetOptions,
): Promise<Targets> {
  const types = await typesOf(baton, options);
  if (options.type === undefined) reportTypes(types, source);
  const workspace = options.workspace && (await findWorkspaceId(baton, options.workspace));
  const workspaces = await workspacesOf(baton, source, { ...options, ...(workspace && { workspace }) });
  const people = await peopleOf(baton, source, options);
  const fallback = types.get(options.type ?? defaultTypeKey) as TaskType;
  return {
    assigneeIdOf: (name) => people.get(name),
    typeOf: ({ typeKey }) => (options.type === undefined ? types.get(typeKey ?? '') : undefined) ?? fallback,
    workspaceIdOf: (item) => workspace ?? workspaces.get(item.workspace ?? ''),
  };
}

/** Active types in their latest version. */
async function typesOf(
  baton: BatonClient,
  { type = defaultTypeKey }: TargetOptions,
): Promise<Map<string, TaskType>> {
  const found = new Map<string, TaskType>();
  for await (const one of baton.taskTypes.list({ status: 'active', limit: 200 })) {
    if ((found.get(one.key)?.version ?? 0) < one.version) found.set(one.key, one);
  }
  if (!found.has(type))
    throw new PlainError(`There is no task type ${type} here; there are: ${[...found.keys()].join(', ')}.`, {
      exitCode: exitCodes.usage,
    });
  return found;
}

async function workspacesOf(
  baton: BatonClient,
  { items, leftOut }: Source,
  { workspace }: TargetOptions,
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  if (workspace !== undefined) {
    await baton.workspaces.get(workspace);
    return found;
  }
  const world = new World(baton);
  for (const item of items) {
    const { workspace: path } = item;
    if (path === undefined) continue;
    if (!found.has(path)) {
      const here = await world.workspace(path);
      if (here !== undefined) found.set(path, here.id);
    }
    if (!found.has(path)) leftOut.add('workspace does not exist here: the task gets none', path);
  }
  return found;
}

function reportTypes(types: ReadonlyMap<string, TaskType>, { items, leftOut }: Source): void {
  for (const { typeKey } of items)
    if (typeKey !== undefined && !types.has(typeKey))
      leftOut.add(`task type does not exist here: the task gets the type ${defaultTypeKey}`, typeKey);
}

/** First the mapped names, then those that equal the display name of exactly one principal. */
async function peopleOf(
  baton: BatonClient,
  { items, leftOut }: Source,
  { people }: TargetOptions,
): Promise<Map<string, string>> {
  const names = new Set(items.flatMap(({ assignee }) => assignee ?? []));
  const found = new Map<string, string>();
  if (names.size === 0) return found;
  const named = await principalsByName(baton);
  for (const name of names) {
    const given = people.get(name);
    const id =
      given === 'me' ? (await baton.harness.getContext()).principal.id : (given ?? idIn(named, name));
    if (id === undefined) continue;
    const known = assigneeForm.test(id) ? id : idIn(named, id);
    if (known === undefined)
      throw new PlainError(
        `${name} is mapped to ${id}, which is not a principal's id or name, agent:KEY or me.`,
        {
          exitCode: exitCodes.usage,
        },
      );
    found.set(name, known);
  }
  for (const { assignee } of items)
    if (assignee !== undefined && !found.has(assignee))
      leftOut.add('assignee is unknown here: map names with --people', assignee);
  return found;
}

const idIn = (named: ReadonlyMap<string, string | undefined>, name: string) => named.get(name.toLowerCase());

/** Active principals by their display name; an ambiguous name is skipped. */
async function principalsByName(baton: BatonClient): Promise<Map<string, string | undefined>> {
  const found = new Map<string, string | undefined>();
  try {
    for await (const { id, displayName, status } of baton.principals.list({ limit: 200 })) {
      if (status !== 'active') continue;
      const name = displayName.toLowerCase();
      found.set(name, found.has(name) ? undefined : id);
    }
  } catch (error) {
    // Without the permission to read principals, names have to be mapped.
    if (!(error instanceof BatonError) || error.status !== 403) throw error;
  }
  return found;
}
