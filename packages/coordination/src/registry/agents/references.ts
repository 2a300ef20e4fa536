import { Refusal } from '@baton/kernel/http/refusal';
import { Uuid } from '@baton/values/wire';
import { getProjectRow } from '../../organisation/projects/projects.ts';
import { findPinnedSkills } from '../../organisation/skills/skills.ts';
import { getWorkspaceRow } from '../../organisation/workspaces/workspaces.ts';
import { findConnectionKeys } from '../connections/assigned.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { AgentGrants } from './agent.ts';
import type { AgentSpec } from './agent-spec.ts';
import {
  findCapabilitiesOfNames,
  findRolesOfTenant,
  findTypesOfKeys,
  findWorkspacesOfSlug,
} from './references.sql.ts';

/** The objects that the names in a spec resolve to. */
export interface SpecReferences {
  readonly grants: AgentGrants;
  /** The workspace of the agent, or that of its project. */
  readonly workspaceId: string | null;
}

/**
 * Resolves the names in a spec, in the order of the refusals; objects that the caller may not see count as missing. See
 * docs/reference/agents.md#publish.
 * @throws Refusal `unknown_reference` {path, value}, `skill_disabled`, `skills_invoke_not_permitted`,
 * `execution_skill_not_invoked`
 */
export async function requireSpecReferences(context: Context, spec: AgentSpec): Promise<SpecReferences> {
  const { db, tenantId } = context;
  const { roles, capabilities } = spec.identity;
  const foundRoles = await db.rows(findRolesOfTenant(tenantId, roles));
  const roleIds = idsOf('/identity/roles', roles, new Map(foundRoles.map(({ slug, id }) => [slug, id])));
  const foundCapabilities = await db.rows(findCapabilitiesOfNames(tenantId, capabilities));
  const known = new Map(foundCapabilities.map(({ name, id }) => [name, id]));
  const capabilityIds = idsOf('/identity/capabilities', capabilities, known);
  const skillIds = await requireSkills(context, spec);
  const connections = await findConnectionKeys(context, spec.connections);
  const missing = spec.connections.findIndex((key) => !connections.has(key));
  if (missing >= 0) unknown(`/connections/${missing}`, spec.connections[missing] as string);
  const workspaceId = await requirePlaceOfWork(context, spec);
  await requireTaskTypes(context, spec);
  return { grants: { roleIds, capabilityIds, skillIds }, workspaceId };
}

function idsOf(path: string, names: readonly string[], ids: ReadonlyMap<string, string>): string[] {
  return names.map((name, index) => ids.get(name) ?? unknown(`${path}/${index}`, name));
}

function unknown(path: string, value: string): never {
  return fail('unknown_reference', { path, value });
}

async function requireSkills(context: Context, { identity, skills }: AgentSpec): Promise<string[]> {
  const invoke = skills?.invoke ?? [];
  const found = await findPinnedSkills(context, invoke);
  const pinned = invoke.map((skill, index) => found.get(skill) ?? unknown(`/skills/invoke/${index}`, skill));
  const disabled = pinned.findIndex(({ obstacle }) => obstacle === 'disabled');
  if (disabled >= 0)
    fail('skill_disabled', { path: `/skills/invoke/${disabled}`, skill: invoke[disabled] as string });
  if (invoke.length > 0 && !identity.permissions.includes('skills.invoke'))
    fail('skills_invoke_not_permitted', { path: '/skills/invoke' });
  return pinned.map(({ id }) => id);
}

async function requirePlaceOfWork(context: Context, { work }: AgentSpec): Promise<string | null> {
  const { workspace, project } = work ?? {};
  const workspaceId = workspace === undefined ? null : await requireWorkspace(context, workspace);
  if (project === undefined) return workspaceId;
  const found = await unlessAbsent(getProjectRow(context, project));
  if (found === undefined) return unknown('/work/project', project);
  return workspaceId ?? found.workspace_id;
}

/** An active workspace. A slug is accepted if it is unique in the tenant. */
async function requireWorkspace(context: Context, workspace: string): Promise<string> {
  const isId = Uuid.safeParse(workspace).success;
  const found = isId
    ? [{ id: workspace }]
    : await context.db.rows(findWorkspacesOfSlug(context.tenantId, workspace));
  const [only, ...others] = found;
  const row =
    only === undefined || others.length > 0
      ? undefined
      : await unlessAbsent(getWorkspaceRow(context, only.id));
  return row?.status === 'active' ? row.id : unknown('/work/workspace', workspace);
}

async function unlessAbsent<Row>(reading: Promise<Row>): Promise<Row | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** A type whose tasks are executed by a skill requires the right to call that skill. */
async function requireTaskTypes(context: Context, { work, skills }: AgentSpec): Promise<void> {
  const keys = work?.taskTypes ?? [];
  if (keys.length === 0) return;
  const rows = await context.db.rows(findTypesOfKeys(context.tenantId, keys));
  const types = new Map(rows.map(({ key, skill }) => [key, { skill }]));
  const invoked = new Set(skills?.invoke);
  const found = keys.map((key, index) => {
    const path = `/work/taskTypes/${index}`;
    return { ...(types.get(key) ?? unknown(path, key)), key, path };
  });
  for (const { skill, key, path } of found)
    if (skill !== null && !invoked.has(skill))
      fail('execution_skill_not_invoked', { path, taskType: key, skill });
}
