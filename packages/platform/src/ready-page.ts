import { invocation } from '../../../bin/invocation.mjs';
import type { Baton } from './baton.ts';

/** Prints the addresses and what to type next; never a secret. */
export function printReadyPage({ connection, signInUrl, home }: Baton, say: (line: string) => void): void {
  const { publicUrl, identityUrl } = connection;
  say(`
Baton is ready at ${publicUrl}

  Open it in a browser. This address signs you in, once, within a minute; ${invocation()} console makes a new one.
  ${signInUrl}

  Coordination, its API and a page to try it   ${publicUrl}/docs
  Identity, its API and a page to try it       ${identityUrl}/docs
  Its data, secrets and logs                   ${home}

Type next, in another terminal:

  ${invocation()} demo live   four agents work, slowly enough to watch them in the console
  ${invocation()} demo        sixteen agents drain a backlog, and the journal proves that all was done right
  ${invocation()} env         how to connect, as shell exports: eval "$(${invocation()} env)"
  ${invocation()} --help      everything else

Ctrl-C stops Baton and keeps its data. \`kill -HUP ${process.pid}\` reads keys and admin secrets again.`);
}
