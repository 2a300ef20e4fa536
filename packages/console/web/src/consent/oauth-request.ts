import { type IdentityAnswer, post } from '../client.ts';

/** An authorization request of a program, or the code of a device. */
export type Wanted = { readonly request: string } | { readonly userCode: string };

export type OauthRequest = IdentityAnswer<'oauthRequests', 'read'>;

const storedAs = 'baton-consent';
const lengthMax = 12_000;

/**
 * Moves the request from the fragment of the URL to the storage of this tab, in which it outlasts the sign-in. It is
 * sealed, and useless in another browser.
 */
export function takeWanted(): Wanted | undefined {
  const fragment = location.hash.slice(1);
  if (fragment !== '' && fragment.length <= lengthMax) {
    history.replaceState(null, '', location.pathname + location.search);
    sessionStorage.setItem(storedAs, fragment);
  }
  const given = new URLSearchParams(sessionStorage.getItem(storedAs) ?? '');
  const request = given.get('request');
  if (request) return { request };
  const userCode = given.get('code');
  return userCode === null ? undefined : { userCode };
}

export function forgetWanted(): void {
  sessionStorage.removeItem(storedAs);
}

/** @param principalId the agent whose workspaces are read; the person's own without it */
export const readRequest = (wanted: Wanted, principalId: string) =>
  post<OauthRequest>('oauth-request', { act: 'read', ...wanted, ...(principalId !== '' && { principalId }) });

/** @param shown what the page showed: the scopes, and the agent or the person as whom the program acts */
export const decideRequest = (
  wanted: Wanted,
  act: 'allow' | 'deny',
  { principalId, scopes }: { readonly principalId: string; readonly scopes: readonly string[] },
) =>
  post<{ redirectTo: string | null }>('oauth-request', {
    act,
    ...wanted,
    ...(act === 'allow' && { scopes: scopes.join(' ') }),
    ...(principalId !== '' && { principalId }),
  });

const rights: Readonly<Record<string, string>> = {
  'control-plane:read': 'Read tasks, projects and everything else you can see',
  'control-plane:write': 'Work on tasks and change what you may change',
  'control-plane:admin': 'Administer the workspaces that you administer',
};

/** What a scope allows, in words. */
export const rightOf = (scope: string) => rights[scope] ?? scope;

/** Where the rights apply. */
export function placesOf(workspaces: OauthRequest['workspaces']): string {
  if (workspaces === null) return 'They apply in every workspace in which the one it acts as has them.';
  const { names, hasMore } = workspaces;
  if (names.length === 0) return 'At present, they apply in no workspace.';
  const more = hasMore ? ' and more' : '';
  return `They apply in these workspaces, as far as the one it acts as has them: ${names.join(', ')}${more}.`;
}
