/** Issuers whose tokens strangers can get, and the claims by which their owners differ. */

/** The claims of an issuer that identify an owner. */
export interface OwnerClaims {
  /** Claims with ids that the issuer never gives to anybody else; a condition must list their values. */
  readonly ids: readonly string[];
  /** Matches a complete subject that names an owner. */
  readonly ownedSubject?: RegExp;
  /**
   * Matches a prefix of a subject that names an owner and doesn't end inside a name, as `repo:acme/app` does: this is
   * also a prefix of `repo:acme/app-other`.
   */
  readonly ownedPrefix?: RegExp;
  readonly advice: string;
}

interface KnownIssuer extends OwnerClaims {
  readonly isMeant: RegExp;
  /** The address names a customer, so the issuer may belong to one organization. */
  readonly isOfCustomer?: true;
}

/**
 * The subjects of a platform that writes names and values in turn: `organization:acme:pipeline:deploy:ref:…`. A prefix
 * may end after any of these values, and anywhere after the last one.
 */
function subjectOf(beginning: string, ...names: string[]): Pick<OwnerClaims, 'ownedSubject' | 'ownedPrefix'> {
  const rest = names.reduceRight((inner, name) => `(${name}:[^:*]+:${inner})?`, '.*');
  const owner = `^${beginning}:[^:*]+:`;
  return { ownedSubject: new RegExp(owner), ownedPrefix: new RegExp(`${owner}${rest}$`, 's') };
}

const github = {
  ids: ['repository_id', 'repository_owner_id'],
  ownedSubject: /^repo:[^/:*]+\//,
  ownedPrefix: /^repo:[^/:*]+\/([^/:*]+:.*)?$/s,
  advice:
    'must fix the repository or its owner: anybody can get tokens from GitHub Actions. Add `repository_id` or `repository_owner_id` with `equals` or `oneOf` (`gh api repos/OWNER/NAME --jq ".id, .owner.id"` shows both), or `sub` with `repo:OWNER/NAME:…`',
};

const gitlab = {
  ids: ['project_id', 'namespace_id'],
  ownedSubject: /^project_path:[^/:*]+\//,
  ownedPrefix: /^project_path:[^/:*]+\/([^:*]+\/)?([^/:*]+:.*)?$/s,
  advice:
    'must fix the project or its namespace: anybody can get tokens from GitLab.com. Add `project_id` or `namespace_id` with `equals` or `oneOf` (the page of the project shows its id), or `sub` with `project_path:GROUP/PROJECT:…`',
};

const knownIssuers: readonly KnownIssuer[] = [
  // An enterprise may have its own issuer, with its name after this one. Its repositories' ids aren't secret either.
  { isMeant: /^https:\/\/token\.actions\.githubusercontent\.com(\/|$)/i, ...github },
  { isMeant: /^https:\/\/gitlab\.com$/i, ...gitlab },
  {
    isMeant: /^https:\/\/accounts\.google\.com$/i,
    ids: ['sub', 'hd', '/google/compute_engine/project_id', '/google/compute_engine/project_number'],
    advice:
      'must fix the account or its organization: anybody can get tokens from Google. Add `sub` (the unique id of the service account), `hd` or `/google/compute_engine/project_id` with `equals` or `oneOf`',
  },
  {
    isMeant: /^https:\/\/agent\.buildkite\.com$/i,
    ids: ['organization_id', 'pipeline_id'],
    ...subjectOf('organization', 'pipeline'),
    advice:
      'must fix the organization or pipeline: anybody can get tokens from Buildkite. Add `organization_id` or `pipeline_id` with `equals` or `oneOf`, or `sub` with `organization:NAME:pipeline:NAME:…`',
  },
  {
    isMeant: /^https:\/\/app(\.eu)?\.terraform\.io$/i,
    ids: ['terraform_organization_id', 'terraform_project_id', 'terraform_workspace_id'],
    ...subjectOf('organization', 'project', 'workspace'),
    advice:
      'must fix the organization, project or workspace: anybody can get tokens from HCP Terraform. Add `terraform_workspace_id` or `terraform_organization_id` with `equals` or `oneOf`, or `sub` with `organization:NAME:project:NAME:workspace:NAME:…`',
  },
  {
    isMeant: /^https:\/\/oidc\.vercel\.com$/i,
    ids: ['owner_id', 'project_id'],
    ...subjectOf('owner', 'project'),
    advice:
      'must fix the team or project: anybody can get tokens from Vercel. Add `owner_id` or `project_id` with `equals` or `oneOf`, or `sub` with `owner:TEAM:project:NAME:…`',
  },
  {
    isMeant: /^https:\/\/oidc\.codefresh\.io$/i,
    ids: ['account_id', 'pipeline_id'],
    ...subjectOf('account', 'pipeline'),
    advice:
      'must fix the account or pipeline: anybody can get tokens from Codefresh. Add `account_id` or `pipeline_id` with `equals` or `oneOf`, or `sub` with `account:ID:pipeline:ID:…`',
  },
  {
    isMeant: /^https:\/\/api\.pulumi\.com\/oidc$/i,
    ids: [],
    ...subjectOf('pulumi:[a-z]+:org', '[a-z]+'),
    advice:
      'must fix the organization: anybody can get tokens from Pulumi Cloud. Add `sub` with `pulumi:deploy:org:NAME:…`',
  },
  {
    isMeant: /^https:\/\/scalr\.io$/i,
    ids: [],
    ...subjectOf('account', 'environment', 'workspace'),
    advice: 'must fix the account: anybody can get tokens from Scalr. Add `sub` with `account:NAME:…`',
  },
  {
    // The directory of personal Microsoft accounts.
    isMeant: /^https:\/\/login\.microsoftonline\.com\/9188040d-6c67-4c5b-b112-36a304b66dad(\/|$)/i,
    ids: ['sub', 'oid'],
    advice:
      'must fix the account: anybody can get tokens with a personal Microsoft account. Add `sub` or `oid` with `equals` or `oneOf`',
  },
  {
    isMeant: /^https:\/\/(appleid\.apple\.com|www\.facebook\.com|slack\.com|www\.linkedin\.com\/oauth)$/i,
    ids: ['sub'],
    advice:
      'must fix the account: anybody can get tokens from this issuer. Add `sub` with `equals` or `oneOf`',
  },
  {
    isMeant: /^https:\/\/(login\.microsoftonline\.com|sts\.windows\.net)\/[0-9a-f-]{36}(\/|$)/i,
    isOfCustomer: true,
    ids: ['sub', 'oid', 'azp', 'appid'],
    advice:
      'must fix the application: every application and person of the Microsoft Entra directory gets such tokens. Add `sub`, `oid`, `azp` or `appid` with `equals` or `oneOf`',
  },
  {
    isMeant: /^https:\/\/oidc\.circleci\.com\/org\//i,
    isOfCustomer: true,
    ids: ['oidc.circleci.com/project-id', 'oidc.circleci.com/org-id'],
    ownedSubject: /^org\/[^/*]+\//,
    ownedPrefix: /^org\/[^/*]+\/(project\/[^/*]+\/.*)?$/s,
    advice:
      'must fix the project: every project of the organization gets such tokens. Add `oidc.circleci.com/project-id` with `equals` or `oneOf`, or `sub` with `org/ID/project/ID/…`',
  },
  {
    isMeant: /^https:\/\/api\.bitbucket\.org\/2\.0\/workspaces\//i,
    isOfCustomer: true,
    ids: ['repositoryUuid', 'workspaceUuid'],
    ownedSubject: /^\{[0-9a-f-]{36}\}:/i,
    ownedPrefix: /^\{[0-9a-f-]{36}\}:/i,
    advice:
      'must fix the repository: every repository of the workspace gets such tokens. Add `repositoryUuid` with `equals` or `oneOf`, or `sub` with `{UUID}:…`',
  },
  {
    isMeant: /^https:\/\/oidc\.vercel\.com\//i,
    isOfCustomer: true,
    ids: ['owner_id', 'project_id'],
    ...subjectOf('owner', 'project'),
    advice:
      'must fix the project: every project of the team gets such tokens. Add `project_id` with `equals` or `oneOf`, or `sub` with `owner:TEAM:project:NAME:…`',
  },
  {
    isMeant: /^https:\/\/oidc\.fly\.io\//i,
    isOfCustomer: true,
    ids: ['app_id', 'org_id'],
    ownedSubject: /^[^:*]+:/,
    ownedPrefix: /^[^:*]+:([^:*]+:.*)?$/s,
    advice:
      'must fix the app: every machine of the organization gets such tokens. Add `app_id` with `equals` or `oneOf`, or `sub` with `ORG:APP:…`',
  },
];

/** The subjects of self-managed GitHub and GitLab, Kubernetes and SPIFFE. */
const subjectForms = [
  github.ownedPrefix,
  gitlab.ownedPrefix,
  /^system:serviceaccount:[^:*]+:$/,
  /^spiffe:\/\/[^/*]+\/(.*\/)?$/s,
];

/** For an issuer that isn't listed: strangers may have accounts there. */
const unknownIssuer: OwnerClaims = {
  ids: ['sub', ...github.ids, ...gitlab.ids, '/kubernetes.io/serviceaccount/uid'],
  ownedPrefix: new RegExp(subjectForms.map(({ source }) => source).join('|'), 's'),
  advice:
    'must fix the subject, because strangers might get tokens from this issuer: add `sub` with `equals` or `oneOf`. If the issuer signs tokens for your organization only, set `ownIssuer` on the provider; then any condition suffices',
};

/** What determines whether strangers get tokens that a provider accepts. */
export interface IssuerOfProvider {
  readonly issuer: string;
  /** Uploaded keys. */
  readonly key_set: object | null;
  readonly own_issuer: boolean;
}

/** The issuer if tenants share it: the claims of its tokens distinguish their owners. */
export function sharedIssuer(issuer: string): OwnerClaims | undefined {
  return knownIssuers.find(({ isMeant, isOfCustomer }) => isOfCustomer !== true && isMeant.test(issuer));
}

/**
 * The claims of which a workload rule must fix at least one; undefined if any condition suffices, because an
 * administrator has uploaded the keys, or has declared that the issuer is the organization's own. Neither exempts an
 * issuer that everybody can use.
 */
export function ownerClaimsOf({ issuer, key_set, own_issuer }: IssuerOfProvider): OwnerClaims | undefined {
  const shared = sharedIssuer(issuer);
  if (shared !== undefined) return shared;
  if (own_issuer || key_set !== null) return undefined;
  return knownIssuers.find(({ isMeant }) => isMeant.test(issuer)) ?? unknownIssuer;
}

/** Conditions on claims, by the names of the claims, for instance those of a workload rule. */
export type OwnerConditions = Readonly<Record<string, OwnerCondition>>;
type OwnerCondition =
  | { readonly equals: string }
  | { readonly prefix: string }
  | { readonly oneOf: readonly string[] };

/** Whether only tokens of a named owner meet the conditions. */
export function fixesOwner(
  { ids, ownedSubject, ownedPrefix }: OwnerClaims,
  conditions: OwnerConditions,
): boolean {
  const conditionOf = (name: string) => (Object.hasOwn(conditions, name) ? conditions[name] : undefined);
  // A prefix doesn't suffice, because other ids may have the same prefix.
  if (ids.some((name) => isOfValues(conditionOf(name)))) return true;
  const subject = conditionOf('sub');
  if (subject === undefined) return false;
  if ('prefix' in subject) return ownedPrefix?.test(subject.prefix) === true;
  const values = 'equals' in subject ? [subject.equals] : subject.oneOf;
  return values.every((text) => ownedSubject?.test(text) === true);
}

function isOfValues(condition: OwnerCondition | undefined): boolean {
  return condition !== undefined && !('prefix' in condition);
}
