import { type BatonClient, BatonError, createClient, type IssuedToken } from '@baton/sdk';
import { setServerClock } from './server-clock.ts';

/** What the console's own server answers: an access token for the next minutes; the browser keeps it in memory alone. */
async function ask<Answer = IssuedToken>(path: string, body: object = {}, msMax = 15_000): Promise<Answer> {
  const answer = await fetch(`/console/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(msMax),
  });
  setServerClock(answer.headers.get('date'));
  const said = (await answer.json()) as Answer & { error?: { code: string; message: string } };
  if (said.error !== undefined)
    throw new BatonError({ ...said.error, code: said.error.code as never, status: answer.status });
  return said;
}

/** Every operation of Baton, as the person who is signed in. */
export const baton: BatonClient = createClient({
  url: location.origin,
  credential: { accessToken: () => ask('token') },
});

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

/** Tabs of one browser share its session: those that are open learn here that it is over. */
const endOfSession = new BroadcastChannel('baton.sign-out');

/** Ends the session of this browser, or of every browser that this person has signed in. */
export async function signOut({ isEverywhere = false } = {}): Promise<void> {
  await ask<object>('sign-out', isEverywhere ? { everywhere: 'yes' } : {});
  endOfSession.postMessage('signed out');
}

/** Calls back when another tab has signed out. @returns what ends it */
export function onSignedOutElsewhere(listener: () => void): () => void {
  endOfSession.addEventListener('message', listener);
  return () => endOfSession.removeEventListener('message', listener);
}

/** Whether this person may start and remove the demo of this Baton. */
export const demoState = () => ask<{ isAllowed: boolean }>('demo', { act: 'state' });

/** Starts the demo, or removes it; answered once that is done. */
export const runDemo = (act: 'start' | 'remove') => ask<object>('demo', { act }, 90_000);

/** Whether an error says that nobody is signed in. */
export function isSignedOut(error: unknown): error is BatonError {
  return error instanceof BatonError && error.status === 401;
}
