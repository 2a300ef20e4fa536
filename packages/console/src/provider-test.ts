import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConsoleContext } from './context.ts';
import { ConsoleRefusal } from './refusal.ts';
import { readBody } from './request-body.ts';
import { sendJson } from './responses.ts';

/** @throws ConsoleRefusal 403 unless the signed-in person has the permission `admin` */
export async function requireAdministrator(
  { browsers, exchange }: ConsoleContext,
  req: IncomingMessage,
): Promise<void> {
  const { accessToken } = await browsers.issueToken(req);
  const { permissions } = await exchange.findPrincipal(accessToken);
  if (!permissions.includes('admin'))
    throw new ConsoleRefusal(403, 'permission_denied', 'Only administrators can test an identity provider.');
}

/**
 * Sends the result of the last test of a provider, once, to the browser that began it. Its ID token is the
 * administrator's own; the page presents it to identity's test, which changes nothing.
 */
export async function takeTested(
  { browsers, sessions }: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  await readBody(req, []);
  const tested = sessions.takeTested(browsers.require(req).key);
  if (tested === undefined)
    throw new ConsoleRefusal(
      404,
      'provider_test_not_found',
      'The result of this test was already shown, or is more than five minutes old. Repeat the test.',
    );
  sendJson(res, 200, tested);
}
