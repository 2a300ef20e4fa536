import { authorizeStandingCaller } from '../../../access/authn/credential-snapshot.ts';
import {
  type ActingAgent,
  lockActingAgent,
  snapshotOfAgent,
} from '../../../registry/agent-identity/acting-agents.ts';
import type { Caller } from '../../../service/caller.ts';
import type { Context } from '../../context.ts';

/** Whether an agent exists and can act, according to its records; takes no locks. */
export async function isLinked(context: Context, agentKey: string): Promise<boolean> {
  return (await snapshotOfAgent(context, agentKey)) !== undefined;
}

/**
 * The identities of instances: each acts as the agent of its definition, under the agent's binding
 * (docs/reference/processes.md#identity).
 */
export class Identities {
  readonly #context: Context;
  readonly #agents = new Map<string, ActingAgent | undefined>();

  private constructor(context: Context) {
    this.#context = context;
  }

  /**
   * Locks the principals of agents before any instance is locked, so that the concurrent disabling of an agent either
   * waits or is visible.
   * @param agentKeys in any order; they are locked in the order of their principals
   */
  static async lock(context: Context, agentKeys: Iterable<string>): Promise<Identities> {
    const identities = new Identities(context);
    const found = [];
    for (const key of new Set(agentKeys)) {
      const snapshot = await snapshotOfAgent(context, key);
      if (snapshot === undefined) identities.#agents.set(key, undefined);
      else found.push({ key, snapshot });
    }
    found.sort((one, other) => (one.snapshot.principalId < other.snapshot.principalId ? -1 : 1));
    for (const { key, snapshot } of found)
      identities.#agents.set(key, await lockActingAgent(context, key, snapshot));
    return identities;
  }

  /** Whether the agent is among the locked ones. */
  knows(agentKey: string): boolean {
    return this.#agents.has(agentKey);
  }

  /**
   * If external authorization decides permissions, it is queried for the workspace of the instance, or for the tenant.
   * @returns undefined if the agent can't act: it is not linked, was retired, or its principal is not active
   */
  async of(agentKey: string, workspaceId: string | null): Promise<Caller | undefined> {
    const agent = this.#agents.get(agentKey);
    return agent && authorizeStandingCaller(this.#context, agent.snapshot, agent.caller, workspaceId);
  }
}

/**
 * The agent that a locked instance acts as. A migration may have changed it since the lookup; the new agent is then
 * locked late, so at worst this waits for the concurrent disabling of that agent.
 */
export async function agentOf(
  context: Context,
  identities: Identities,
  { identity_agent: key, workspace_id: place }: { identity_agent: string; workspace_id: string | null },
): Promise<Caller | undefined> {
  const known = identities.knows(key) ? identities : await Identities.lock(context, [key]);
  return known.of(key, place);
}
