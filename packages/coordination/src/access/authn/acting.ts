import type { Caller } from '../../service/caller.ts';
import { namesHeld, type Permission } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { findLiveCredential } from './acting.sql.ts';
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

/** What the work that follows may ask for. */
const needed: readonly Permission[] = ['tasks.write'];

export function snapshotOf({ principalId, kind, iamPrincipalId, ...caller }: Caller): CredentialSnapshot {
  const { credentialId = null, permissions } = caller;
  return { principalId, kind, iamPrincipalId, credentialId, permissions: namesHeld(permissions, needed) };
}

/**
 * The caller that background work acts as, with the permissions of then. Locks the principal, so that a disable waits or
 * is seen: call it before anything else is locked.
 * @returns undefined when the principal isn't active any more, or the credential was closed or has expired
 */
export async function callerOfSnapshot(
  { db, tenantId, settings }: Context,
  { principalId, kind, iamPrincipalId, credentialId, permissions }: CredentialSnapshot,
): Promise<Caller | undefined> {
  const principal = await db.row(lockPrincipalShared(tenantId, principalId));
  if (principal?.status !== 'active' || credentialId === null) return undefined;
  const credential = await db.row(findLiveCredential(tenantId, principalId, credentialId));
  if (credential === undefined) return undefined;
  const { key_prefix: prefix } = credential;
  if (prefix !== null) {
    const isAdmitted = isEmergencyPrefix(prefix)
      ? settings.CP_BREAK_GLASS_ENABLED
      : settings.CP_LEGACY_API_KEYS_ENABLED;
    if (!isAdmitted) return undefined;
  }
  return { tenantId, principalId, kind, iamPrincipalId, credentialId, permissions: new Set(permissions) };
}
