import type { Db } from '@baton/kernel/database/db';
import type { Caller } from '../../service/caller.ts';
import { type Judging, type Places, PolicyRights } from './rights.ts';

/** What deciding for absent identities requires. */
export interface AuthorityJudging extends Pick<Judging, 'point' | 'counters' | 'db'> {
  /** The objects filed in a workspace; null is the tenant itself. */
  placesAt(caller: Caller, workspaceId: string | null): Places;
}

/**
 * The decision point's grants to the identities on whose behalf one command works, such as rules and skill invocations.
 * Created before the command's transaction and kept over its repetitions. See
 * docs/reference/authorization.md#work-on-behalf-of-others.
 */
export class Authorities {
  readonly #judging: AuthorityJudging;
  readonly #judged = new Map<string, PolicyRights>();

  constructor(judging: AuthorityJudging) {
    this.#judging = judging;
  }

  /**
   * Returns the caller with the permissions that the decision point grants now. Checking one throws `NeedsDecision`
   * until the decisions of all identities were requested together, or 503 `policy_unavailable` if that failed.
   * @param caller of a token, identified by `iamPrincipalId`; its names count for permissions that only this service
   * decides
   * @param ceiling the most permissions that it may have
   * @param tx the transaction that applies the decision: decisions on objects moved since are requested again
   */
  async judged(
    tx: Db,
    caller: Caller,
    ceiling: ReadonlySet<string>,
    workspaceId: string | null,
  ): Promise<Caller> {
    const name = JSON.stringify([caller.principalId, caller.credentialId, workspaceId, ...ceiling]);
    const known = this.#judged.get(name);
    if (known !== undefined) {
      await known.recheck(tx);
      return { ...caller, permissions: known };
    }
    const { placesAt, ...judging } = this.#judging;
    const places = placesAt(caller, workspaceId);
    const askAll = () => PolicyRights.askTogether([...this.#judged.values()]);
    const rights = new PolicyRights(caller, { ...judging, places }, { ceiling, askAll });
    this.#judged.set(name, rights);
    return { ...caller, permissions: rights };
  }
}
