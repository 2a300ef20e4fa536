import { InvalidRequest } from '@baton/kernel/http/refusal';
import { type ClaimCondition, type ClaimConditions, valuesOf } from './claim-condition.ts';

/** An issuer that signs tokens for anybody who has an account there, for any audience. */
interface SharedIssuer {
  readonly isMeant: (issuer: string) => boolean;
  /** Claims with ids that the issuer never gives to anybody else. */
  readonly ids: readonly string[];
  /** A subject that begins in this way names an owner. */
  readonly ownedSubject: RegExp;
  readonly advice: string;
}

const sharedIssuers: readonly SharedIssuer[] = [
  {
    // An enterprise may have its own issuer, with its name after this one.
    isMeant: (issuer) => /^https:\/\/token\.actions\.githubusercontent\.com(\/|$)/i.test(issuer),
    ids: ['repository_id', 'repository_owner_id'],
    ownedSubject: /^repo:[^/:*]+\//,
    advice:
      'must fix the repository or its owner: anybody gets tokens of GitHub Actions. Add `repository_id` or `repository_owner_id` with `equals` or `oneOf` (`gh api repos/OWNER/NAME --jq ".id, .owner.id"` shows both), or `sub` with `repo:OWNER/NAME:…`',
  },
  {
    isMeant: (issuer) => /^https:\/\/gitlab\.com$/i.test(issuer),
    ids: ['project_id', 'namespace_id'],
    ownedSubject: /^project_path:[^/:*]+\//,
    advice:
      'must fix the project or its namespace: anybody gets tokens of GitLab.com. Add `project_id` or `namespace_id` with `equals` or `oneOf` (the page of the project shows its id), or `sub` with `project_path:GROUP/PROJECT:…`',
  },
];

/** Whether tenants share the issuer: the claims of its tokens distinguish their owners. */
export function isShared(issuer: string): boolean {
  return sharedIssuers.some(({ isMeant }) => isMeant(issuer));
}

/**
 * Refuses a rule that strangers' tokens would match.
 * @throws InvalidRequest with the claim to add
 */
export function refuseSharedByStrangers(issuer: string, claims: ClaimConditions): void {
  const shared = sharedIssuers.find(({ isMeant }) => isMeant(issuer));
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
