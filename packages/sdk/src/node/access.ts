import { ConnectionError, type ConnectionPlaces, findConnection } from './connection.ts';

/** Where Baton answers, and the personal access token of a program that runs on this machine. */
export interface Access {
  readonly coordinationUrl: string;
  readonly identityUrl: string;
  readonly token: string;
}

/**
 * Finds out for a program how it reaches Baton: by BATON_URL and BATON_TOKEN, else by the connection file of the Baton of
 * this machine, as its administrator or, where BATON_TOKEN is set, as whom that belongs to. The administrator's token goes
 * to this machine's Baton only, never to an address that was named.
 * @param folders whose `.baton` is looked into where BATON_HOME names none
 * @example
 * const { coordinationUrl, identityUrl, token } = findAccess({ BATON_HOME: `${folder}/.baton` }, []);
 * const own = createClient({ coordinationUrl, identityUrl, credential: { token } });
 * console.log((await own.harness.getContext()).principal.displayName);
 * @throws ConnectionError with a sentence for the user that says what to set
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
      throw new ConnectionError('BATON_URL is no address such as http://localhost:8080.');
    const base = url.replace(/\/+$/, '');
    return { coordinationUrl: base, identityUrl: `${base}/iam`, token };
  }
  // Profiles are the command line's. To ignore it would let a program act as the administrator in place of the one who was named.
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
