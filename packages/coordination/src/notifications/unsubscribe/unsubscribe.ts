import { type Answer, type Reply, reply, type Surroundings } from '@baton/kernel/http/service';
import type { Context } from '../context.ts';
import { notificationKinds } from '../kinds.ts';
import { turnMailOff } from '../preferences/preferences.ts';
import { openUnsubscribeLinks, type UnsubscribeLinks, type Unsubscription } from './unsubscribe-links.ts';
import { confirmationPage, donePage, invalidPage, pageHeaders } from './unsubscribe-page.ts';

const opened = new WeakMap<object, UnsubscribeLinks | undefined>();

/** The file with the keys is read once per process. */
function verify({ settings }: Context, token: string): Unsubscription | undefined {
  if (!opened.has(settings)) opened.set(settings, openUnsubscribeLinks(settings));
  return opened.get(settings)?.verify(token);
}

/** Shows the page with the button. Reads and changes nothing, and reveals nothing about the person. */
export function showUnsubscribe(context: Context, token: string): Reply<string> {
  const found = verify(context, token);
  return found === undefined
    ? invalid()
    : reply(200, confirmationPage(notificationKinds[found.kind].about), pageHeaders);
}

/** Verifies the link before anything is read from the database. The body contains nothing that isn't in the link. */
export async function unsubscribeAround(
  token: string,
  { context, incoming, command }: Surroundings<Unsubscription, Context>,
): Promise<Answer> {
  for await (const _ of incoming.read()) continue;
  const found = verify(context, token);
  if (found !== undefined) return command(found);
  const { status, body, headers } = invalid();
  return { status, body, headers };
}

/** Ends the e-mails of the kind at once (RFC 8058); repeating it changes nothing. */
export async function unsubscribe(context: Context, found: Unsubscription): Promise<Reply<string>> {
  // The link determines the tenant of this request.
  Object.assign(context, { tenantId: found.tenantId });
  await turnMailOff(context, found);
  return reply(200, donePage(notificationKinds[found.kind].about), pageHeaders);
}

function invalid(): Reply<string> {
  return reply(400, invalidPage(), pageHeaders);
}
