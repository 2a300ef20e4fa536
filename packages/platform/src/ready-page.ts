import { invocation } from '../../../bin/invocation.mjs';
import type { Baton } from './baton.ts';

/** Prints the URLs and the next commands; never a secret. */
export function printReadyPage(
  {
    connection,
    consoleUrl,
    signInUrl,
    reachableUrls,
    home,
  }: Pick<Baton, 'connection' | 'consoleUrl' | 'signInUrl' | 'reachableUrls' | 'home'>,
  say: (line: string) => void,
): void {
  const { publicUrl, identityUrl } = connection;
  say(`
Baton is ready at ${publicUrl}

  Open this link to sign in. It works once, within a minute; ${invocation()} console creates a new one.
  ${signInUrl}
  If you have no passkey yet, click your name there and add one within five minutes.

  The console, where people use passkeys       ${consoleUrl}
  Coordination, its API and a page to try it   ${publicUrl}/docs
  Identity, its API and a page to try it       ${identityUrl}/docs
  Its data, secrets and logs                   ${home}${fromElsewhere(reachableUrls)}

Next, in another terminal:

  ${invocation()} demo live   watch four agents work, in the console
  ${invocation()} demo        sixteen agents complete a backlog, verified by the journal
  ${invocation()} env         print the connection details as shell exports: eval "$(${invocation()} env)"
  ${invocation()} --help      list all commands

Press Ctrl-C to stop Baton; its data is kept. \`kill -HUP ${process.pid}\` reloads keys and admin secrets.`);
}

function fromElsewhere(urls: readonly string[]): string {
  if (urls.length === 0) return '';
  return `
  From other machines                          ${urls.join('\n                                               ')}

  These URLs use unencrypted HTTP. Put a TLS proxy in front (docs/operations.md). Other machines can't use /metrics
  or administrator secrets unless BATON_MANAGEMENT_NETWORKS allows them.`;
}
