/** An issuer that signs tokens for anybody who has an account there, for any audience. */
export interface SharedIssuer {
  readonly isMeant: (issuer: string) => boolean;
  /** Claims with ids that the issuer never gives to anybody else. */
  readonly ids: readonly string[];
  /** Matches the beginning of a subject that names an owner. */
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

/** The issuer if tenants share it: the claims of its tokens distinguish their owners. */
export function sharedIssuer(issuer: string): SharedIssuer | undefined {
  return sharedIssuers.find(({ isMeant }) => isMeant(issuer));
}
