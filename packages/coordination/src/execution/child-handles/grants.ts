import { delegatedRights } from '../../leases/delegated/delegated-rights.ts';
import { holds, type Permission, permissionNames } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { NewChild } from './child-handle.ts';
import { findAssigned } from './child-handles.sql.ts';

/** What a run may do, by the three kinds of rights. */
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

/** Capabilities, and skills, that are inherited without being named; of more than that the first by name. */
const inheritedMax = 1000;

/**
 * The ceiling of a run: what its own handle grants or, where nobody launched it, what its principal has. A delegation that
 * narrows its session narrows the permissions of both.
 * @param own the handle that the run was launched by
 */
export async function ceilingOf(context: Context, runId: string, own: Grant | undefined): Promise<Grant> {
  const { permissions, capabilities, skills } = own ?? (await assignedTo(context));
  const delegated = await delegatedRights(context, { runId });
  const allowed = delegated === undefined ? permissions : intersection(permissions, delegated.permissions);
  return { permissions: allowed, capabilities, skills };
}

/**
 * What the caller may do with the credential of this request, the capabilities it has, and its skills as `name@version` but
 * for those that are disabled.
 */
async function assignedTo({ db, tenantId, caller }: Context): Promise<Grant> {
  const { capabilities = [], skills = [] } =
    (await db.row(findAssigned(tenantId, caller.principalId, inheritedMax))) ?? {};
  return { permissions: [...caller.permissions], capabilities, skills };
}

/** What both lists cover; `admin` covers all. */
function intersection(left: readonly string[], right: readonly string[]): string[] {
  const [held, allowed] = [new Set(left), new Set(right)];
  return [...new Set([...left, ...right])].filter(
    (name) => holds(held, name as Permission) && holds(allowed, name as Permission),
  );
}

/**
 * The rights of a child: what is asked for, and of each kind that is left out all that its parent has.
 * @throws Refusal `child_grant_exceeds_parent` that names what the parent lacks
 */
export function narrowedGrant(ceiling: Grant, asked: NewChild['grant']): Grant {
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
