import type { Db } from '@baton/kernel/database/db';
import type { Caller } from '../../service/caller.ts';
import { type DecisionSources, type Places, PolicyRights } from './rights.ts';

/** The dependencies for requesting decisions about absent identities. */
export interface AuthoritySources extends Pick<DecisionSources, 'point' | 'counters' | 'db'> {
  /** The workspace that the objects are filed in; null refers to the tenant itself. */
  placesAt(caller: Caller, workspaceId: string | null): Places;
}

/**
 * The decision point's grants to the identities on whose behalf one command works, such as rules and skill invocations.
 * Created before the command's transaction and kept for its repetitions. See
 * docs/reference/authorization.md#work-on-behalf-of-others.
 */
export class Authorities {
  readonly #sources: AuthoritySources;
  readonly #decided = new Map<string, PolicyRights>();

  constructor(sources: AuthoritySources) {
    this.#sources = sources;
  }

  /**
   * Returns the caller with the permissions that the decision point grants now. Checking one throws `NeedsDecision`
   * until the decisions of all identities were requested together, or 503 `policy_unavailable` if that failed.
   * @param caller the caller of a token, identified by `iamPrincipalId`; its own permissions are used for permissions
   * that only this service decides
   * @param ceiling the maximum permissions
   * @param tx the transaction that applies the decision: decisions on objects moved since are requested again
   */
  async authorize(
    tx: Db,
    caller: Caller,
    ceiling: ReadonlySet<string>,
    workspaceId: string | null,
  ): Promise<Caller> {
    const name = JSON.stringify([caller.principalId, caller.credentialId, workspaceId, ...ceiling]);
    const known = this.#decided.get(name);
    if (known !== undefined) {
      await known.recheck(tx);
      return { ...caller, permissions: known };
    }
    const { placesAt, ...sources } = this.#sources;
    const places = placesAt(caller, workspaceId);
    const askAll = () => PolicyRights.askTogether([...this.#decided.values()]);
    const rights = new PolicyRights(caller, { ...sources, places }, { ceiling, askAll });
    this.#decided.set(name, rights);
    return { ...caller, permissions: rights };
  }
}
