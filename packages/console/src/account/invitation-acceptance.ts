import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConsoleContext } from '../context.ts';
import { readPageKey } from '../cookies.ts';
import type { ProviderGrant } from '../provider-sign-in.ts';
import { readBody, readCredential, requireText } from '../request-body.ts';
import { hashKey } from '../sessions.ts';
import type { Identity, TokenExchange } from '../token-exchange.ts';
import { openSession, ownerOf } from './opened-session.ts';

type Acceptance = Parameters<Identity['invitations']['accept']>[0];

/** Accepts an invitation or a recovery link with a new passkey, and signs this browser in. */
export async function acceptInvitation(
  context: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const given = await readBody(req, ['invitation', 'state', 'credential', 'name']);
  const pageKeyHash = hashKey(readPageKey(req));
  const token = requireText('invitation', given.invitation);
  const passkey: Acceptance['passkey'] = {
    state: requireText('state', given.state),
    credential: readCredential(given.credential),
    name: requireText('name', given.name),
  };
  const started = await context.exchange.run(req, ({ invitations }) =>
    invitations.accept({ token, passkey }),
  );
  await openSession(context, req, res, started, pageKeyHash);
}

/**
 * Accepts an invitation with the ID token of a sign-in through a provider. The session stores the grant, so it ends
 * when the person's account at the provider ends, as after any other sign-in through that provider.
 * @returns the new session and its owner
 */
export async function acceptByProvider(
  exchange: TokenExchange,
  req: IncomingMessage,
  token: string,
  grant: ProviderGrant,
): Promise<{ grant: ProviderGrant; secret: string; subject: string }> {
  const federation = { identityProvider: grant.provider, token: await grant.idToken() };
  const started = await exchange.run(req, ({ invitations }) => invitations.accept({ token, federation }));
  return { grant, secret: started.token, subject: ownerOf(started) };
}
