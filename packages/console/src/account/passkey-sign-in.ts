import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConsoleContext } from '../context.ts';
import { readPageKey } from '../cookies.ts';
import { ConsoleRefusal } from '../refusal.ts';
import { readBody, readCredential, requireText } from '../request-body.ts';
import { hashKey } from '../sessions.ts';
import type { Identity } from '../token-exchange.ts';
import { openSession, ownerOf, type StartedSession } from './opened-session.ts';

/**
 * Signs this browser in with a passkey. With `confirm`, the signed-in person proves that they are present: somebody
 * else's passkey is rejected, and the new session replaces theirs.
 */
export async function signInByPasskey(
  context: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { state, credential, confirm } = await readBody(req, ['state', 'credential', 'confirm']);
  const pageKeyHash = hashKey(readPageKey(req));
  const { browsers, exchange } = context;
  const present = confirm === undefined ? undefined : browsers.require(req).session.subject;
  const body: Parameters<Identity['passkeys']['signInBy']>[0] = {
    state: requireText('state', state),
    credential: readCredential(credential),
  };
  const started = await exchange.run(req, ({ passkeys }) => passkeys.signInBy(body));
  if (present !== undefined && present !== ownerOf(started)) {
    await endSession(context, req, started);
    throw new ConsoleRefusal(
      409,
      'signed_in_as_other',
      'This passkey belongs to another person. Use a passkey of the person who is signed in.',
    );
  }
  await openSession(context, req, res, started, pageKeyHash);
}

async function endSession({ exchange }: ConsoleContext, req: IncomingMessage, { token }: StartedSession) {
  await exchange.run(req, ({ browserSessions }) => browserSessions.endOwn({ token })).catch(() => undefined);
}
