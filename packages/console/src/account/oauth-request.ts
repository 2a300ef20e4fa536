import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConsoleContext } from '../context.ts';
import { ConsoleRefusal } from '../refusal.ts';
import { readBody, requireText } from '../request-body.ts';
import { sendJson } from '../responses.ts';

/** A request that the address of an authorization contains is longer than other bodies. */
const bodyBytesMax = 16_384;

/** Reads the request of an OAuth client or a device, or decides it, as the signed-in person. */
export async function answerOauthRequest(
  { browsers }: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const members = ['act', 'request', 'userCode', 'principalId', 'scopes'] as const;
  const { act, request, userCode, principalId, scopes } = await readBody(req, members, bodyBytesMax);
  if (act !== 'read' && act !== 'allow' && act !== 'deny')
    throw new ConsoleRefusal(400, 'invalid_request', '`act` must be read, allow or deny.');
  const wanted = {
    ...(request === undefined ? { userCode: requireText('userCode', userCode) } : { request }),
    ...(principalId !== undefined && { principalId }),
  };
  // The scopes that the page showed, separated by spaces. No others may be granted.
  const shown = act === 'allow' ? requireText('scopes', scopes).split(' ') : undefined;
  const answer = await browsers.asPerson(req, async (identity, token): Promise<object> => {
    const { oauthRequests } = identity;
    return act === 'read'
      ? oauthRequests.read({ token, ...wanted })
      : oauthRequests.decide({ token, ...wanted, decision: act, ...(shown && { scopes: shown }) });
  });
  sendJson(res, 200, answer);
}
