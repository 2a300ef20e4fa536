import { type BatonClient, createClient } from '@baton/sdk';
import { invocation } from '../../../bin/invocation.mjs';
import type { CliConfig } from './config.ts';
import { type ConnectionOptions, findConnection } from './connection.ts';
import { exitCodes } from './error-text.ts';
import { httpTransport } from './http-transport.ts';
import { PlainError } from './plain-error.ts';
import { readProfiles } from './profiles.ts';

/** As whom a command acts, and where. */
export interface Access {
  readonly coordinationUrl: string;
  readonly identityUrl: string;
  /** A personal access token. */
  readonly token: string;
  /** Of identity's administration; only the owner of a Baton on this machine has it. */
  readonly adminSecret: string | undefined;
  readonly tenantId: string | undefined;
  readonly issuer: string | undefined;
  /** Where this was found, for people. */
  readonly source: string;
}

export interface AccessOptions extends ConnectionOptions {
  /** The name of a profile. */
  readonly profile?: string;
}

/**
 * Finds out as whom a command acts: by --connection or BATON_HOME, by BATON_URL and BATON_TOKEN, by --profile or the
 * profile in use, else by the Baton of this folder or checkout.
 * @throws PlainError, with exit code 4 where nobody is signed in
 */
export function findAccess(options: AccessOptions, config: CliConfig): Access {
  const { BATON_URL: url = '', BATON_TOKEN: token = '', BATON_PROFILE = '' } = config.environment;
  const isFile = options.connection !== undefined || config.home !== undefined;
  const name = options.profile ?? (BATON_PROFILE || undefined);
  if (name === undefined && !isFile && url !== '' && token !== '')
    return ofUrl(url, token, 'BATON_URL and BATON_TOKEN');
  if (!isFile) {
    const { current, profiles } = readProfiles(config);
    const used = name ?? current;
    const profile = used === undefined ? undefined : profiles[used];
    if (profile !== undefined) return ofUrl(options.url ?? profile.url, profile.token, `profile ${used}`);
    if (name !== undefined)
      throw new PlainError(`There is no profile ${name}: ${invocation()} context lists them.`, {
        exitCode: exitCodes.notSignedIn,
      });
  }
  const found = findConnection(options, config);
  if (found === undefined)
    throw new PlainError(
      `Nobody is signed in: ${invocation()} login signs in to a Baton elsewhere, ${invocation()} start starts one here.`,
      { exitCode: exitCodes.notSignedIn },
    );
  const { coordinationUrl, identityUrl, adminToken, iamBootstrapToken, tenantId, issuer } = found;
  const source = 'the Baton of this machine, as its administrator';
  return {
    coordinationUrl,
    identityUrl,
    token: adminToken,
    adminSecret: iamBootstrapToken,
    tenantId,
    issuer,
    source,
  };
}

/** @param url of coordination; identity is below it at /iam */
export function ofUrl(url: string, token: string, source: string): Access {
  const base = url.replace(/\/+$/, '');
  if (!/^https?:/.test(base) || !URL.canParse(base))
    throw new PlainError(`${url} is not an http address.`, { exitCode: exitCodes.usage });
  const unknown = { adminSecret: undefined, tenantId: undefined, issuer: undefined };
  return { coordinationUrl: base, identityUrl: `${base}/iam`, token, source, ...unknown };
}

/** Runs `work` with a client, and closes its connections. */
export async function withClient<Value>(
  { coordinationUrl, identityUrl, token, adminSecret }: Access,
  work: (baton: BatonClient) => Promise<Value>,
): Promise<Value> {
  const { send: transport, close } = httpTransport();
  try {
    return await work(
      createClient({
        coordinationUrl,
        identityUrl,
        credential: { token },
        transport,
        ...(adminSecret !== undefined && { adminSecret }),
      }),
    );
  } finally {
    close();
  }
}
