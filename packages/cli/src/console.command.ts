import type { Command } from 'commander';
import open from 'open';
import { invocation } from '../../../bin/invocation.mjs';
import { type Access, findAccess, withClient } from './access.ts';
import { certificateProblem } from './certificate-error.ts';
import { type CommandContext, type CommonOptions, withCommonOptions } from './command-context.ts';
import { PlainError } from './plain-error.ts';
import { fieldsNamed } from './result-form.ts';
import { show } from './show.ts';

const answerMsMax = 15_000;

/** In seconds. This is long enough because the link, like a sign-in code, is opened at once. */
const passkeyLinkSeconds = 300;

interface ConsoleOptions extends CommonOptions {
  readonly browser: boolean;
  readonly passkey?: true;
}

/** `baton console`: prints and opens an address that signs one browser in, within a minute. */
export function addConsole(program: Command, context: CommandContext): void {
  const command = program
    .command('console')
    .description('open the console in your browser, signed in')
    .option('--no-browser', 'print the address only')
    .option(
      '--passkey',
      "print a link that adds a passkey of Baton's administrator; works on Baton's machine only",
    );
  withCommonOptions(command, fieldsNamed('url')).action(async (options: ConsoleOptions) => {
    const access = findAccess(options, context.config);
    const { coordinationUrl, token } = access;
    if (token === undefined) throw new PlainError('The console is for people: a workload has no browser.');
    const signIn = signInUrl(coordinationUrl, await newCode(coordinationUrl, token));
    const url = options.passkey === true ? await passkeyUrl(access, signIn) : signIn;
    await show(context.output, options, { url }, () => [
      options.passkey === true
        ? 'At this address you create a passkey and are signed in, once, within five minutes:'
        : 'This address signs you in, once, within a minute:',
      url,
    ]);
    // Without a terminal, for example in a script, opening a browser would be unexpected.
    if (options.browser && context.output.isTerminal) await open(url).catch(() => undefined);
  });
}

/** @returns the address of a recovery link for the caller, at the console of `signIn` */
async function passkeyUrl(access: Access, signIn: string): Promise<string> {
  const { adminSecret, tenantId } = access;
  if (adminSecret === undefined || tenantId === undefined)
    throw new PlainError(
      "--passkey requires Baton's connection file: run it on Baton's machine. Elsewhere, an administrator creates a recovery link on your page in the console.",
    );
  const secret = await withClient(access, async (baton) => {
    const { principal } = await baton.harness.getContext();
    const { bindings } = await baton.principals.getAccess(principal.id);
    const own = bindings.find(({ iamTenantId }) => iamTenantId === tenantId);
    if (own === undefined) throw new PlainError(`${principal.displayName} has no identity in this Baton.`);
    const body = { expiresInSeconds: passkeyLinkSeconds, replaceCredentials: false };
    return (await baton.identity.principals.createRecoveryLink(tenantId, own.iamPrincipalId, body)).token;
  });
  return `${new URL(signIn).origin}/invite#${secret}`;
}

interface CodeAnswer {
  readonly status: number;
  readonly code?: string;
  /** The console's own address for browsers. */
  readonly url?: string;
  readonly error?: { readonly message?: string };
}

async function newCode(baseUrl: string, token: string): Promise<CodeAnswer> {
  try {
    const answer = await fetch(`${baseUrl}/console/codes`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
      signal: AbortSignal.timeout(answerMsMax),
    });
    return { ...((await answer.json()) as Omit<CodeAnswer, 'status'>), status: answer.status };
  } catch (cause) {
    const why = certificateProblem(cause) ?? `${invocation()} start starts Baton here.`;
    throw new PlainError(`${baseUrl} can't be reached: ${why}`, { cause });
  }
}

function signInUrl(baseUrl: string, { status, code, url, error }: CodeAnswer): string {
  if (status === 201 && code !== undefined) return `${browserUrl(baseUrl, url)}/sign-in#code=${code}`;
  if (status === 404)
    throw new PlainError(
      `${baseUrl} serves no console: if the services run separately, ${invocation()} console serve serves it at its own address.`,
    );
  throw new PlainError(error?.message ?? `The console returned ${status}.`);
}

/**
 * Browsers accept passkeys at localhost, not at an IP address. Elsewhere, this program's own address is the right one.
 */
function browserUrl(baseUrl: string, told: string | undefined): string {
  const { protocol, hostname, port } = new URL(baseUrl);
  const isLoopback = /^(127(\.\d+){3}|\[::1\])$/.test(hostname);
  const local = `${protocol}//localhost${port === '' ? '' : `:${port}`}`;
  return isLoopback && told === local ? local : baseUrl;
}
