import { judgedStanding } from '../../../access/authn/acting.ts';
import {
  type ActingAgent,
  lockActingAgent,
  snapshotOfAgent,
} from '../../../registry/agent-identity/acting-agents.ts';
import type { Caller } from '../../../service/caller.ts';
import type { Context } from '../../context.ts';

/** Whether an agent is there and can act, as far as its records say; nothing is locked. */
export async function isLinked(context: Context, agentKey: string): Promise<boolean> {
  return (await snapshotOfAgent(context, agentKey)) !== undefined;
}

/** In whose names instances act: each in that of the agent of its definition, under the agent's binding (docs/reference/processes.md#identity). */
export class Identities {
  readonly #context: Context;
  readonly #agents = new Map<string, ActingAgent | undefined>();

  private constructor(context: Context) {
    this.#context = context;
  }

  /**
   * Locks the principals of agents, so that a disable waits or is seen: before any instance is locked.
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

  /** Whether the agent was among those that were locked. */
  knows(agentKey: string): boolean {
    return this.#agents.has(agentKey);
  }

  /**
   * Where a decision point says what it may do, it is asked on the workspace of the instance, or on the tenant.
   * @returns undefined where the agent can not act: it is not linked, was retired, or its principal is not active
   */
  async of(agentKey: string, workspaceId: string | null): Promise<Caller | undefined> {
    const agent = this.#agents.get(agentKey);
    return agent && judgedStanding(this.#context, agent.snapshot, agent.caller, workspaceId);
  }
}

/**
 * In whose name an instance acts that is locked. A migration may have changed that since it was seen: then the new agent is locked
 * late, which at worst waits for its disable.
 */
export async function agentOf(
  context: Context,
  identities: Identities,
  { identity_agent: key, workspace_id: place }: { identity_agent: string; workspace_id: string | null },
): Promise<Caller | undefined> {
  const known = identities.knows(key) ? identities : await Identities.lock(context, [key]);
  return known.of(key, place);
}
