import { InvalidRequest } from '@baton/kernel/http/refusal';
import {
  fixesOwner,
  type IssuerOfProvider,
  type OwnerConditions,
  ownerClaimsOf,
  sharedIssuer,
} from '../../directory/external-identities/shared-issuers.ts';

/**
 * Refuses a rule that strangers' tokens would match.
 * @throws InvalidRequest with the claim to add
 */
export function refuseSharedByStrangers(provider: IssuerOfProvider, claims: OwnerConditions): void {
  const owner = ownerClaimsOf(provider);
  if (owner !== undefined && !fixesOwner(owner, claims)) refuse('claims', owner.advice);
}

/** Whether a change to a provider lets strangers' tokens match one of its rules. */
export function opensToStrangers(
  before: IssuerOfProvider,
  after: IssuerOfProvider,
  rules: readonly OwnerConditions[],
): boolean {
  const owner = ownerClaimsOf(after);
  // Rules that existed before this check was introduced remain, unless the change concerns them.
  const isSame = before.issuer === after.issuer && owner === ownerClaimsOf(before);
  if (owner === undefined || isSame) return false;
  return rules.some((claims) => !fixesOwner(owner, claims));
}

interface SignInSettings extends IssuerOfProvider {
  readonly principal_kind: 'human' | 'workload' | 'none';
  readonly unknown_people: 'create' | 'request';
  readonly required_claims: Readonly<Record<string, readonly string[]>>;
}

/**
 * Refuses a provider through which any stranger would become a principal of the tenant at the first sign-in, and one
 * that declares an issuer that everybody can use as its own.
 * @throws InvalidRequest
 */
export function refuseSignInOfStrangers(provider: SignInSettings): void {
  const { issuer, own_issuer, principal_kind: kind, unknown_people: unknown, required_claims } = provider;
  const shared = sharedIssuer(issuer);
  if (shared === undefined) return;
  if (own_issuer) refuse('ownIssuer', 'must be false: anybody can get tokens from this issuer');
  if (kind === 'none' || (kind === 'human' && unknown === 'request')) return;
  const required = Object.entries(required_claims).map(([name, values]) => [name, { oneOf: [...values] }]);
  if (!fixesOwner(shared, Object.fromEntries(required) as OwnerConditions))
    refuse('requiredClaims', shared.advice);
}

function refuse(field: string, message: string): never {
  throw new InvalidRequest([{ in: 'body', path: [field], type: 'claims_shared_by_strangers', message }]);
}
