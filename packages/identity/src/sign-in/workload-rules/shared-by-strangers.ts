import { InvalidRequest } from '@baton/kernel/http/refusal';
import { type SharedIssuer, sharedIssuer } from '../identity-providers/shared-issuers.ts';
import { type ClaimCondition, type ClaimConditions, valuesOf } from './claim-condition.ts';

/**
 * Refuses a rule that strangers' tokens would match.
 * @throws InvalidRequest with the claim to add
 */
export function refuseSharedByStrangers(issuer: string, claims: ClaimConditions): void {
  const shared = sharedIssuer(issuer);
  if (shared === undefined || fixesOwner(shared, claims)) return;
  throw new InvalidRequest([
    { in: 'body', path: ['claims'], type: 'claims_shared_by_strangers', message: shared.advice },
  ]);
}

function fixesOwner({ ids, ownedSubject }: SharedIssuer, claims: ClaimConditions): boolean {
  const conditionOf = (name: string) => (Object.hasOwn(claims, name) ? claims[name] : undefined);
  // A prefix doesn't suffice, because the prefix of one id is also that of other ids.
  if (ids.some((name) => isOfValues(conditionOf(name)))) return true;
  const subject = conditionOf('sub');
  if (subject === undefined) return false;
  const beginnings = 'prefix' in subject ? [subject.prefix] : valuesOf(subject);
  return beginnings.every((text) => ownedSubject.test(text));
}

function isOfValues(condition: ClaimCondition | undefined): boolean {
  return condition !== undefined && !('prefix' in condition);
}
