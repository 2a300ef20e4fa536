import type { Credential } from './credentials.ts';
import { BatonError } from './errors.ts';
import { readText } from './response-text.ts';
import { fetchTransport } from './transport.ts';
import { TimeLimit } from './wait.ts';

/**
 * Tokens that a program's platform issues, for example for a CI job, a pod or a SPIFFE workload. Identity exchanges
 * them for access tokens, so the program needs no stored secret (docs/workload-identity/README.md).
 */

type Environment = Readonly<Record<string, string | undefined>>;

/** A credential of the platform, which is read again before each exchange. */
export type WorkloadCredential = Extract<Credential, { readonly assertion: unknown }>;

const requestMsMax = 10_000;
/** Identity doesn't accept a longer token. */
const tokenCharactersMax = 16_000;

/**
 * Finds the token that the platform gives to this program, in this order: BATON_IDENTITY_TOKEN, the token itself;
 * BATON_IDENTITY_TOKEN_FILE, the path of a file, which is read before each exchange, because platforms replace it; and
 * in a job of GitHub Actions with `id-token: write`, ACTIONS_ID_TOKEN_REQUEST_URL and ACTIONS_ID_TOKEN_REQUEST_TOKEN,
 * with which a new token is requested before each exchange. BATON_TENANT_ID names the tenant.
 * @param url the address of Baton: the audience of requested tokens, unless BATON_IDENTITY_AUDIENCE is set
 * @returns undefined if none of these is set
 * @example
 * const found = findWorkloadCredential({ BATON_IDENTITY_TOKEN_FILE: '/var/run/secrets/tokens/job' }, url);
 * console.log(found === undefined ? 'no token' : 'this program has an identity');
 */
export function findWorkloadCredential(
  environment: Environment,
  url: string,
): WorkloadCredential | undefined {
  const assertion = sourceIn(environment, url);
  const { BATON_TENANT_ID: tenantId } = environment;
  return assertion && { assertion, ...(tenantId && { tenantId }) };
}

function sourceIn(environment: Environment, url: string): (() => Promise<string>) | undefined {
  const {
    BATON_IDENTITY_TOKEN: token,
    BATON_IDENTITY_TOKEN_FILE: file,
    BATON_IDENTITY_AUDIENCE: audience,
    ACTIONS_ID_TOKEN_REQUEST_URL: requestUrl,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: requestToken,
  } = environment;
  if (token) return async () => checked(token, 'BATON_IDENTITY_TOKEN');
  if (file) return async () => checked(readFile(file), 'the file of BATON_IDENTITY_TOKEN_FILE');
  if (requestUrl && requestToken)
    return () => requestFromGithub(requestUrl, requestToken, audience || url.replace(/\/+$/, ''));
  return undefined;
}

/** The environment of this program; empty in a browser. */
export function ownEnvironment(): Environment {
  return (globalThis as { process?: { readonly env?: Environment } }).process?.env ?? {};
}

/** This file also runs in browsers, so it imports nothing from Node. */
interface NodeProcess {
  getBuiltinModule?(name: 'node:fs'): { readFileSync(path: string, encoding: 'utf8'): string };
}

function readFile(path: string): string {
  const node = (globalThis as { process?: NodeProcess }).process;
  const files = node?.getBuiltinModule?.('node:fs');
  if (files === undefined) throw unavailable('BATON_IDENTITY_TOKEN_FILE needs Node 22.3 or newer');
  try {
    return files.readFileSync(path, 'utf8');
  } catch (cause) {
    throw unavailable(`the file of BATON_IDENTITY_TOKEN_FILE can't be read (${path})`, cause);
  }
}

/**
 * @throws BatonError for anything but the three parts of a signed JWT; the message never contains the string
 */
function checked(text: string, source: string): string {
  const token = text.trim();
  if (token.length > tokenCharactersMax || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token))
    throw unavailable(`${source} is no signed JWT of at most ${tokenCharactersMax} characters`);
  return token;
}

/**
 * The request contains a secret of the job, so it is sent only to that address: over https, and no redirect is
 * followed.
 */
async function requestFromGithub(
  requestUrl: string,
  requestToken: string,
  audience: string,
): Promise<string> {
  const url = URL.canParse(requestUrl) ? new URL(requestUrl) : undefined;
  if (url === undefined || !isPrivateWay(url))
    throw unavailable('ACTIONS_ID_TOKEN_REQUEST_URL must be an https address');
  url.searchParams.set('audience', audience);
  const limit = new TimeLimit(requestMsMax, undefined);
  try {
    const answer = await fetchTransport({
      method: 'GET',
      url: url.href,
      headers: { accept: 'application/json', authorization: `Bearer ${requestToken}` },
      body: undefined,
      signal: limit.signal,
    });
    if (answer.status !== 200) {
      await answer.body?.cancel().catch(() => undefined);
      throw unavailable(
        `GitHub refused a token for this job (status ${answer.status})`,
        undefined,
        answer.status >= 500,
      );
    }
    return checked(valueIn(await readText(answer)), 'the response of GitHub');
  } catch (cause) {
    if (cause instanceof BatonError) throw cause;
    throw unavailable('GitHub did not respond to the request for a token of this job', cause, true);
  } finally {
    limit.end();
  }
}

function isPrivateWay({ protocol, hostname }: URL): boolean {
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback);
}

function valueIn(text: string): string {
  try {
    const { value } = (JSON.parse(text) ?? {}) as { value?: unknown };
    return typeof value === 'string' ? value : '';
  } catch {
    return '';
  }
}

function unavailable(message: string, cause?: unknown, retryable = false): BatonError {
  return new BatonError({ code: 'no_identity_token', message, retryable, cause });
}
