interface PrivilegedScopeSettings {
  readonly IAM_PRIVILEGED_SCOPES: Readonly<Record<string, string>>;
  readonly IAM_PEOPLE_SCOPE: string;
  readonly IAM_PEOPLE_ADMIN_GROUP: string;
}

/**
 * The scopes that only members of a group get, each with the key of its group (see
 * docs/reference/tokens.md#privileged-scopes). Settings may add scopes and assign a built-in scope to another group;
 * they can't remove a built-in one.
 */
export function readPrivilegedScopes(settings: PrivilegedScopeSettings): ReadonlyMap<string, string> {
  return new Map([
    ['fleet:admin', 'fleet-admins'],
    [settings.IAM_PEOPLE_SCOPE, settings.IAM_PEOPLE_ADMIN_GROUP],
    ...Object.entries(settings.IAM_PRIVILEGED_SCOPES),
  ]);
}
