import { sortedSet } from '../../service/fields.ts';

/** The scopes that a person requests and those that the tenant allows. */
export interface ScopeRequest {
  readonly asked: readonly string[];
  readonly allowed: readonly string[];
  readonly memberOf: readonly string[];
  /** The key of the group that entitles to a privileged scope, by that scope. */
  readonly privileged: ReadonlyMap<string, string>;
}

export type ScopeAnswer =
  | {
      readonly isGranted: true;
      readonly scope: string[];
      readonly ceiling: string[];
      readonly used: string[];
    }
  /**
   * `groups`: the groups whose membership is missing.
   */
  | { readonly isGranted: false; readonly groups: string[] };

/**
 * Determines the scopes of a federated sign-in. A privileged scope is granted only to a member of its group who
 * requests it by name: an empty request never grants one.
 */
export function decideScopes({ asked, allowed, memberOf, privileged }: ScopeRequest): ScopeAnswer {
  if (asked.some((scope) => !allowed.includes(scope))) return { isGranted: false, groups: [] };
  const isEntitled = (scope: string) => {
    const group = privileged.get(scope);
    return group === undefined || memberOf.includes(group);
  };
  const refused = asked.filter((scope) => !isEntitled(scope));
  if (refused.length > 0)
    return { isGranted: false, groups: sortedSet(refused.map((scope) => privileged.get(scope) as string)) };
  return {
    isGranted: true,
    scope: sortedSet(asked.length > 0 ? asked : allowed.filter((scope) => !privileged.has(scope))),
    ceiling: sortedSet(allowed.filter(isEntitled)),
    used: asked.filter((scope) => privileged.has(scope)),
  };
}
