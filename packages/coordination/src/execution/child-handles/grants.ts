import { delegatedRights } from '../../leases/delegated/delegated-rights.ts';
import { holds, type Permission, permissionNames } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { NewChild } from './child-handle.ts';
import { findAssigned } from './child-handles.sql.ts';

/** The three kinds of rights of a run. */
export interface Grant {
  readonly permissions: readonly string[];
  readonly capabilities: readonly string[];
  readonly skills: readonly string[];
}

const entriesMax = 100;
const entryCharactersMax = 200;
const known: ReadonlySet<string> = new Set(permissionNames);
const kinds = ['permissions', 'capabilities', 'skills'] as const;

/** @throws Refusal `invalid_child_grant` */
export function checkGrant(asked: NewChild['grant']): void {
  for (const kind of kinds) {
    const names = asked?.[kind] ?? [];
    if (names.length > entriesMax) fail('invalid_child_grant', { field: kind, maxItems: entriesMax });
    if (names.some((name) => name.trim() === '' || name.length > entryCharactersMax))
      fail('invalid_child_grant', { field: kind, maxLength: entryCharactersMax });
  }
  const unknown = (asked?.permissions ?? []).filter((name) => !known.has(name));
  if (unknown.length > 0) fail('invalid_child_grant', { field: 'permissions', unknown });
}

/** The maximum number of capabilities or skills that are inherited implicitly, in alphabetical order. */
const inheritedMax = 1000;

/**
 * The ceiling of a run: the rights that its own handle grants or, if it was not launched, those of its principal. A
 * delegation that restricts the session restricts the permissions in both cases.
 * @param own the handle by which the run was launched
 */
export async function findGrantCeiling(
  context: Context,
  runId: string,
  own: Grant | undefined,
): Promise<Grant> {
  const { permissions, capabilities, skills } = own ?? (await assignedTo(context));
  const delegated = await delegatedRights(context, { runId });
  const allowed = delegated === undefined ? permissions : intersection(permissions, delegated.permissions);
  return { permissions: allowed, capabilities, skills };
}

/**
 * The caller's permissions under this request's credential, its capabilities, and its enabled skills as `name@version`.
 */
async function assignedTo({ db, tenantId, caller }: Context): Promise<Grant> {
  const { capabilities = [], skills = [] } =
    (await db.row(findAssigned(tenantId, caller.principalId, inheritedMax))) ?? {};
  return { permissions: [...caller.permissions], capabilities, skills };
}

/** The entries that both lists cover; `admin` covers all entries. */
function intersection(left: readonly string[], right: readonly string[]): string[] {
  const [held, allowed] = [new Set(left), new Set(right)];
  return [...new Set([...left, ...right])].filter(
    (name) => holds(held, name as Permission) && holds(allowed, name as Permission),
  );
}

/**
 * Computes the rights of a child: the requested ones, and for each omitted kind all rights of its parent.
 * @throws Refusal `child_grant_exceeds_parent` with the rights that the parent lacks
 */
export function narrowGrant(ceiling: Grant, asked: NewChild['grant']): Grant {
  const held = new Set(ceiling.permissions);
  const excess = {
    permissions: (asked?.permissions ?? []).filter((name) => !holds(held, name as Permission)),
    capabilities: (asked?.capabilities ?? []).filter((name) => !ceiling.capabilities.includes(name)),
    skills: (asked?.skills ?? []).filter((name) => !ceiling.skills.includes(name)),
  };
  if (kinds.some((kind) => excess[kind].length > 0)) fail('child_grant_exceeds_parent', { excess });
  const granted = (kind: (typeof kinds)[number]) => [...new Set(asked?.[kind] ?? ceiling[kind])].sort();
  return {
    permissions: granted('permissions'),
    capabilities: granted('capabilities'),
    skills: granted('skills'),
  };
}
