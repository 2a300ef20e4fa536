import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import { requireVersionOf } from '../../service/changes.ts';
import { describePermissions } from '../../service/permissions.ts';
import { lockPrincipal } from '../authn/principal-lock.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type AccessChoice,
  accessMembers,
  hasOneAccess,
  oneAccess,
  resolveAccess,
} from '../grants/granted-access.ts';
import { refuseEscalation, refuseForKind, refuseWiderSight } from '../permission-list.ts';
import { requireAdministrator, takesAdmin } from './administrators.ts';
import { IamBinding, iamBindingOf } from './iam-binding.ts';
import { lockLiveBindings, updateAccessOfBindings } from './iam-bindings.sql.ts';
import { listIamBindings, noteBindingUpdated } from './iam-bindings.ts';

/** What a principal's live bindings allow it to do. */
export const PrincipalAccess = z
  .strictObject({
    principalId: Uuid,
    accessRole: z.string().nullable().meta({
      description: 'The access role of all live bindings; `null` if they have none or not the same one.',
    }),
    permissions: z
      .array(z.string())
      .meta({ description: 'The effective permissions of all live bindings, with those of its role.' }),
    allows: z.array(z.string()).meta({ description: 'What they allow, in words.' }),
    bindings: z.array(IamBinding).meta({ description: 'The bindings that are not revoked, newest first.' }),
    version: z.int().meta({
      description:
        'Derived from role, permissions and status of these bindings: another number after any change of them.',
    }),
  })
  .meta({ id: 'PrincipalAccess' });
export type PrincipalAccess = z.infer<typeof PrincipalAccess>;

export const PrincipalAccessRequest = z
  .strictObject(accessMembers)
  .refine(hasOneAccess, oneAccess)
  .meta({ id: 'PrincipalAccessRequest' });

/** @throws Refusal `not_found` */
export async function getPrincipalAccess(context: Context, principalId: string): Promise<PrincipalAccess> {
  const bindings = await listIamBindings(context, principalId);
  const live = bindings.filter(({ status }) => status !== 'revoked');
  const { accessRole, permissions } = accessOf(live);
  const allows = describePermissions(permissions);
  return { principalId, accessRole, permissions, allows, bindings: live, version: versionOf(live) };
}

const versionBytes = 6;

/**
 * The version of somebody's access. No row has one: bindings are added, moved and revoked one by one, and change with
 * their role, so the version is computed from what an administrator sees and decides about.
 */
function versionOf(bindings: readonly Pick<IamBinding, 'id' | 'status' | 'accessRole' | 'permissions'>[]) {
  const seen = bindings
    .map(({ id, status, accessRole, permissions }) => [id, status, accessRole, ...permissions])
    .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(seen)).digest().readUIntBE(0, versionBytes);
}

/** The role that all bindings of a principal name, and the permissions that they have together. */
function accessOf(bindings: readonly Pick<IamBinding, 'accessRole' | 'permissions'>[]): {
  accessRole: string | null;
  permissions: string[];
} {
  const [role = null, ...others] = new Set(bindings.map(({ accessRole }) => accessRole));
  return { accessRole: others.length === 0 ? role : null, permissions: permissionsIn(bindings) };
}

/**
 * Changes the access of all live bindings of a principal. The caller needs the permissions that it grants and those that
 * the principal has, so that nobody restricts somebody who has more rights. See
 * docs/reference/access.md#change-somebodys-access.
 * @throws Refusal `not_found`, `principal_managed_by_registry`, `invalid_permissions`, `permission_escalation`,
 * `permissions_not_allowed_for_kind`, `principal_not_bound`, `version_conflict`, `visibility_escalation`,
 * `last_administrator`
 */
export async function setPrincipalAccess(
  context: Context,
  principalId: string,
  ifMatch: number,
  choice: AccessChoice,
): Promise<PrincipalAccess> {
  const { db, tenantId, caller } = context;
  const { kind, agent_id: agentId } = await lockPrincipal(context, principalId);
  if (agentId !== null) fail('principal_managed_by_registry', { principalId });
  const access = await resolveAccess(context, kind, choice);
  refuseEscalation(caller.permissions, access.permissions);
  refuseForKind(kind, access.permissions);
  const before = await db.rows(lockLiveBindings(tenantId, principalId));
  if (before.length === 0) fail('principal_not_bound', { principalId });
  const version = versionOf(before.map(iamBindingOf));
  requireVersionOf('principal_access', { id: principalId, version }, ifMatch);
  const held = permissionsIn(before);
  refuseEscalation(caller.permissions, held);
  // All bindings get the permissions, also a wide one, which applies once the narrow ones are revoked.
  const isNarrow = before.every(({ visibility }) => visibility === 'members');
  if (!isNarrow) await refuseWiderSight(context, held, access.permissions);
  const ids = before.map(({ id }) => id);
  for (const row of await db.rows(updateAccessOfBindings(tenantId, ids, access)))
    noteBindingUpdated(context, row);
  if (takesAdmin(held, access.permissions)) await requireAdministrator(context);
  return getPrincipalAccess(context, principalId);
}

const permissionsIn = (bindings: readonly Pick<IamBinding, 'permissions'>[]) =>
  [...new Set(bindings.flatMap(({ permissions }) => permissions))].sort();
