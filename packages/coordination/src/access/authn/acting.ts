import type { Caller } from '../../service/caller.ts';
import { holds, isCovered, namesHeld, type Permission, permissionNames } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { findLiveCredential, type LiveCredentialRow } from './acting.sql.ts';
import { lockPrincipalShared } from './caller.sql.ts';
import { isEmergencyPrefix } from './key-material.ts';

/** What a person or program asked with, kept for what follows later in their name (core, sections 8.8 and 14). */
export interface CredentialSnapshot {
  readonly principalId: string;
  readonly kind: Caller['kind'];
  readonly iamPrincipalId: string | null;
  readonly credentialId: string | null;
  readonly permissions: readonly string[];
}

/** What the work that follows may ask for, unless said otherwise. */
const usuallyNeeded: readonly Permission[] = ['tasks.write'];

export function snapshotOf(
  { principalId, kind, iamPrincipalId, ...caller }: Caller,
  needed = usuallyNeeded,
): CredentialSnapshot {
  const { credentialId = null, permissions } = caller;
  return { principalId, kind, iamPrincipalId, credentialId, permissions: namesHeld(permissions, needed) };
}

/**
 * The caller that background work acts as, with the permissions of then. Locks the principal, so that a disable waits or
 * is seen: call it before anything else is locked.
 * @returns undefined when the principal isn't active any more, or the credential was closed or has expired
 */
export async function callerOfSnapshot(
  context: Context,
  snapshot: CredentialSnapshot,
): Promise<Caller | undefined> {
  const { permissions } = snapshot;
  return (await liveCredential(context, snapshot)) && callerWith(context, snapshot, permissions);
}

/**
 * The same with no more permissions than the credential gives now: for what goes on acting for a long time. Where a decision
 * point says what an identity may do, `judgedStanding` asks it.
 */
export async function callerOfStandingSnapshot(
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
 * Whom `callerOfStandingSnapshot` found, as the decision point judges it on what is filed in a workspace (null: on the
 * tenant): with what it could do then and is granted now. A key, and a process without a decision point, go by the names.
 * @throws NeedsDecision when a permission is asked for that was not judged yet
 */
export async function judgedStanding(
  { db, authorities }: Context,
  snapshot: CredentialSnapshot,
  caller: Caller,
  workspaceId: string | null,
): Promise<Caller> {
  if (authorities === undefined || caller.iamPrincipalId === null) return caller;
  return authorities.judged(db, caller, new Set(namesOf(snapshot)), workspaceId);
}

/**
 * Whether the decision point grants all of this to whoever asked with a snapshot, on what is filed in a workspace (null: on the
 * tenant). A key, and a process without a decision point, are not judged here. Nothing is locked.
 * @throws NeedsDecision when the point was not asked yet
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
  const { permissions } = await authorities.judged(db, caller, new Set(needed), workspaceId);
  return needed.every((name) => holds(permissions, name));
}

/** What it could do, name by name. */
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
