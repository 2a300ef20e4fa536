import { type BatonClient, BatonError, createClient, type IssuedToken } from '@baton/sdk';
import { forgetPageKey, pageKey } from './page-key.ts';
import { setServerClock } from './server-clock.ts';

/**
 * Sends a request to the console's own server. The access tokens in its responses are kept only in the browser's
 * memory.
 */
async function post<Answer = IssuedToken>(path: string, body: object = {}, msMax = 15_000): Promise<Answer> {
  const answer = await fetch(`/console/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'baton-console-key': pageKey() },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(msMax),
  });
  setServerClock(answer.headers.get('date'));
  const result = (await answer.json()) as Answer & { error?: { code: string; message: string } };
  if (result.error !== undefined)
    throw new BatonError({ ...result.error, code: result.error.code as never, status: answer.status });
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

/** Redirects to an identity provider. @param next the console path to open afterwards */
export async function signInThrough(provider: string, next: string): Promise<void> {
  const { url } = await post<{ url: string }>('provider-sign-in', { provider, next });
  location.assign(url);
}

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

/** Whether this person may start and remove the demo. */
export const demoState = () => post<{ isAllowed: boolean }>('demo', { act: 'state' });

/** Starts or removes the demo; resolves when it has finished. */
export const runDemo = (act: 'start' | 'remove') => post<object>('demo', { act }, 90_000);

/** Whether an error means that nobody is signed in. */
export function isSignedOut(error: unknown): error is BatonError {
  return error instanceof BatonError && error.status === 401;
}
