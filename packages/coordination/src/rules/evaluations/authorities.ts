import {
  authorizeStandingCaller,
  type CredentialSnapshot,
  resolveStandingSnapshot,
} from '../../access/authn/credential-snapshot.ts';
import {
  type ActingAgent,
  lockActingAgent,
  snapshotOfAgent,
} from '../../registry/agent-identity/acting-agents.ts';
import type { Caller } from '../../service/caller.ts';
import type { RuleRow } from '../catalog/rule.ts';
import type { Context } from '../context.ts';

/** Another principal wrote or enabled a rule after its authority was locked: the transaction must restart. */
export class AuthorityChanged extends Error {}

/** The principals that rules act for. */
export interface Authorities {
  /**
   * The caller that a rule acts as; undefined if that principal or credential is no longer active. If external
   * authorization decides permissions, it is queried for the rule's workspace, or for the tenant.
   * @throws AuthorityChanged
   */
  of(rule: RuleRow): Promise<Caller | undefined>;
}

/** The context in which rules act: that of the agent, or of the principal who enabled them. */
interface Standing {
  readonly agent: string | null;
  /** Undefined for an agent that can't act. */
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
  const caller = await resolveStandingSnapshot(context, snapshot);
  return caller && { snapshot, caller };
}

/**
 * Locks the principals that rules act for, in the order of their ids and before anything else, so that a concurrent
 * disable either waits or is visible. A principal has the permissions that it had when it wrote the rule and still has.
 * An agent has the permissions of its binding, with the visibility of the principal who wrote or enabled the rule.
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
      const caller = await authorizeStandingCaller(context, found.snapshot, found.caller, workspaceId);
      return agent === null ? caller : limitSight(caller, authority);
    },
  };
}

/**
 * The author's visibility limits that of the agent, which otherwise sees everything
 * (docs/reference/README.md#visibility).
 */
export function limitSight(
  agent: Caller,
  { kind, principalId }: Pick<CredentialSnapshot, 'kind' | 'principalId'>,
): Caller {
  return kind === 'human' ? { ...agent, seesAs: principalId } : agent;
}

/** A read-only context of the agent that a rule would act as; undefined if the agent can't act. */
export async function findActingAgent(
  context: Context,
  agentKey: string,
  workspaceId: string | null,
): Promise<Caller | undefined> {
  const snapshot = await snapshotOfAgent(context, agentKey);
  const found = snapshot && (await lockActingAgent(context, agentKey, snapshot));
  return found && authorizeStandingCaller(context, found.snapshot, found.caller, workspaceId);
}
