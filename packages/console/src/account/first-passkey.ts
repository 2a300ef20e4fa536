import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConsoleContext } from '../context.ts';
import type { Owner } from '../first-passkeys.ts';
import { ConsoleRefusal } from '../refusal.ts';
import { readBody } from '../request-body.ts';
import { sendJson } from '../responses.ts';

/** Identity requires the same for a further passkey: the sign-in is at most 300 seconds old. */
const ageMsMax = 300_000;

/**
 * Whether a first passkey is offered. Signing in with a token alone isn't enough: a thief of the token could add a
 * passkey and keep the access. Only the operator, who also holds the admin secret, sees the address that this process
 * prints.
 */
export async function mayAddFirstPasskey(context: ConsoleContext, req: IncomingMessage): Promise<boolean> {
  const { firstPasskeys, browsers } = context;
  const { session } = browsers.require(req);
  if (firstPasskeys === undefined || session.token === undefined || session.isOperator !== true) return false;
  return session.ageMs <= ageMsMax && !(await firstPasskeys.has(ownerOf(session.subject)));
}

/**
 * Sends the secret of a link with which the page creates the person's first passkey at once.
 * @throws ConsoleRefusal 409 `browser_session_required`
 */
export async function beginFirstPasskey(
  context: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  await readBody(req, []);
  const { firstPasskeys, browsers } = context;
  if (!(await mayAddFirstPasskey(context, req)) || firstPasskeys === undefined)
    throw new ConsoleRefusal(
      409,
      'browser_session_required',
      'A first passkey requires the address that Baton printed at its start, opened within the last five minutes. An administrator can create a recovery link instead.',
    );
  const { subject } = browsers.require(req).session;
  sendJson(res, 200, { invitation: await firstPasskeys.createLink(ownerOf(subject)) });
}

/** @param subject as `subjectOf` writes it */
function ownerOf(subject: string): Owner {
  const [tenantId = '', principalId = ''] = JSON.parse(subject) as string[];
  return { tenantId, principalId };
}
