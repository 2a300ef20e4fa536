import { NeedsAnswer } from '@baton/kernel/http/command';
import { Refusal } from '@baton/kernel/http/refusal';
import { NeedsDecision, type PolicyRights } from '../../access/policy/rights.ts';

/** More than there are permissions asked for in one request, and objects that moved meanwhile. */
const roundsOfRequestMax = 30;

/**
 * Runs it again whenever it stopped for something that was not asked yet.
 * @param rights of who asks; undefined for a key, and for the worker
 */
export async function settled<T>(
  rights: PolicyRights | undefined,
  act: () => Promise<T>,
  roundsMax = roundsOfRequestMax,
): Promise<T> {
  for (let round = 1; ; round += 1) {
    try {
      return await act();
    } catch (error) {
      const asked = error instanceof NeedsDecision ? (error.rights ?? rights) : undefined;
      if (asked === undefined || round === roundsMax) throw told(rights, error);
      await asked.settle(error as NeedsDecision);
    }
  }
}

/** A refusal for want of a permission says what the decision point said. */
function told(rights: PolicyRights | undefined, error: unknown): unknown {
  if (error instanceof NeedsAnswer) return new Refusal('policy_unavailable', {}, { cause: error });
  if (!(error instanceof Refusal) || error.code !== 'permission_denied' || 'resource' in error.details)
    return error;
  const { required } = error.details;
  const denial = Array.isArray(required) ? rights?.denialOf(required) : undefined;
  if (denial === undefined) return error;
  return new Refusal(error.code, { ...error.details, ...denial }, { headers: error.headers });
}
