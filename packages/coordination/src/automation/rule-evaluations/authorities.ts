import { callerOfStandingSnapshot, judgedStanding } from '../../access/authn/acting.ts';
import type { Caller } from '../../service/caller.ts';
import type { Context } from '../context.ts';
import type { RuleRow } from '../rules/rule.ts';

/** A rule was written or enabled by somebody else since its authority was locked: all is to begin again. */
export class AuthorityChanged extends Error {}

/** In whose names rules act. */
export interface Authorities {
  /**
   * Undefined where that principal or credential is not active any more. Where a decision point says what it may do, it is
   * asked on the rule's workspace, or on the tenant.
   * @throws AuthorityChanged
   */
  of(rule: RuleRow): Promise<Caller | undefined>;
}

/**
 * Locks the principals that rules act for, in the order of their ids, so that a disable waits or is seen: before anything
 * else is locked. What they may do is what they could when they wrote the rule, and still can.
 */
export async function lockAuthorities(context: Context, rules: readonly RuleRow[]): Promise<Authorities> {
  const snapshots = rules.flatMap(({ authority }) => authority ?? []);
  const byText = new Map(snapshots.map((snapshot) => [JSON.stringify(snapshot), snapshot]));
  const inOrder = [...byText].sort(([, one], [, other]) => (one.principalId < other.principalId ? -1 : 1));
  const callers = new Map<string, Caller | undefined>();
  for (const [text, snapshot] of inOrder)
    callers.set(text, await callerOfStandingSnapshot(context, snapshot));
  return {
    async of({ authority, workspace_id: workspaceId }) {
      const text = JSON.stringify(authority);
      if (authority === null || !callers.has(text)) throw new AuthorityChanged();
      const caller = callers.get(text);
      return caller && judgedStanding(context, authority, caller, workspaceId);
    },
  };
}
