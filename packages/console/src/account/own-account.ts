import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConsoleContext } from '../context.ts';
import { ConsoleRefusal } from '../refusal.ts';
import { readBody, readCredential, requireText } from '../request-body.ts';
import { sendJson } from '../responses.ts';
import type { Identity } from '../token-exchange.ts';
import { mayAddFirstPasskey } from './first-passkey.ts';

/** Returns how this browser is signed in and, if it uses a session of identity, the person's passkeys and sessions. */
export async function readAccount(
  context: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { browsers } = context;
  await readBody(req, []);
  const { grant, token } = browsers.require(req).session;
  if (token !== undefined)
    return sendJson(res, 200, {
      signedInBy: 'token',
      mayAddPasskey: await mayAddFirstPasskey(context, req),
    });
  const account = await browsers.asPerson(req, async (identity, secret) => {
    const [passkeys, sessions, grants] = await Promise.all([
      identity.passkeys.listOwn({ token: secret }),
      identity.browserSessions.listOwn({ token: secret }),
      identity.oauthGrants.listOwn({ token: secret }),
    ]);
    return {
      passkeys: passkeys.items,
      sessions: sessions.items,
      currentId: sessions.currentId,
      grants: grants.items,
    };
  });
  sendJson(res, 200, { signedInBy: 'session', provider: grant?.provider ?? null, ...account });
}

type PasskeyFields = Partial<Record<'id' | 'name' | 'state' | 'credential', string>>;

const passkeyActs: Readonly<
  Record<string, (identity: Identity, token: string, fields: PasskeyFields) => Promise<object | undefined>>
> = {
  options: ({ passkeys }, token) => passkeys.getRegistrationOptions({ token }),
  register: ({ passkeys }, token, { state, name, credential }) =>
    passkeys.register({
      token,
      state: requireText('state', state),
      name: requireText('name', name),
      credential: readCredential(credential),
    }),
  rename: ({ passkeys }, token, { id, name }) =>
    passkeys.renameOwn({ token, passkeyId: requireText('id', id), name: requireText('name', name) }),
  remove: ({ passkeys }, token, { id }) => passkeys.removeOwn({ token, passkeyId: requireText('id', id) }),
};

/** Adds, renames or removes a passkey of the signed-in person. */
export async function changePasskeys(
  { browsers }: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { act = '', ...fields } = await readBody(req, ['act', 'id', 'name', 'state', 'credential']);
  const change = Object.hasOwn(passkeyActs, act) ? passkeyActs[act] : undefined;
  if (change === undefined)
    throw new ConsoleRefusal(400, 'invalid_request', '`act` must be options, register, rename or remove.');
  sendJson(
    res,
    200,
    (await browsers.asPerson(req, (identity, secret) => change(identity, secret, fields))) ?? {},
  );
}

/** Ends one other session of the signed-in person, or all others. */
export async function changeSessions(
  { browsers, sessions }: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { act, id } = await readBody(req, ['act', 'id']);
  if (act !== 'end' && act !== 'end-others')
    throw new ConsoleRefusal(400, 'invalid_request', '`act` must be end or end-others.');
  await browsers.asPerson(req, ({ browserSessions }, token) =>
    act === 'end'
      ? browserSessions.revokeOwn({ token, browserSessionId: requireText('id', id) })
      : browserSessions.revokeOther({ token }),
  );
  if (act === 'end-others') sessions.closeOthersOf(browsers.require(req).key);
  sendJson(res, 200, {});
}

/** Ends the access that the signed-in person has granted to a program. */
export async function endGrant(
  { browsers }: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { id } = await readBody(req, ['id']);
  const grantId = requireText('id', id);
  await browsers.asPerson(req, ({ oauthGrants }, token) => oauthGrants.revokeOwn({ token, grantId }));
  sendJson(res, 200, {});
}
