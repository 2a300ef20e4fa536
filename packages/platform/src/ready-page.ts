import { invocation } from '../../../bin/invocation.mjs';
import type { Baton } from './baton.ts';

/** Prints the addresses and what to type next; never a secret. */
export function printReadyPage(
  {
    connection,
    signInUrl,
    reachableUrls,
    home,
  }: Pick<Baton, 'connection' | 'signInUrl' | 'reachableUrls' | 'home'>,
  say: (line: string) => void,
): void {
  const { publicUrl, identityUrl } = connection;
  say(`
Baton is ready at ${publicUrl}

  Open it in a browser. This address signs you in, once, within a minute; ${invocation()} console makes a new one.
  ${signInUrl}

  Coordination, its API and a page to try it   ${publicUrl}/docs
  Identity, its API and a page to try it       ${identityUrl}/docs
  Its data, secrets and logs                   ${home}${fromElsewhere(reachableUrls)}

Type next, in another terminal:

  ${invocation()} demo live   four agents work, slowly enough to watch them in the console
  ${invocation()} demo        sixteen agents drain a backlog, and the journal proves that all was done right
  ${invocation()} env         how to connect, as shell exports: eval "$(${invocation()} env)"
  ${invocation()} --help      everything else

Ctrl-C stops Baton and keeps its data. \`kill -HUP ${process.pid}\` reads keys and admin secrets again.`);
}

function fromElsewhere(urls: readonly string[]): string {
  if (urls.length === 0) return '';
  return `
  From other machines                          ${urls.join('\n                                               ')}

  Everybody who reaches these addresses can try to sign in, over plain http: put TLS in front (docs/operations.md). Other
  machines can't use /metrics or secrets of administrators; BATON_MANAGEMENT_NETWORKS lets some of them.`;
}
