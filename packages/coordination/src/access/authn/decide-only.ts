import type { Operation } from '@baton/kernel/http/service';
import type { Caller } from '../../service/caller.ts';
import { holds, narrowByScopes } from '../../service/permissions.ts';
import type { EntryRow } from '../access-tokens/entry.ts';
import type { TokenClaims } from '../access-tokens/tokens.ts';
import { fail } from '../errors.ts';

/**
 * Tokens sent by mail or chat to decide one approval and nothing else. See
 * docs/reference/access.md#tokens-for-one-decision.
 */

const decideScope = 'control-plane:decide';
/** Everything except administration. */
const ordinaryScopes = new Set(['control-plane:read', 'control-plane:write']);
const purposeForm = /^approval:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const channelForm = /^channel:([A-Za-z0-9._-]{1,100})$/;
const decisionPath = /\/approvals\/([0-9a-f-]{36})(?::|%3a)(?:approve|reject)$/i;
const decisions: readonly string[] = ['approveApproval', 'rejectApproval'];

/** Whether the token is for one decision only, whatever other scopes it has. */
export function decidesOnly({ scopes }: TokenClaims): boolean {
  return scopes.has(decideScope);
}

/** Narrows a binding's permissions to the one decision. @throws Refusal `purpose_ref_required` */
export function rightsToDecide(
  { permissions: held }: EntryRow,
  { purposeRef, acr }: TokenClaims,
): Pick<Caller, 'permissions' | 'permissionsAfter' | 'approvalId' | 'channel'> {
  const approvalId = purposeForm.exec(purposeRef ?? '')?.[1] ?? fail('purpose_ref_required');
  const channel = channelForm.exec(acr ?? '')?.[1];
  const mayDecide = holds(new Set(held), 'approvals.decide');
  return {
    permissions: new Set(mayDecide ? ['approvals.decide'] : []),
    permissionsAfter: narrowByScopes(held, ordinaryScopes) ?? new Set(),
    approvalId,
    ...(channel !== undefined && { channel }),
  };
}

/** Refuses every request with such a token except its decision. @throws Refusal `outside_purpose` */
export function refuseOutsidePurpose(
  { approvalId }: Caller,
  path: string,
  { id }: Pick<Operation, 'id'>,
): void {
  if (approvalId === undefined) return;
  const asked = decisions.includes(id) ? decisionPath.exec(path)?.[1]?.toLowerCase() : undefined;
  if (asked !== approvalId) fail('outside_purpose');
}
