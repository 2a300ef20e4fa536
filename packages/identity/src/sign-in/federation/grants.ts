import { sortedSet } from '../../service/fields.ts';

/** What a person asks for and what the tenant allows; group key by privileged scope. */
export interface ScopeQuestion {
  readonly asked: readonly string[];
  readonly allowed: readonly string[];
  readonly memberOf: readonly string[];
  readonly privileged: ReadonlyMap<string, string>;
}

export type ScopeAnswer =
  | {
      readonly isGranted: true;
      readonly scope: string[];
      readonly ceiling: string[];
      readonly used: string[];
    }
  /** The groups that would have been needed. */
  | { readonly isGranted: false; readonly groups: string[] };

/**
 * Decides on the scopes of a federated sign-in (contract, sections 9.6 and 9.7). Privileged ones are granted to members
 * of their groups, and only when they are named: an empty request never brings one.
 */
export function decideScopes({ asked, allowed, memberOf, privileged }: ScopeQuestion): ScopeAnswer {
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
