import type { PersonKind, PersonState } from '@baton/sdk/people';

/** The kinds of principals by their value in the URL. */
export const kindNames: Readonly<Record<PersonKind, string>> = {
  human: 'people',
  agent: 'agents',
  service: 'services',
};

export const stateNames: Readonly<Record<PersonState, string>> = {
  active: 'active',
  invited: 'invited',
  no_access: 'no access',
  disabled: 'disabled',
};

/** The parameters in the URL of the page People and agents. */
export interface PeopleSearch {
  readonly kind?: PersonKind;
  readonly state?: PersonState;
  /** The key of an access role. */
  readonly role?: string;
  readonly q?: string;
  /** Whether the dialog for an invitation is open. */
  readonly invite?: boolean;
}

/** Parses the URL; unknown parameters are dropped. */
export function peopleSearch({ kind, state, role, q, invite }: Record<string, unknown>): PeopleSearch {
  return {
    ...(isKeyOf(kindNames, kind) && { kind }),
    ...(isKeyOf(stateNames, state) && { state }),
    ...(typeof role === 'string' && /^[a-z][a-z0-9-]{1,31}$/.test(role) && { role }),
    ...(typeof q === 'string' && q.trim() !== '' && { q: q.slice(0, 200) }),
    ...(invite === true && { invite }),
  };
}

function isKeyOf<Key extends string>(names: Readonly<Record<Key, string>>, value: unknown): value is Key {
  return typeof value === 'string' && Object.hasOwn(names, value);
}
