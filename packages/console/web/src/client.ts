import { type BatonClient, BatonError, createClient, type IssuedToken } from '@baton/sdk';

/** What the console's own server answers: an access token for the next minutes; the browser keeps it in memory alone. */
async function ask(path: string, body: object = {}): Promise<IssuedToken> {
  const answer = await fetch(`/console/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(15_000),
  });
  const said = (await answer.json()) as IssuedToken & { error?: { code: string; message: string } };
  if (said.error !== undefined)
    throw new BatonError({ ...said.error, code: said.error.code as never, status: answer.status });
  return said;
}

/** Every operation of Baton, as the person who is signed in. */
export const baton: BatonClient = createClient({
  url: location.origin,
  credential: { accessToken: () => ask('token') },
});

/** Signs this browser in by a code that was printed in a terminal, or by a personal access token. */
export const signIn = (given: { code: string } | { token: string }) => ask('sign-in', given);

/** Ends the session of this browser. */
export const signOut = () => ask('sign-out');

/** Whether an error says that nobody is signed in. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof BatonError && error.status === 401;
}
