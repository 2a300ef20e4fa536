import { type BatonClient, BatonError, createClient, type IssuedToken } from '@baton/sdk';
import { forgetPageKey, pageKey } from './page-key.ts';
import { setServerClock } from './server-clock.ts';

/** What the console's own server answers: an access token for the next minutes; the browser keeps it in memory alone. */
async function ask<Answer = IssuedToken>(path: string, body: object = {}, msMax = 15_000): Promise<Answer> {
  const answer = await fetch(`/console/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'baton-console-key': pageKey() },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(msMax),
  });
  setServerClock(answer.headers.get('date'));
  const said = (await answer.json()) as Answer & { error?: { code: string; message: string } };
  if (said.error !== undefined)
    throw new BatonError({ ...said.error, code: said.error.code as never, status: answer.status });
  return said;
}

/** Tabs of one browser share its session: those that are open learn here that it is over, or whose it is now. */
const news = new BroadcastChannel('baton.session');
const signedOut = 'signed out';
/** Whose this page is: of whom its first access token was. */
let person: string | undefined;

/** Never answers where the session is somebody else's by now: this page is Ada's, and would write as Grace. */
async function accessToken(): Promise<IssuedToken> {
  const { person: owner, ...token } = await ask<IssuedToken & { person: string }>('token');
  if (person !== undefined && owner !== person) return startAnew();
  if (person === undefined) news.postMessage(owner);
  person = owner;
  return token;
}

/** Loaded again, the page holds nothing of who was here before, and is of whoever is signed in now. */
function startAnew(): Promise<never> {
  location.reload();
  return new Promise(() => undefined);
}

/** Every operation of Baton, as the person who is signed in. */
export const baton: BatonClient = createClient({ url: location.origin, credential: { accessToken } });

/** What signs a browser in: a code that was printed in a terminal, or a personal access token. */
export type Given = { readonly code: string; readonly replace?: 'yes' } | { readonly token: string };

/**
 * Signs this browser in. A code of somebody else than this browser is signed in as is refused with `signed_in_as_other`,
 * unless it shall replace that sign-in.
 */
export const signIn = (given: Given) => ask('sign-in', given);

/** Keys of the identity providers through which people may sign in here. */
export const signInProviders = async () =>
  (await ask<{ providers: readonly string[] }>('providers')).providers;

/** Leaves for an identity provider. @param next where in the console to go afterwards */
export async function signInThrough(provider: string, next: string): Promise<void> {
  const { url } = await ask<{ url: string }>('provider-sign-in', { provider, next });
  location.assign(url);
}

/** Ends the session of this browser, or of every browser that this person has signed in. */
export async function signOut({ isEverywhere = false } = {}): Promise<void> {
  await ask<object>('sign-out', isEverywhere ? { everywhere: 'yes' } : {});
  forgetPageKey();
  news.postMessage(signedOut);
}

/**
 * Leaves the page when another tab has signed out, and loads it again when somebody else has signed in there.
 * @returns what ends it
 */
export function followOtherTabs(): () => void {
  const follow = ({ data }: MessageEvent<string>) => {
    if (data === signedOut) location.assign('/sign-in');
    // A tab that was loaded as the same person tells no news.
    else if (person !== undefined && data !== person) void startAnew();
  };
  news.addEventListener('message', follow);
  return () => news.removeEventListener('message', follow);
}

/** Whether this person may start and remove the demo of this Baton. */
export const demoState = () => ask<{ isAllowed: boolean }>('demo', { act: 'state' });

/** Starts the demo, or removes it; answered once that is done. */
export const runDemo = (act: 'start' | 'remove') => ask<object>('demo', { act }, 90_000);

/** Whether an error says that nobody is signed in. */
export function isSignedOut(error: unknown): error is BatonError {
  return error instanceof BatonError && error.status === 401;
}
