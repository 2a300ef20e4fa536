import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConsoleContext } from '../context.ts';
import { readPageKey, sessionCookieOf } from '../cookies.ts';
import type { ProviderGrant } from '../provider-sign-in.ts';
import { ConsoleRefusal } from '../refusal.ts';
import { parseJson, readBody } from '../request-body.ts';
import { sendJson } from '../responses.ts';
import { hashKey } from '../sessions.ts';
import { type Identity, subjectOf, type TokenExchange } from '../token-exchange.ts';

type Started = Awaited<ReturnType<Identity['passkeys']['signInBy']>>;

type Acceptance = Parameters<Identity['invitations']['accept']>[0];

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
 * Accepts an invitation with the ID token of a sign-in through a provider.
 * @returns the new session and its owner
 */
export async function acceptByProvider(
  exchange: TokenExchange,
  req: IncomingMessage,
  token: string,
  grant: ProviderGrant,
): Promise<{ secret: string; subject: string }> {
  const federation = { identityProvider: grant.provider, token: await grant.idToken() };
  const started = await exchange.run(req, ({ invitations }) => invitations.accept({ token, federation }));
  return { secret: started.token, subject: ownerOf(started) };
}

async function openSession(
  { sessions, browsers, isSecure }: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
  started: Started,
  pageKeyHash: string,
): Promise<void> {
  await browsers.closeEarlier(req);
  const key = sessions.open({ secret: started.token }, ownerOf(started), pageKeyHash);
  sendJson(res, 200, {}, { 'set-cookie': sessionCookieOf(key, isSecure) });
}

async function endSession({ exchange }: ConsoleContext, req: IncomingMessage, { token }: Started) {
  await exchange.run(req, ({ browserSessions }) => browserSessions.endOwn({ token })).catch(() => undefined);
}

function ownerOf({ session: { tenantId, principalId } }: Started): string {
  return subjectOf(tenantId, principalId);
}

/** @throws ConsoleRefusal */
export function requireText(name: string, value: string | undefined): string {
  if (value !== undefined && value !== '') return value;
  throw new ConsoleRefusal(400, 'invalid_request', `\`${name}\` is required.`);
}

/** The browser's credential: an object as JSON. Identity validates it. @throws ConsoleRefusal */
export function readCredential<Credential extends object>(json: string | undefined): Credential {
  const credential = parseJson(json ?? '');
  if (typeof credential === 'object' && credential !== null && !Array.isArray(credential))
    return credential as Credential;
  throw new ConsoleRefusal(400, 'invalid_request', '`credential` must be an object as JSON.');
}
