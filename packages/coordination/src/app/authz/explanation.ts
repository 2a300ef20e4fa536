import type { Details } from '@baton/kernel/http/refusal';
import { PolicyRights } from '../../access/policy/rights.ts';
import { isCovered, type Permission } from '../../service/permissions.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import type { ActionExplanation } from './action-check.ts';
import { findCredentialPermissions } from './authz.sql.ts';

/** The permission that allows an action, or would allow it. */
export interface Basis {
  readonly permission: Permission;
  /** The role that makes the caller eligible. */
  readonly roleId?: string | null;
}

/** Data shared by the explanations of one request. */
export interface UnnarrowedCredential {
  /** The credential's permissions before any narrowing. */
  readonly permissions: ReadonlySet<string>;
  readonly seesAll: boolean;
}

export async function loadCredential(context: Context): Promise<UnnarrowedCredential> {
  const { db, tenantId, caller } = context;
  const { credentialId } = caller;
  const found =
    credentialId === undefined ? undefined : await db.row(findCredentialPermissions(tenantId, credentialId));
  return { permissions: new Set(found?.permissions), seesAll: (await viewerOf(context)) === null };
}

/** Explains the source of a permission and its restrictions. */
export function explainPermission(
  { caller }: Context,
  { permissions, seesAll }: UnnarrowedCredential,
  { permission, roleId = null }: Basis,
): ActionExplanation {
  const rights = caller.permissions;
  const isJudged = rights instanceof PolicyRights;
  const decision = isJudged ? decisionOf(rights.decisionOn(permission)) : null;
  const beyondScope = isJudged
    ? rights.isBeyondScope(permission)
    : isCovered(permissions, permission) && !isCovered(rights, permission);
  const isGranted = isJudged ? rights.allows(permission) : isCovered(rights, permission);
  const source = caller.iamPrincipalId === null ? 'api_key' : 'binding';
  return {
    permission,
    source: isGranted ? (isJudged ? 'decision_point' : source) : null,
    credentialId: caller.credentialId ?? null,
    byAdmin: isGranted && !isJudged && !rights.has(permission),
    roleId,
    narrowedBy: [
      ...(beyondScope ? (['token_scope'] as const) : []),
      ...(isJudged && !beyondScope && !isGranted ? (['decision_point'] as const) : []),
      ...(seesAll ? [] : (['visibility'] as const)),
    ],
    decision,
  };
}

function decisionOf(details: Details | undefined): ActionExplanation['decision'] {
  return details === undefined ? null : (details as NonNullable<ActionExplanation['decision']>);
}
