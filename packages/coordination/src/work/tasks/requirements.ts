import { z } from 'zod';
import { newId } from '@baton/values/ids';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { RemovedRequirement } from './protection/protection.ts';
import {
  findRequirementItems,
  findSubjects,
  type RequirementItem,
  type RequirementItemRow,
  upsertRequirementSet,
} from './requirements.sql.ts';

export type { RequirementItemRow };

const namesMax = 50;
/**
 * Longer than any of the forms below allows, because a name that doesn't match its form has an error code of its own.
 */
const nameCharactersMax = 1000;
const roleForm = /^[a-z0-9][a-z0-9-]{1,62}$/;
const capabilityForm = /^.{1,200}$/su;
const skillForm = /^[^@]{1,200}(@[^@]{1,50})?$/u;
/** How often the lookup of a set that a concurrent command is storing is retried. */
const attemptsMax = 3;

/** Roles, capabilities and skills that an executor must all have (docs/reference/skills.md#eligibility). */
export const RequirementsInput = z.strictObject({
  roles: z.array(z.string().max(nameCharactersMax)).max(namesMax).default([]),
  capabilities: z.array(z.string().max(nameCharactersMax)).max(namesMax).default([]),
  skills: z.array(z.string().max(nameCharactersMax)).max(namesMax).default([]),
});
export type RequirementNames = z.output<typeof RequirementsInput>;

/**
 * The set of requirements with these names, for a task in a workspace; null without requirements. The slug of a role is
 * looked up from the workspace upward, and last among the tenant's roles. A skill without a version matches any
 * assigned version.
 * @throws Refusal `invalid_requirement` for a malformed name, `unknown_requirement` for an unknown one
 */
export async function resolveRequirements(
  context: Context,
  names: RequirementNames,
  workspaceId: string | null,
): Promise<string | null> {
  const asked = askedOf(names);
  if (asked.length === 0) return null;
  const subjects = await context.db.rows(findSubjects(context.tenantId, workspaceId, asked));
  const items: RequirementItem[] = asked.map(({ kind, name, version }, index) => {
    const subjectId = subjects[index]?.subject_id;
    if (subjectId == null)
      return fail('unknown_requirement', { [kind]: version === null ? name : `${name}@${version}` });
    return { kind, subjectId, anyVersionOf: kind === 'skill' && version === null ? name : null };
  });
  return storeSet(context, items, workspaceId);
}

/** The role with this slug in a workspace, looked up as for requirements; undefined if there is none. */
export async function findRoleOfSlug(
  { db, tenantId }: Context,
  slug: string,
  workspaceId: string | null,
): Promise<string | undefined> {
  const [found] = await db.rows(
    findSubjects(tenantId, workspaceId, [{ kind: 'role', name: slug, version: null }]),
  );
  return found?.subject_id ?? undefined;
}

/** The names in the order of their fields, without duplicates. */
function askedOf({ roles, capabilities, skills }: RequirementNames) {
  const named = [
    ...[...new Set(roles)].map((name) => ({ kind: 'role' as const, name, form: roleForm })),
    ...[...new Set(capabilities)].map((name) => ({
      kind: 'capability' as const,
      name,
      form: capabilityForm,
    })),
    ...[...new Set(skills)].map((name) => ({ kind: 'skill' as const, name, form: skillForm })),
  ];
  for (const { kind, name, form } of named)
    if (!form.test(name)) fail('invalid_requirement', { field: kind });
  return named.map(({ kind, name }) => {
    const at = kind === 'skill' ? name.indexOf('@') : -1;
    return at < 0
      ? { kind, name, version: null }
      : { kind, name: name.slice(0, at), version: name.slice(at + 1) };
  });
}

async function storeSet(
  { db, tenantId }: Context,
  items: readonly RequirementItem[],
  workspaceId: string | null,
): Promise<string> {
  // Only roles depend on the workspace, so a set without roles is shared by tasks of all workspaces.
  const place = items.some(({ kind }) => kind === 'role') ? workspaceId : null;
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const row = await db.row(upsertRequirementSet({ id: newId(), tenantId, workspaceId: place, items }));
    if (row !== undefined) return row.id;
  }
  throw new Error('a set of requirements was neither stored nor found');
}

/** The requirements of a task, with the names used in request bodies; null means none. */
export async function namesOfRequirements(context: Context, setId: string | null): Promise<RequirementNames> {
  return namesOf(await itemsOfRequirements(context, setId));
}

/**
 * @param lackedBy only the requirements that this principal lacks; null for all requirements
 */
export async function itemsOfRequirements(
  { db, tenantId }: Context,
  setId: string | null,
  lackedBy: string | null = null,
): Promise<RequirementItemRow[]> {
  return setId === null ? [] : db.rows(findRequirementItems(tenantId, setId, lackedBy));
}

export function namesOf(items: readonly RequirementItemRow[]): RequirementNames {
  const named = (wanted: RequirementItem['kind']) => items.filter(({ kind }) => kind === wanted).map(nameOf);
  return { roles: named('role'), capabilities: named('capability'), skills: named('skill') };
}

/** `name@version` of a skill that is required in a specific version. */
function nameOf({ kind, name, version, any_version }: RequirementItemRow): string {
  return kind === 'skill' && !any_version ? `${name}@${version}` : name;
}

/** The authors of the requirements of a new task, by keys such as `role:reviewer`. */
export function authorsOfRequirements(names: RequirementNames, author: string): Record<string, string> {
  const { roles, capabilities, skills } = names;
  const keys = [
    ...roles.map((name) => `role:${name}`),
    ...capabilities.map((name) => `capability:${name}`),
    ...skills.map((name) => `skill:${name}`),
  ];
  return Object.fromEntries(keys.map((key) => [key, author]));
}

/**
 * The effect of replacing a task's set of requirements. Names that the new set lacks are removed, and so is a role if
 * the new set has a different role with the same slug. Added requirements get the caller as their author; kept ones
 * keep their author.
 */
export async function changeOfRequirements(
  context: Context,
  before: { requirement_set_id: string | null; requirement_authors: Readonly<Record<string, string>> },
  setIdAfter: string | null,
): Promise<{ taken: RemovedRequirement[]; authors: Record<string, string> }> {
  const { requirement_set_id: setId, requirement_authors: authors } = before;
  if (setId === setIdAfter) return { taken: [], authors: { ...authors } };
  const [old, now] = [
    await itemsOfRequirements(context, setId),
    await itemsOfRequirements(context, setIdAfter),
  ];
  const subjectOf = (item: RequirementItemRow) => (item.kind === 'role' ? item.subject_id : '');
  const kept = new Map(now.map((item) => [keyOf(item), subjectOf(item)]));
  const taken = old
    .filter((item) => kept.get(keyOf(item)) !== subjectOf(item))
    .map((item) => ({ key: keyOf(item), addedBy: authors[keyOf(item)] ?? null }));
  const known = new Set(old.map(keyOf));
  const entries = now.map(keyOf).flatMap((key): [string, string][] => {
    const author = known.has(key) ? authors[key] : context.caller.principalId;
    return author === undefined ? [] : [[key, author]];
  });
  return { taken, authors: Object.fromEntries(entries) };
}

function keyOf(item: RequirementItemRow): string {
  return `${item.kind}:${nameOf(item)}`;
}

/**
 * The set after the requirements or the workspace have changed: a moved task gets the role that has the same slug in
 * the new workspace (docs/reference/relations.md#requirements).
 * @param change the new requirements; undefined to keep the current ones
 * @throws Refusal `invalid_requirement`, `unknown_requirement`
 */
export async function requirementsAfter(
  context: Context,
  before: { requirement_set_id: string | null; workspace_id: string | null },
  change: RequirementNames | undefined,
  workspaceId: string | null,
): Promise<string | null> {
  if (change !== undefined) return resolveRequirements(context, change, workspaceId);
  const { requirement_set_id: setId } = before;
  if (setId === null || workspaceId === before.workspace_id) return setId;
  const items = await itemsOfRequirements(context, setId);
  const { roles } = namesOf(items);
  if (roles.length === 0) return setId;
  const asked = roles.map((name) => ({ kind: 'role' as const, name, version: null }));
  const found = await context.db.rows(findSubjects(context.tenantId, workspaceId, asked));
  const moved = items.map(({ kind, subject_id, name, any_version }, index): RequirementItem => {
    // Roles come first, in the order of the request.
    const subjectId = kind === 'role' ? found[index]?.subject_id : subject_id;
    if (subjectId == null) return fail('unknown_requirement', { role: name });
    return { kind, subjectId, anyVersionOf: any_version ? name : null };
  });
  return storeSet(context, moved, workspaceId);
}
