interface PrivilegedScopeSettings {
  readonly IAM_PRIVILEGED_SCOPES: Readonly<Record<string, string>>;
  readonly IAM_PEOPLE_SCOPE: string;
  readonly IAM_PEOPLE_ADMIN_GROUP: string;
}

/**
 * The scopes that only members of a group get, each with its group's key (contract, section 9.6). Settings may add
 * scopes and point a built-in one to another group; they can't take a built-in one away.
 */
export function readPrivilegedScopes(settings: PrivilegedScopeSettings): ReadonlyMap<string, string> {
  return new Map([
    ['fleet:admin', 'fleet-admins'],
    [settings.IAM_PEOPLE_SCOPE, settings.IAM_PEOPLE_ADMIN_GROUP],
    ...Object.entries(settings.IAM_PRIVILEGED_SCOPES),
  ]);
}
