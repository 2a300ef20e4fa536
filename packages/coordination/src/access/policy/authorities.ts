import type { Db } from '@baton/kernel/database/db';
import type { Caller } from '../../service/caller.ts';
import { type Judging, type Places, PolicyRights } from './rights.ts';

/** What judging those takes in whose name work is done while they are not there themselves. */
export interface AuthorityJudging extends Pick<Judging, 'point' | 'counters' | 'db'> {
  /** What is filed in a workspace; null is the tenant itself. */
  placesAt(caller: Caller, workspaceId: string | null): Places;
}

/**
 * What the decision point granted to those in whose name one command works (organisation, section 21.1): rules, calls of
 * skills. Made before the command's transaction begins, and kept while it is undone, asked for and done again.
 */
export class Authorities {
  readonly #judging: AuthorityJudging;
  readonly #judged = new Map<string, PolicyRights>();

  constructor(judging: AuthorityJudging) {
    this.#judging = judging;
  }

  /**
   * The same caller with the permissions that the decision point grants now. Asking for one throws `NeedsDecision` until
   * the point was asked: for all of everybody's ceilings together. Where no answer came it throws 503 `policy_unavailable`.
   * @param caller of a token: `iamPrincipalId` says who; its names count for what is decided here alone
   * @param ceiling the permissions that it may have at most
   * @param tx the transaction that goes by the decision: what was moved since it was asked is asked about again
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
