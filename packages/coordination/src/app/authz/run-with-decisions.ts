import { NeedsAnswer } from '@baton/kernel/http/command';
import { Refusal } from '@baton/kernel/http/refusal';
import { NeedsDecision, type PolicyRights } from '../../access/policy/rights.ts';

/**
 * A limit above the number of permissions that one request needs plus the number of objects that are moved in the
 * meantime.
 */
const roundsOfRequestMax = 30;

/**
 * Runs `act`, and runs it again after each decision that it lacked.
 * @param rights the caller's rights; undefined for a key and for the worker
 */
export async function runWithDecisions<T>(
  rights: PolicyRights | undefined,
  act: () => Promise<T>,
  roundsMax = roundsOfRequestMax,
): Promise<T> {
  for (let round = 1; ; round += 1) {
    try {
      return await act();
    } catch (error) {
      const asked = error instanceof NeedsDecision ? (error.rights ?? rights) : undefined;
      if (asked === undefined || round === roundsMax) throw addDenial(rights, error);
      await asked.settle(error as NeedsDecision);
    }
  }
}

/** Adds the decision point's denial to a `permission_denied`. */
function addDenial(rights: PolicyRights | undefined, error: unknown): unknown {
  if (error instanceof NeedsAnswer) return new Refusal('policy_unavailable', {}, { cause: error });
  if (!(error instanceof Refusal) || error.code !== 'permission_denied' || 'resource' in error.details)
    return error;
  const { required } = error.details;
  const denial = Array.isArray(required) ? rights?.denialOf(required) : undefined;
  if (denial === undefined) return error;
  return new Refusal(error.code, { ...error.details, ...denial }, { headers: error.headers });
}
