import { z } from 'zod';
import { humanOnlyPermissions, isCovered, type Permission, permissionNames } from '../service/permissions.ts';
import { type ViewerContext, viewerOf } from '../service/sight/sight.ts';
import { fail } from './errors.ts';

const known: ReadonlySet<string> = new Set(permissionNames);

/** Permission names in a request; `parsePermissions` refuses unknown ones with 422. */
export const PermissionList = z.array(z.string().min(1).max(100)).max(200);

/**
 * Validates permission names and returns each once, in alphabetical order.
 * @throws Refusal `invalid_permissions` with the unknown names
 */
export function parsePermissions(names: readonly string[]): Permission[] {
  const unknown = [...new Set(names.filter((name) => !known.has(name)))];
  if (unknown.length > 0) fail('invalid_permissions', { unknown });
  return [...new Set(names as readonly Permission[])].sort();
}

/**
 * Refuses to grant permissions that the caller's credential lacks. Names are compared, because names are granted, even
 * if a decision point authorizes the caller.
 * @throws Refusal `permission_escalation` with the missing permissions
 */
export function refuseEscalation(held: ReadonlySet<string>, granted: readonly string[]): void {
  const missing = granted.filter((name) => !isCovered(held, name as Permission));
  if (missing.length > 0) fail('permission_escalation', { missing });
}

/**
 * Refuses to add permissions that apply in the whole tenant, if the caller has them only in what the caller sees.
 * @throws Refusal `visibility_escalation`
 */
export async function refuseWiderSight(
  context: ViewerContext,
  before: readonly string[],
  after: readonly string[],
): Promise<void> {
  const isAdded = after.some((name) => !before.includes(name));
  if (isAdded && (await viewerOf(context)) !== null) fail('visibility_escalation');
}

/**
 * Refuses `admin` and `approvals.decide` for agents and services.
 * @throws Refusal `permissions_not_allowed_for_kind`
 */
export function refuseForKind(kind: 'human' | 'agent' | 'service', granted: readonly Permission[]): void {
  const forbidden = kind === 'human' ? [] : granted.filter((name) => humanOnlyPermissions.includes(name));
  if (forbidden.length > 0) fail('permissions_not_allowed_for_kind', { kind, forbidden });
}
