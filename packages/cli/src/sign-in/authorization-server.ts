import { certificateProblem } from '../certificate-error.ts';
import { PlainError } from '../plain-error.ts';

/** Identity as an OAuth 2.1 authorization server (RFC 8414); only the parts that this program needs. */
export interface AuthorizationServer {
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly deviceEndpoint: string;
  readonly revocationEndpoint: string;
}

/** The tokens of a sign-in. Each refresh replaces both. */
export interface GrantedTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresInSeconds: number;
}

export const clientId = 'baton-cli';
/** All scopes that a person may have; the person may grant fewer. */
export const scope = 'control-plane:read control-plane:write control-plane:admin';
const answerMsMax = 15_000;
const textBytesMax = 65_536;

/** The error code in a response (RFC 6749, section 5.2). */
export class OauthFailure extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`the authorization server returned ${code}`);
    this.code = code;
  }
}

/**
 * Reads the metadata of identity below the address of Baton.
 * @returns undefined if it doesn't offer sign-in through the browser, as in versions before 0.3
 */
export async function findAuthorizationServer(url: string): Promise<AuthorizationServer | undefined> {
  const base = `${url.replace(/\/+$/, '')}/iam`;
  const metadata = await request(`${base}/.well-known/oauth-authorization-server`);
  const { issuer, device_authorization_endpoint: device, authorization_endpoint: page } = metadata;
  if (typeof issuer !== 'string' || typeof device !== 'string') return undefined;
  if (typeof page !== 'string' || !isPage(page))
    throw new PlainError(`The sign-in page of ${url} is not an HTTP or HTTPS URL.`);
  // The issuer's own address may be reachable only from other machines, so requests go to the address that was given.
  return {
    issuer,
    authorizationEndpoint: page,
    tokenEndpoint: `${base}/oauth2/token`,
    deviceEndpoint: `${base}/oauth2/device-authorization`,
    revocationEndpoint: `${base}/oauth2/revoke`,
  };
}

/** The address is opened by the desktop, which would also open a file or start a program. */
function isPage(address: string): boolean {
  return URL.canParse(address) && ['http:', 'https:'].includes(new URL(address).protocol);
}

/** @throws OauthFailure with the code of a refusal */
export async function requestTokens(
  tokenEndpoint: string,
  form: Readonly<Record<string, string>>,
): Promise<GrantedTokens> {
  const answer = await postForm(tokenEndpoint, { client_id: clientId, ...form });
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds } = answer;
  if (typeof accessToken !== 'string' || typeof refreshToken !== 'string' || typeof seconds !== 'number')
    throw new OauthFailure('invalid_response');
  return { accessToken, refreshToken, expiresInSeconds: seconds };
}

export function postForm(
  address: string,
  form: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, unknown>>> {
  return request(address, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: new URLSearchParams(form).toString(),
  });
}

async function request(address: string, init: RequestInit = {}): Promise<Readonly<Record<string, unknown>>> {
  const answer = await fetch(address, {
    ...init,
    // Credentials are sent only to the address that the user named.
    redirect: 'error',
    signal: AbortSignal.timeout(answerMsMax),
  }).catch((cause: unknown) => {
    throw new PlainError(
      `${address} can't be reached: ${certificateProblem(cause) ?? 'is the address right?'}`,
      {
        cause,
      },
    );
  });
  const text = (await answer.text()).slice(0, textBytesMax);
  const body = parsed(text);
  if (answer.ok) return body;
  throw new OauthFailure(typeof body['error'] === 'string' ? body['error'] : `status ${answer.status}`);
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  if (text === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
