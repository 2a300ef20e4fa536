import { type BatonClient, BatonError, createClient, type IssuedToken } from '@baton/sdk';
import { forgetPageKey, pageKey } from './page-key.ts';
import { passkeyMessages } from './passkeys/messages.ts';
import { setServerClock } from './server-clock.ts';

/**
 * Sends a request to the console's own server. The access tokens in its responses are kept only in the browser's
 * memory.
 */
export async function post<Answer = IssuedToken>(
  path: string,
  body: object = {},
  msMax = 15_000,
): Promise<Answer> {
  const answer = await fetch(`/console/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'baton-console-key': pageKey() },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(msMax),
  });
  setServerClock(answer.headers.get('date'));
  const result = (await answer.json()) as Answer & { error?: { code: string; message: string } };
  if (result.error !== undefined) {
    const { code, message } = result.error;
    const described = passkeyMessages[code] ?? message;
    throw new BatonError({ ...result.error, code: code as never, message: described, status: answer.status });
  }
  return result;
}

/** Tabs of one browser share its session. This channel announces that it ended, or that somebody else signed in. */
const news = new BroadcastChannel('baton.session');
const signedOut = 'signed out';
/** The owner of this page: the principal of its first access token. */
let person: string | undefined;

/** Never resolves if the session's owner has changed: a page opened by Ada must not write as Grace. */
async function accessToken(): Promise<IssuedToken> {
  const { person: owner, ...token } = await post<IssuedToken & { person: string }>('token');
  if (person !== undefined && owner !== person) return reloadPage();
  if (person === undefined) news.postMessage(owner);
  person = owner;
  return token;
}

/** A reload discards all data of the previous person; the page then belongs to the person who is signed in now. */
function reloadPage(): Promise<never> {
  location.reload();
  return new Promise(() => undefined);
}

/** The Baton API, as the signed-in person. */
export const baton: BatonClient = createClient({ url: location.origin, credential: { accessToken } });

/** Makes the next call request a new access token, which contains the time of the newest sign-in. */
export async function discardAccessToken(): Promise<void> {
  const held = baton.accessToken?.held();
  if (held !== undefined) baton.accessToken?.forget(held);
}

/** The credential of a sign-in: a code that was printed in a terminal, or a personal access token. */
export type Given = { readonly code: string; readonly replace?: 'yes' } | { readonly token: string };

/**
 * Signs this browser in. If it is already signed in as somebody else, a code is rejected with `signed_in_as_other`
 * unless `replace` is set.
 */
export const signIn = (given: Given) => post('sign-in', given);

/** Keys of the identity providers that people can sign in with. */
export const signInProviders = async () =>
  (await post<{ providers: readonly string[] }>('providers')).providers;

/**
 * Redirects to an identity provider.
 * @param next the console path to open afterwards
 * @param more the secret of the invitation that the sign-in accepts, and whether the person must authenticate again
 */
export async function signInThrough(
  provider: string,
  next: string,
  { invitation, isFresh = false }: { invitation?: string; isFresh?: boolean } = {},
): Promise<void> {
  const given = {
    provider,
    next,
    ...(invitation !== undefined && { invitation }),
    ...(isFresh && { fresh: 'yes' }),
  };
  const { url } = await post<{ url: string }>('provider-sign-in', given);
  location.assign(url);
}

/** Redirects an administrator to an identity provider to test it. This signs nobody in. */
export async function testThrough(provider: string, next: string): Promise<void> {
  const { url } = await post<{ url: string }>('provider-sign-in', { provider, next, test: 'yes' });
  location.assign(url);
}

/** The result of a sign-in that tested a provider. */
export type TestedSignIn = { readonly provider: string } & (
  | { readonly idToken: string }
  | { readonly failed: 'authorization' | 'exchange'; readonly code: string; readonly detail: string }
);

/** Takes the result of the last test, once. */
export const takeTestedSignIn = () => post<TestedSignIn>('provider-test');

/** Ends the session of this browser, or of every browser that this person has signed in. */
export async function signOut({ isEverywhere = false } = {}): Promise<void> {
  await post<object>('sign-out', isEverywhere ? { everywhere: 'yes' } : {});
  forgetPageKey();
  news.postMessage(signedOut);
}

/**
 * Leaves the page when another tab signs out, and reloads it when another tab signs in as somebody else.
 * @returns a function that stops it
 */
export function followOtherTabs(): () => void {
  const follow = ({ data }: MessageEvent<string>) => {
    if (data === signedOut) location.assign('/sign-in');
    // A tab of the same person changes nothing.
    else if (person !== undefined && data !== person) void reloadPage();
  };
  news.addEventListener('message', follow);
  return () => news.removeEventListener('message', follow);
}

type Answer<Call extends (...args: never[]) => unknown> = Awaited<ReturnType<Call>>;
type Identity = BatonClient['identity'];

export type IdentityAnswer<
  Group extends keyof Identity,
  Call extends keyof Identity[Group],
> = Identity[Group][Call] extends (...args: never[]) => unknown ? Answer<Identity[Group][Call]> : never;

export type Passkey = Answer<Identity['passkeys']['listOwn']>['items'][number];
export type BrowserSession = Answer<Identity['browserSessions']['listOwn']>['items'][number];
export type OwnGrant = Answer<Identity['oauthGrants']['listOwn']>['items'][number];

/** How this browser is signed in. Only a browser session of identity can manage passkeys and sessions. */
export type Account =
  | { readonly signedInBy: 'token'; readonly mayAddPasskey: boolean }
  | {
      readonly signedInBy: 'session';
      /** The key of the identity provider; null after a sign-in with a passkey or an invitation. */
      readonly provider: string | null;
      readonly passkeys: readonly Passkey[];
      readonly sessions: readonly BrowserSession[];
      readonly currentId: string;
      readonly grants: readonly OwnGrant[];
    };

export const readAccount = () => post<Account>('account');

/** Whether this person may start and remove the demo. */
export const demoState = () => post<{ isAllowed: boolean }>('demo', { act: 'state' });

/** Starts or removes the demo; resolves when it has finished. */
export const runDemo = (act: 'start' | 'remove') => post<object>('demo', { act }, 90_000);

/** Whether an error means that nobody is signed in. */
export function isSignedOut(error: unknown): error is BatonError {
  return error instanceof BatonError && error.status === 401;
}
