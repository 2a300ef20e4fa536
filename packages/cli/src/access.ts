import {
  type BatonClient,
  BatonError,
  type Credential,
  createClient,
  findWorkloadCredential,
  type Transport,
  type WireRequest,
} from '@baton/sdk';
import { visible } from '@baton/sdk/node';
import { invocation } from '../../../bin/invocation.mjs';
import type { CliConfig } from './config.ts';
import { type ConnectionOptions, findConnection, isThisMachine } from './connection.ts';
import { exitCodes } from './error-text.ts';
import { httpTransport } from './http-transport.ts';
import { PlainError } from './plain-error.ts';
import { readProfiles } from './profiles.ts';
import { credentialOfGrant } from './sign-in/profile-grant.ts';

/** The account that a command uses: a Baton and a credential. */
export interface Access {
  readonly coordinationUrl: string;
  readonly identityUrl: string;
  /**
   * A personal access token; undefined after a sign-in through the browser, or if the platform gives this job an
   * identity.
   */
  readonly token: string | undefined;
  /** The credential: the token, or the identity that the platform gives. */
  readonly credential: Credential;
  /** Identity's admin secret; only the owner of a Baton on this machine has it. */
  readonly adminSecret: string | undefined;
  readonly tenantId: string | undefined;
  readonly issuer: string | undefined;
  /** The source of this value, as text for people. */
  readonly source: string;
}

export interface AccessOptions extends ConnectionOptions {
  /** The name of a profile. */
  readonly profile?: string;
}

/**
 * Resolves the account of a command. Explicit settings take precedence, in this order: a flag (--profile,
 * --connection), then the environment (BATON_URL with BATON_TOKEN, BATON_URL with a job's identity, or
 * BATON_PROFILE), then the profile in use, then the Baton of this machine (BATON_HOME, or this folder or
 * checkout), as its administrator.
 * @throws PlainError, with exit code 4 if nobody is signed in
 */
export function findAccess(options: AccessOptions, config: CliConfig): Access {
  const { profile: named, connection, url } = options;
  if (named !== undefined && connection !== undefined)
    throw new PlainError('Give --profile or --connection, not both: each selects an account.', {
      exitCode: exitCodes.usage,
    });
  if (named !== undefined) return ofProfile(named, '--profile', options, config);
  if (connection !== undefined)
    return ofConnection(options, config, `the file ${connection}, as its administrator`);
  return (
    ofEnvironment(options, config) ?? ofCurrentProfile(options, config) ?? ofMachine(url, options, config)
  );
}

function ofEnvironment(options: AccessOptions, config: CliConfig): Access | undefined {
  const { BATON_URL = '', BATON_TOKEN = '', BATON_PROFILE = '' } = config.environment;
  const url = options.url ?? BATON_URL;
  if (BATON_TOKEN !== '' && url !== '')
    return ofUrl(url, BATON_TOKEN, `${options.url === undefined ? 'BATON_URL' : '--url'} and BATON_TOKEN`);
  if (BATON_TOKEN !== '') {
    // Like the SDK, uses the address of this machine's Baton with another token.
    const { coordinationUrl, identityUrl, tenantId, issuer } = ofConnection(options, config, '', true);
    const source = 'BATON_TOKEN, at the Baton of this machine';
    return {
      coordinationUrl,
      identityUrl,
      token: BATON_TOKEN,
      credential: { token: BATON_TOKEN },
      adminSecret: undefined,
      tenantId,
      issuer,
      source,
    };
  }
  const { BATON_IDENTITY_TOKEN, BATON_IDENTITY_TOKEN_FILE } = config.environment;
  if (BATON_URL !== '' || BATON_IDENTITY_TOKEN || BATON_IDENTITY_TOKEN_FILE) return ofWorkload(url, config);
  return BATON_PROFILE === '' ? undefined : ofProfile(BATON_PROFILE, 'BATON_PROFILE', options, config);
}

/** @throws PlainError if the platform gives this job no identity */
function ofWorkload(url: string, { environment }: CliConfig): Access {
  if (url === '')
    throw new PlainError(
      'BATON_IDENTITY_TOKEN or BATON_IDENTITY_TOKEN_FILE is set, but BATON_URL is not: set it to the address of Baton.',
      { exitCode: exitCodes.notSignedIn },
    );
  const credential = findWorkloadCredential(environment, baseOf(url));
  if (credential !== undefined) return ofUrl(url, credential, 'BATON_URL, as a workload');
  throw new PlainError(
    'BATON_URL is set, but BATON_TOKEN is not: set both, or in a pipeline BATON_IDENTITY_TOKEN_FILE.',
    { exitCode: exitCodes.notSignedIn },
  );
}

function ofCurrentProfile(options: AccessOptions, config: CliConfig): Access | undefined {
  const { current, profiles } = readProfiles(config);
  const { url } = options;
  if (url === undefined)
    return current === undefined ? undefined : ofProfile(current, 'in use', options, config);
  // A token is sent only to the address for which it was entered.
  const [name] = Object.keys(profiles)
    .filter((one) => baseOf(profiles[one]?.url ?? '') === baseOf(url))
    .sort((a, b) => Number(b === current) - Number(a === current));
  return name === undefined ? undefined : ofProfile(name, 'signed in at --url', options, config);
}

/** @param why the reason for this choice @throws PlainError for a profile that does not exist */
function ofProfile(name: string, why: string, { url }: AccessOptions, config: CliConfig): Access {
  const { profiles } = readProfiles(config);
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile !== undefined) {
    const given = profile.token ?? credentialOfGrant(name, config);
    return ofUrl(url ?? profile.url, given, `profile ${name} (${why})`);
  }
  const known = Object.keys(profiles);
  throw new PlainError(
    `There is no profile ${name} (${why}); ${known.length === 0 ? 'no profiles exist' : `valid profiles: ${known.join(', ')}`}. Create one with ${invocation()} login.`,
    { exitCode: exitCodes.notSignedIn },
  );
}

function ofMachine(url: string | undefined, options: AccessOptions, config: CliConfig): Access {
  const place = config.home === undefined ? 'this folder or checkout' : `BATON_HOME (${config.home})`;
  const at = url === undefined ? '' : ', at --url';
  if (url !== undefined && !isThisMachine(requireAddress(url)))
    throw new PlainError(
      `You are not signed in at ${url}: ${invocation()} login --url ${url} signs you in.`,
      {
        exitCode: exitCodes.notSignedIn,
      },
    );
  return ofConnection(options, config, `the connection file of ${place}${at}, as the administrator`);
}

const baseOf = (url: string) => url.replace(/\/+$/, '');

const nobodyText = ({ home }: CliConfig) =>
  home === undefined
    ? 'Nobody is signed in'
    : `BATON_HOME (${visible(home)}) has no connection.json, so nobody is signed in`;

/** @param source the description for people @throws PlainError without a connection file */
function ofConnection(
  options: AccessOptions,
  config: CliConfig,
  source: string,
  sendsOwnToken = false,
): Access {
  const found = findConnection(options, config, { sendsOwnToken });
  if (found === undefined)
    throw new PlainError(
      `${nobodyText(config)}: ${invocation()} login signs in to a Baton elsewhere, ${invocation()} start starts one here.`,
      { exitCode: exitCodes.notSignedIn },
    );
  const { coordinationUrl, identityUrl, adminToken, iamBootstrapToken, tenantId, issuer } = found;
  return {
    coordinationUrl,
    identityUrl,
    token: adminToken,
    credential: { token: adminToken },
    adminSecret: iamBootstrapToken,
    tenantId,
    issuer,
    source,
  };
}

/**
 * @param url the address of coordination; identity is below it at /iam
 * @param given a personal access token, or another credential
 */
export function ofUrl(url: string, given: string | Credential, source: string): Access {
  const base = requireAddress(url);
  const unknown = { adminSecret: undefined, tenantId: undefined, issuer: undefined };
  const [token, credential] = typeof given === 'string' ? [given, { token: given }] : [undefined, given];
  return { coordinationUrl: base, identityUrl: `${base}/iam`, token, credential, source, ...unknown };
}

/** @throws PlainError for an invalid address; returns it without trailing slashes */
function requireAddress(url: string): string {
  const base = baseOf(url);
  if (!/^https?:/.test(base) || !URL.canParse(base))
    throw new PlainError(`${url} is not an HTTP or HTTPS URL.`, { exitCode: exitCodes.usage });
  return base;
}

/** Runs `work` with a client, and closes its connections. @param onSend sees each request */
export async function withClient<Value>(
  { coordinationUrl, identityUrl, credential, adminSecret }: Access,
  work: (baton: BatonClient) => Promise<Value>,
  onSend: (request: WireRequest) => void = () => undefined,
): Promise<Value> {
  const { send, close } = httpTransport();
  let missing: Missing | undefined;
  const transport: Transport = async (request) => {
    onSend(request);
    const answer = await send(request);
    if (answer.status === 404)
      missing = {
        path: new URL(request.url).pathname,
        requestId: answer.headers.get('x-request-id') ?? undefined,
      };
    return answer;
  };
  try {
    return await work(
      createClient({
        coordinationUrl,
        identityUrl,
        credential,
        transport,
        ...(adminSecret !== undefined && { adminSecret }),
      }),
    );
  } catch (error) {
    throw missing === undefined ? error : withPath(error, missing);
  } finally {
    close();
  }
}

/** The last request that returned 404. */
interface Missing {
  readonly path: string;
  readonly requestId: string | undefined;
}

/**
 * Adds the path of the request to a not-found error that doesn't name the object; returns any other error unchanged.
 */
function withPath(error: unknown, { path, requestId }: Missing): unknown {
  if (!(error instanceof BatonError) || error.status !== 404 || error.requestId !== requestId) return error;
  const { code, message, status, details, cause } = error;
  if (Object.keys(details).length > 0) return error;
  return new BatonError({ code, message, status, requestId, cause, details: { path } });
}
