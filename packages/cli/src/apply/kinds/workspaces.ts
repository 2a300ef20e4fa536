import type { Project, Workspace } from '@baton/sdk';
import { invocation } from '../../../../../bin/invocation.mjs';
import { PlainError } from '../../plain-error.ts';
import { buildPatch, type Change, differences, type Planning, unchanged } from '../change.ts';
import type { Declared } from '../documents.ts';
import { checkForm, type Form } from '../form.ts';
import type { JsonObject } from '../yaml-documents.ts';
import { created } from './named.ts';

const workspaceForm: Form = {
  fields: { name: 'text', description: 'text', type: 'text', customFields: 'object', taskTypes: 'texts?' },
  required: ['name'],
};

/** A workspace is identified by its path: the slugs, starting at the root. */
export async function planWorkspace(planning: Planning, document: Declared): Promise<Change> {
  const { baton, world, problems } = planning;
  const { key: path, spec } = document;
  checkForm(document, workspaceForm, problems);
  const [parent, slug] = splitPath(path);
  const { type, ...rest } = spec;
  const found = await world.workspace(path);
  if (parent !== undefined && !(await isThere(planning, parent)))
    problems.add(document, '/key', `there is no workspace ${parent}, here or in the files.`);
  if (typeof type === 'string') await requireType(planning, document, type);
  if (found === undefined)
    return {
      document,
      action: 'create',
      fields: created(spec),
      async carryOut() {
        const parentId = parent === undefined ? {} : { parentId: await idOfWorkspace(planning, parent) };
        const typeKey = type === undefined ? {} : { typeKey: type as string };
        const { taskTypes, ...given } = rest;
        const body = { ...(given as { name: string }), ...parentId, ...typeKey, slug };
        const made = await baton.workspaces.create(body);
        if (taskTypes !== undefined)
          await baton.workspaces.update(
            made.id,
            { taskTypes: taskTypes as string[] },
            { ifMatch: `"workspace-${made.version}"` },
          );
      },
    };
  requireActive(planning, document, found);
  const current = { ...found, ...(await typeOf(planning, found)) } as unknown as JsonObject;
  const fields = differences(spec, current);
  if (fields.length === 0) return unchanged(document);
  return {
    document,
    action: 'change',
    fields,
    async carryOut() {
      const { type: typeKey, ...patch } = buildPatch(spec, current);
      const body = { ...patch, ...(typeKey !== undefined && { typeKey: typeKey as string }) };
      await baton.workspaces.update(found.id, body, { ifMatch: `"workspace-${found.version}"` });
    },
  };
}

function splitPath(path: string): [parent: string | undefined, slug: string] {
  const at = path.lastIndexOf('/');
  return at < 0 ? [undefined, path] : [path.slice(0, at), path.slice(at + 1)];
}

async function isThere({ world, declared }: Planning, path: string): Promise<boolean> {
  if (declared.some(({ kind, key }) => kind === 'Workspace' && key === path)) return true;
  return (await world.workspace(path)) !== undefined;
}

async function requireType(
  { world, declared, problems }: Planning,
  document: Declared,
  type: string,
): Promise<void> {
  if (declared.some(({ kind, key }) => kind === 'WorkspaceType' && key === type)) return;
  if ((await world.workspaceType(type)) === undefined)
    problems.add(document, '/spec/type', `there is no workspace type ${type}, here or in the files.`);
}

/** The workspace's type by key; only if types may be read and the file has one. */
async function typeOf({ world, declared }: Planning, { typeId }: Workspace): Promise<{ type?: string }> {
  if (!declared.some(({ kind, spec }) => kind === 'Workspace' && 'type' in spec)) return {};
  const type = await world.workspaceType(typeId);
  return type === undefined ? {} : { type: type.key };
}

function requireActive({ problems }: Planning, document: Declared, { status }: Workspace | Project): void {
  if (status === 'archived')
    problems.add(
      document,
      '/key',
      `it is archived: restore it first (${invocation()} api POST /…/ID:restore).`,
    );
}

/** @throws PlainError if it was deleted since the plan */
async function idOfWorkspace({ world }: Planning, path: string): Promise<string> {
  const found = await world.workspace(path);
  if (found === undefined) throw new PlainError(`The workspace ${path} no longer exists. Apply again.`);
  return found.id;
}

const projectForm: Form = {
  fields: {
    template: 'text',
    templateVersion: 'number',
    status: 'text',
    owner: 'text?',
    startDate: 'text?',
    targetDate: 'text?',
    customFields: 'object',
    settings: 'object',
  },
  required: ['template'],
};

/** A project is identified by the path of its workspace, which has at most one. */
export async function planProject(planning: Planning, document: Declared): Promise<Change> {
  const { world, declared, problems } = planning;
  const { key: path, spec } = document;
  checkForm(document, projectForm, problems);
  if (!(await isThere(planning, path)))
    problems.add(document, '/key', `there is no workspace ${path}: declare it as a Workspace, too.`);
  await requireTemplate(planning, document);
  const { owner } = spec;
  if (
    typeof owner === 'string' &&
    !declared.some(({ kind, key }) => kind === 'Principal' && key === owner) &&
    (await world.principalByKeyOrId(owner)) === undefined
  )
    problems.add(
      document,
      '/spec/owner',
      `no principal ${owner} exists in Baton (by key or id) or in the files.`,
    );
  const workspace = await world.workspace(path);
  const found = workspace && (await world.project(workspace.id));
  if (found === undefined)
    return {
      document,
      action: 'create',
      fields: created(spec),
      carryOut: () => createProject(planning, document),
    };
  requireActive(planning, document, found);
  const { templateKey: template, statusKey: status, ...rest } = found;
  const ownerKey = await ownerOf(planning, found, owner);
  const current = { ...rest, template, status, owner: ownerKey } as unknown as JsonObject;
  const fields = differences(spec, current);
  if (fields.length === 0) return unchanged(document);
  return {
    document,
    action: 'change',
    fields,
    carryOut: () => changeProject(planning, found, buildPatch(spec, current)),
  };
}

async function requireTemplate({ baton, declared, problems }: Planning, document: Declared): Promise<void> {
  const { template: key } = document.spec;
  if (typeof key !== 'string' || declared.some((one) => one.kind === 'ProjectTemplate' && one.key === key))
    return;
  const { items } = await baton.projectTemplates.list({ key, status: 'active', limit: 1 });
  if (items.length === 0)
    problems.add(document, '/spec/template', `there is no project template ${key}, here or in the files.`);
}

/** The owner, by its name in the files or otherwise by its key or id. */
async function ownerOf(
  { world }: Planning,
  { ownerPrincipalId: id }: Project,
  wanted: unknown,
): Promise<string | null> {
  if (id === null || wanted === undefined) return id;
  const named = typeof wanted === 'string' ? await world.principalByKeyOrId(wanted) : undefined;
  return named?.id === id ? (wanted as string) : id;
}

async function idOfOwner({ world }: Planning, owner: unknown): Promise<string | null> {
  if (typeof owner !== 'string') return null;
  const found = await world.principalByKeyOrId(owner);
  if (found === undefined) throw new PlainError(`The principal ${owner} no longer exists. Apply again.`);
  return found.id;
}

async function createProject(planning: Planning, { key: path, spec }: Declared): Promise<void> {
  const { template, status, owner, ...rest } = spec;
  const workspaceId = await idOfWorkspace(planning, path);
  await planning.baton.projects.create({
    ...rest,
    workspaceId,
    templateKey: template as string,
    ...(status !== undefined && { statusKey: status as string }),
    ...(owner !== undefined && { ownerPrincipalId: await idOfOwner(planning, owner) }),
  });
}

/** Writes the fields, then the status; if apply is killed between them, the next apply writes the status. */
async function changeProject(planning: Planning, found: Project, patch: JsonObject): Promise<void> {
  const { projects } = planning.baton;
  const { status, owner, template, templateVersion, ...rest } = patch;
  const isTemplate = template !== undefined || templateVersion !== undefined;
  const ownerPrincipalId = owner === undefined ? undefined : await idOfOwner(planning, owner);
  const body = {
    ...rest,
    ...(ownerPrincipalId != null && { ownerPrincipalId }),
    ...(ownerPrincipalId === null && { clearOwner: true }),
    ...(isTemplate && { templateKey: (template ?? found.templateKey) as string }),
    ...(templateVersion !== undefined && { templateVersion: templateVersion as number }),
  };
  let { version } = found;
  if (Object.keys(body).length > 0)
    ({ version } = await projects.update(found.id, body, { ifMatch: `"project-${version}"` }));
  if (status !== undefined)
    await projects.transition(found.id, { statusKey: status as string }, { ifMatch: `"project-${version}"` });
}
