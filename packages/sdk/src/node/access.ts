import type { Credential } from '../credentials.ts';
import { findWorkloadCredential } from '../workload-identity.ts';
import { ConnectionError, type ConnectionPlaces, findConnection } from './connection.ts';

/** The addresses of Baton, and the credential of a program on this machine. */
export interface Access {
  readonly coordinationUrl: string;
  readonly identityUrl: string;
  /** A personal access token; undefined if the program has an identity from its platform instead. */
  readonly token: string | undefined;
  /** For `createClient`: the token, or the identity. */
  readonly credential: Credential;
}

/**
 * Finds the connection of a program to Baton: from BATON_URL and BATON_TOKEN, or without a token from the identity that
 * its platform provides (`findWorkloadCredential`); otherwise from the connection file of this machine's Baton, as its
 * administrator or as the owner of BATON_TOKEN. The administrator's token is sent to this machine's Baton only, never to
 * a configured address.
 * @param folders the folders whose `.baton` is searched if BATON_HOME is not set
 * @example
 * const { coordinationUrl, identityUrl, credential } = findAccess({ BATON_HOME: `${folder}/.baton` }, []);
 * const own = createClient({ coordinationUrl, identityUrl, credential });
 * console.log((await own.harness.getContext()).principal.displayName);
 * @throws ConnectionError with a message for the user that names what to set
 */
export function findAccess(
  environment: Readonly<Record<string, string | undefined>>,
  folders: ConnectionPlaces['folders'],
): Access {
  const {
    BATON_URL: url = '',
    BATON_TOKEN: token = '',
    BATON_HOME: home,
    BATON_PROFILE: profile,
  } = environment;
  if (url !== '') return accessAt(url, token, environment);
  // Only the command line has profiles. If another program ignored the variable, it would act as the administrator
  // instead of the profile's user.
  if (profile && token === '')
    throw new ConnectionError(
      'BATON_PROFILE is for commands of the command line only: set BATON_URL and BATON_TOKEN here, or unset it.',
    );
  // A program that was given an identity doesn't expect to act as the administrator, so the connection file isn't used.
  if (token === '' && (environment['BATON_IDENTITY_TOKEN'] || environment['BATON_IDENTITY_TOKEN_FILE']))
    throw new ConnectionError(
      'BATON_IDENTITY_TOKEN or BATON_IDENTITY_TOKEN_FILE is set, but BATON_URL is not: set it to the address of Baton.',
    );
  const found = findConnection({ home: home || undefined, folders, sendsOwnToken: token !== '' });
  if (found === undefined)
    throw new ConnectionError(
      'No Baton was found here: start one with `baton start`, or set BATON_URL and BATON_TOKEN, or BATON_HOME.',
    );
  const { coordinationUrl, identityUrl, adminToken } = found;
  const used = token === '' ? adminToken : token;
  return { coordinationUrl, identityUrl, token: used, credential: { token: used } };
}

function accessAt(
  url: string,
  token: string,
  environment: Readonly<Record<string, string | undefined>>,
): Access {
  if (!/^https?:/.test(url) || !URL.canParse(url))
    throw new ConnectionError('BATON_URL must be an address such as http://localhost:8080.');
  const base = url.replace(/\/+$/, '');
  const credential = token === '' ? findWorkloadCredential(environment, base) : { token };
  if (credential === undefined)
    throw new ConnectionError(
      'BATON_URL is set, but BATON_TOKEN is not: set both, or in a pipeline BATON_IDENTITY_TOKEN_FILE (docs/workload-identity/README.md).',
    );
  return { coordinationUrl: base, identityUrl: `${base}/iam`, token: token || undefined, credential };
}
