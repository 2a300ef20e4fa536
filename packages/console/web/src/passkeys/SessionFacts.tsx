import type { BrowserSession } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';

/** How and when a browser session began, when it was last used, and when it ends. */
export function SessionFacts({ session }: { session: BrowserSession }) {
  const { clientId, createdAt, lastUsedAt, idleExpiresAt } = session;
  const provider = clientId.startsWith('idp:') ? clientId.slice('idp:'.length) : undefined;
  return (
    <p className="soft">
      signed in {provider === undefined ? 'with a passkey' : `with ${provider}`} <Moment at={createdAt} /> ·
      last used <Moment at={lastUsedAt} /> · expires <Moment at={idleExpiresAt} /> unless used
    </p>
  );
}
