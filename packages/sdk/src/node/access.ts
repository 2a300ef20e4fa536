import { ConnectionError, type ConnectionPlaces, findConnection } from './connection.ts';

/** The addresses of Baton, and the personal access token of a program on this machine. */
export interface Access {
  readonly coordinationUrl: string;
  readonly identityUrl: string;
  readonly token: string;
}

/**
 * Finds the connection of a program to Baton: from BATON_URL and BATON_TOKEN, or otherwise from the connection file of
 * this machine's Baton, as its administrator or as the owner of BATON_TOKEN. The administrator's token is sent to this
 * machine's Baton only, never to a configured address.
 * @param folders the folders whose `.baton` is searched if BATON_HOME is not set
 * @example
 * const { coordinationUrl, identityUrl, token } = findAccess({ BATON_HOME: `${folder}/.baton` }, []);
 * const own = createClient({ coordinationUrl, identityUrl, credential: { token } });
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
  if (url !== '') {
    if (token === '') throw new ConnectionError('BATON_URL is set, but BATON_TOKEN is not: set both.');
    if (!/^https?:/.test(url) || !URL.canParse(url))
      throw new ConnectionError('BATON_URL must be an address such as http://localhost:8080.');
    const base = url.replace(/\/+$/, '');
    return { coordinationUrl: base, identityUrl: `${base}/iam`, token };
  }
  // Only the command line has profiles. If another program ignored the variable, it would act as the administrator
  // instead of the profile's user.
  if (profile && token === '')
    throw new ConnectionError(
      'BATON_PROFILE is for commands of the command line only: set BATON_URL and BATON_TOKEN here, or unset it.',
    );
  const found = findConnection({ home: home || undefined, folders, sendsOwnToken: token !== '' });
  if (found === undefined)
    throw new ConnectionError(
      'No Baton was found here: start one with `baton start`, or set BATON_URL and BATON_TOKEN, or BATON_HOME.',
    );
  const { coordinationUrl, identityUrl, adminToken } = found;
  return { coordinationUrl, identityUrl, token: token === '' ? adminToken : token };
}
