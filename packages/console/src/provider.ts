import { ConsoleRefusal } from './refusal.ts';

/** The configuration of a provider that sign-in needs. */
export interface RegisteredProvider {
  readonly issuer: string;
  /** The audience of its ID tokens, which is the console's client ID at the provider. */
  readonly audience: string;
  readonly status: 'active' | 'disabled';
  /** Whether the sign-in page shows a button for the provider without a setting of the console. */
  readonly offered?: boolean;
  readonly principal_kind?: string;
}

/** Sends requests to addresses from API input: only public ones over https, unless the operator allows others. */
export interface Outbound {
  readJson(address: string, signal?: AbortSignal): Promise<unknown>;
  send(
    address: string,
    request: { method: 'POST'; headers: Record<string, string>; body: string },
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly json: unknown }>;
}

/** The endpoints in a provider's discovery document. */
export interface ProviderEndpoints {
  readonly issuer: string;
  readonly authorization: string;
  readonly token: string;
  /** Whether the client secret goes into the body. */
  readonly isSecretInBody: boolean;
  /** Whether each callback carries the issuer (RFC 9207). */
  readonly isNamedInAnswers: boolean;
}

export interface ProviderTokens {
  readonly idToken: string;
  readonly refreshToken: string | undefined;
}

/** The claims of an ID token that are read here; identity verifies the token itself. */
export interface IdTokenClaims {
  readonly subject: string;
  readonly nonce: string | undefined;
  /** Milliseconds since 1970. */
  readonly endsAtMs: number;
}

const waitMs = 10_000;
const charactersMax = 32_768;

/**
 * Reads the discovery document of a provider.
 * @throws ConsoleRefusal 503 if it is unavailable or has another issuer
 */
export async function discover(outbound: Outbound, issuer: string): Promise<ProviderEndpoints> {
  const base = issuer.replace(/\/+$/, '');
  const found = await orUnavailable(
    outbound.readJson(`${base}/.well-known/openid-configuration`, AbortSignal.timeout(waitMs)),
  );
  const document = (typeof found === 'object' && found !== null ? found : {}) as Record<string, unknown>;
  const { issuer: named, authorization_endpoint: authorization, token_endpoint: token } = document;
  const methods = document['token_endpoint_auth_methods_supported'];
  const isBasic = !Array.isArray(methods) || methods.includes('client_secret_basic');
  if (
    typeof named !== 'string' ||
    named.replace(/\/+$/, '') !== base ||
    !isAllowedEndpoint(authorization, base) ||
    !isAllowedEndpoint(token, base)
  )
    throw unavailable();
  return {
    issuer: named,
    authorization,
    token,
    isSecretInBody: !isBasic,
    isNamedInAnswers: document['authorization_response_iss_parameter_supported'] === true,
  };
}

/** Requires https, unless the operator allows the issuer itself over http. */
function isAllowedEndpoint(address: unknown, issuer: string): address is string {
  if (typeof address !== 'string' || !URL.canParse(address)) return false;
  const { protocol } = new URL(address);
  return protocol === 'https:' || (protocol === 'http:' && issuer.startsWith('http:'));
}

/**
 * Requests tokens with a code or a refresh token.
 * @throws ConsoleRefusal 401 if the provider rejects the request, 503 if it is unavailable
 */
export async function requestTokens(
  outbound: Outbound,
  { token, isSecretInBody }: ProviderEndpoints,
  client: { readonly id: string; readonly secret: string | undefined },
  grant: Readonly<Record<string, string>>,
): Promise<ProviderTokens> {
  const isBasic = client.secret !== undefined && !isSecretInBody;
  const body = new URLSearchParams({
    ...grant,
    client_id: client.id,
    ...(client.secret !== undefined && isSecretInBody && { client_secret: client.secret }),
  });
  const basic = [client.id, client.secret ?? ''].map(encodeURIComponent).join(':');
  const { status, json } = await orUnavailable(
    outbound.send(
      token,
      {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          ...(isBasic && { authorization: `Basic ${Buffer.from(basic).toString('base64')}` }),
        },
        body: body.toString(),
      },
      AbortSignal.timeout(waitMs),
    ),
  );
  if (status >= 500) throw unavailable();
  const { id_token: idToken, refresh_token: refreshToken } = (json ?? {}) as Record<string, unknown>;
  if (status !== 200 || !isToken(idToken))
    throw new ConsoleRefusal(
      401,
      'provider_refused',
      'The identity provider returned no ID token.',
      readReported((json as { error?: unknown } | undefined)?.error),
    );
  return { idToken, refreshToken: isToken(refreshToken) ? refreshToken : undefined };
}

/** An error code of OAuth (RFC 6749, section 4.1.2.1), cut to 100 characters; undefined for any other string. */
export function readReported(error: unknown): string | undefined {
  return typeof error === 'string' && /^[\x20-\x7e]+$/.test(error) ? error.slice(0, 100) : undefined;
}

function isToken(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= charactersMax;
}

/** @throws ConsoleRefusal for an invalid ID token */
export function readClaims(idToken: string): IdTokenClaims {
  try {
    const claims = JSON.parse(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString());
    const { sub, nonce, exp } = claims as Record<string, unknown>;
    if (typeof sub === 'string' && typeof exp === 'number')
      return {
        subject: sub,
        nonce: typeof nonce === 'string' ? nonce : undefined,
        endsAtMs: exp * 1000,
      };
  } catch {
    // Rejected below, like any other invalid token.
  }
  throw new ConsoleRefusal(
    401,
    'invalid_token',
    'The identity provider returned an ID token without sub and exp.',
  );
}

function orUnavailable<Answer>(answer: Promise<Answer>): Promise<Answer> {
  return answer.catch(() => {
    throw unavailable();
  });
}

function unavailable(): ConsoleRefusal {
  return new ConsoleRefusal(
    503,
    'identity_provider_unavailable',
    'The identity provider is unavailable. Try again later.',
  );
}
