import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConsoleContext } from '../context.ts';
import { sessionCookieOf } from '../cookies.ts';
import { sendJson } from '../responses.ts';
import { type Identity, subjectOf } from '../token-exchange.ts';

/** A browser session that identity has just started, with its secret. */
export type StartedSession = Awaited<ReturnType<Identity['passkeys']['signInBy']>>;

/** Opens a console session for this browser and closes its earlier ones. The page never receives the secret. */
export async function openSession(
  { sessions, browsers, isSecure }: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
  started: StartedSession,
  pageKeyHash: string,
): Promise<void> {
  await browsers.closeEarlier(req);
  const key = sessions.open({ secret: started.token }, ownerOf(started), pageKeyHash);
  sendJson(res, 200, {}, { 'set-cookie': sessionCookieOf(key, isSecure) });
}

export function ownerOf({ session: { tenantId, principalId } }: StartedSession): string {
  return subjectOf(tenantId, principalId);
}
