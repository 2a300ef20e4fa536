import {
  type CredentialSnapshot,
  callerOfStandingSnapshot,
  judgedStanding,
} from '../../access/authn/acting.ts';
import {
  type ActingAgent,
  lockActingAgent,
  snapshotOfAgent,
} from '../../registry/agent-identity/acting-agents.ts';
import type { Caller } from '../../service/caller.ts';
import type { RuleRow } from '../catalog/rule.ts';
import type { Context } from '../context.ts';

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

/** What one rule or several act by: the agent, or whoever enabled them. */
interface Standing {
  readonly agent: string | null;
  /** Undefined for an agent that can not act. */
  readonly snapshot: CredentialSnapshot | undefined;
}

const nameOf = ({ identity_agent: agent, authority }: RuleRow): string =>
  agent === null ? JSON.stringify(authority) : `agent:${agent}`;

async function findStandings(
  context: Context,
  rules: readonly RuleRow[],
): Promise<ReadonlyMap<string, Standing>> {
  const found = new Map<string, Standing>();
  for (const rule of rules) {
    const { identity_agent: agent, authority } = rule;
    const name = nameOf(rule);
    if (authority === null || found.has(name)) continue;
    const snapshot = agent === null ? authority : await snapshotOfAgent(context, agent);
    found.set(name, { agent, snapshot });
  }
  return found;
}

async function lockStanding(
  context: Context,
  { agent, snapshot }: Standing,
): Promise<ActingAgent | undefined> {
  if (snapshot === undefined) return undefined;
  if (agent !== null) return lockActingAgent(context, agent, snapshot);
  const caller = await callerOfStandingSnapshot(context, snapshot);
  return caller && { snapshot, caller };
}

/**
 * Locks the principals that rules act for, in the order of their ids, so that a disable waits or is seen: before anything
 * else is locked. What they may do is what they could when they wrote the rule, and still can; what an agent may do is what
 * its binding says, with the sight of whoever wrote or enabled the rule.
 */
export async function lockAuthorities(context: Context, rules: readonly RuleRow[]): Promise<Authorities> {
  const standings = [...(await findStandings(context, rules))];
  const idOf = ({ snapshot }: Standing) => snapshot?.principalId ?? '';
  standings.sort(([, one], [, other]) => (idOf(one) < idOf(other) ? -1 : 1));
  const acting = new Map<string, ActingAgent | undefined>();
  for (const [name, standing] of standings) acting.set(name, await lockStanding(context, standing));
  return {
    async of(rule) {
      const { authority, identity_agent: agent, workspace_id: workspaceId } = rule;
      const name = nameOf(rule);
      if (authority === null || !acting.has(name)) throw new AuthorityChanged();
      const found = acting.get(name);
      if (found === undefined) return undefined;
      const caller = await judgedStanding(context, found.snapshot, found.caller, workspaceId);
      return agent === null ? caller : seeingAs(caller, authority);
    },
  };
}

/** What the author of a rule does not see does not come to them by an agent, which sees everything (organisation, section 1.5). */
export function seeingAs(
  agent: Caller,
  { kind, principalId }: Pick<CredentialSnapshot, 'kind' | 'principalId'>,
): Caller {
  return kind === 'human' ? { ...agent, seesAs: principalId } : agent;
}

/** An agent as a rule would act as it, for what only reads; undefined where it can not act. */
export async function findActingAgent(
  context: Context,
  agentKey: string,
  workspaceId: string | null,
): Promise<Caller | undefined> {
  const snapshot = await snapshotOfAgent(context, agentKey);
  const found = snapshot && (await lockActingAgent(context, agentKey, snapshot));
  return found && judgedStanding(context, found.snapshot, found.caller, workspaceId);
}
