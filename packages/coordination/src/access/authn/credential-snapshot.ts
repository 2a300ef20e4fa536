import type { Caller } from '../../service/caller.ts';
import { holds, isCovered, namesHeld, type Permission, permissionNames } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { lockPrincipalShared } from './caller.sql.ts';
import { findLiveCredential, type LiveCredentialRow } from './credential-snapshot.sql.ts';
import { isEmergencyPrefix } from './key-material.ts';

/**
 * A credential as it was at the time of a request, for later work on its behalf. See
 * docs/reference/completion.md#verification-attempts.
 */
export interface CredentialSnapshot {
  readonly principalId: string;
  readonly kind: Caller['kind'];
  readonly iamPrincipalId: string | null;
  readonly credentialId: string | null;
  readonly permissions: readonly string[];
}

/** The permissions that later work needs by default. */
const usuallyNeeded: readonly Permission[] = ['tasks.write'];

export function snapshotOf(
  { principalId, kind, iamPrincipalId, ...caller }: Caller,
  needed = usuallyNeeded,
): CredentialSnapshot {
  const { credentialId = null, permissions } = caller;
  return { principalId, kind, iamPrincipalId, credentialId, permissions: namesHeld(permissions, needed) };
}

/**
 * Returns the caller for background work, with the permissions at the time of the snapshot. Locks the principal, so
 * that a disable either waits for the work or makes it fail: call it before taking other locks.
 * @returns undefined when the principal isn't active, or the credential was revoked or has expired
 */
export async function resolveSnapshot(
  context: Context,
  snapshot: CredentialSnapshot,
): Promise<Caller | undefined> {
  const { permissions } = snapshot;
  return (await liveCredential(context, snapshot)) && callerWith(context, snapshot, permissions);
}

/**
 * Like `resolveSnapshot`, but limited to the credential's current permissions, for work that continues for a long time.
 * In mode `policy`, `authorizeStandingCaller` adds the decision point's grants.
 */
export async function resolveStandingSnapshot(
  context: Context,
  snapshot: CredentialSnapshot,
): Promise<Caller | undefined> {
  const live = await liveCredential(context, snapshot);
  if (live === undefined) return undefined;
  const now = new Set(live.permissions);
  const held = namesOf(snapshot).filter((name) => isCovered(now, name));
  return callerWith(context, snapshot, held);
}

/**
 * Returns the caller of `resolveStandingSnapshot` with the decision point's grants on the objects of a workspace
 * (null: of the tenant). Keys, and callers in other modes, keep their own permissions.
 * @throws NeedsDecision when a permission without a decision is checked
 */
export async function authorizeStandingCaller(
  { db, authorities }: Context,
  snapshot: CredentialSnapshot,
  caller: Caller,
  workspaceId: string | null,
): Promise<Caller> {
  if (authorities === undefined || caller.iamPrincipalId === null) return caller;
  return authorities.authorize(db, caller, new Set(namesOf(snapshot)), workspaceId);
}

/**
 * Whether the decision point still grants all these permissions to the identity of a snapshot, on the objects of a
 * workspace (null: of the tenant). True for keys and in other modes. Locks nothing.
 * @throws NeedsDecision when a decision is missing
 */
export async function isStillGranted(
  context: Context,
  snapshot: CredentialSnapshot,
  needed: readonly Permission[],
  workspaceId: string | null,
): Promise<boolean> {
  const { db, authorities } = context;
  if (authorities === undefined || snapshot.iamPrincipalId === null) return true;
  const caller = callerWith(context, snapshot, needed);
  const { permissions } = await authorities.authorize(db, caller, new Set(needed), workspaceId);
  return needed.every((name) => holds(permissions, name));
}

/** The snapshot's permissions, with `admin` spelled out. */
function namesOf({ permissions }: CredentialSnapshot): Permission[] {
  const then = new Set(permissions);
  return permissionNames.filter((name) => isCovered(then, name));
}

function callerWith(
  { tenantId }: Context,
  { principalId, kind, iamPrincipalId, credentialId }: CredentialSnapshot,
  permissions: readonly string[],
): Caller {
  const credential = credentialId !== null && { credentialId };
  return { tenantId, principalId, kind, iamPrincipalId, ...credential, permissions: new Set(permissions) };
}

async function liveCredential(
  { db, tenantId, settings }: Context,
  { principalId, credentialId }: CredentialSnapshot,
): Promise<LiveCredentialRow | undefined> {
  const principal = await db.row(lockPrincipalShared(tenantId, principalId));
  if (principal?.status !== 'active' || credentialId === null) return undefined;
  const credential = await db.row(findLiveCredential(tenantId, principalId, credentialId));
  if (credential === undefined) return undefined;
  const { key_prefix: prefix } = credential;
  if (prefix === null) return credential;
  const isAdmitted = isEmergencyPrefix(prefix)
    ? settings.CP_BREAK_GLASS_ENABLED
    : settings.CP_LEGACY_API_KEYS_ENABLED;
  return isAdmitted ? credential : undefined;
}
