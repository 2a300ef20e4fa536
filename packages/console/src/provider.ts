import { ConsoleRefusal } from './refusal.ts';

/** What identity keeps of a provider, as far as signing in needs it. */
export interface RegisteredProvider {
  readonly issuer: string;
  /** Of its ID tokens, which are made for their client alone: so it is the console's client id there. */
  readonly audience: string;
  readonly status: 'active' | 'disabled';
}

/** Asks addresses that came through the API: only public ones over https, unless the operator allows others. */
export interface Outbound {
  readJson(address: string, signal?: AbortSignal): Promise<unknown>;
  send(
    address: string,
    request: { method: 'POST'; headers: Record<string, string>; body: string },
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly json: unknown }>;
}

/** Where a provider is asked, from its discovery document. */
export interface ProviderEndpoints {
  readonly issuer: string;
  readonly authorization: string;
  readonly token: string;
  /** Whether it takes a client's secret in the body only. */
  readonly isSecretInBody: boolean;
  /** Whether each of its answers to a sign-in names it (RFC 9207). */
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
 * @throws ConsoleRefusal 503 where it does not answer, or answers for another issuer
 */
export async function discover(outbound: Outbound, issuer: string): Promise<ProviderEndpoints> {
  const base = issuer.replace(/\/+$/, '');
  const found = await asked(
    outbound.readJson(`${base}/.well-known/openid-configuration`, AbortSignal.timeout(waitMs)),
  );
  const document = (typeof found === 'object' && found !== null ? found : {}) as Record<string, unknown>;
  const { issuer: named, authorization_endpoint: authorization, token_endpoint: token } = document;
  const methods = document['token_endpoint_auth_methods_supported'];
  const isBasic = !Array.isArray(methods) || methods.includes('client_secret_basic');
  if (
    typeof named !== 'string' ||
    named.replace(/\/+$/, '') !== base ||
    !isLike(authorization, base) ||
    !isLike(token, base)
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

/** https, unless the issuer itself is one that the operator allows over http. */
function isLike(address: unknown, issuer: string): address is string {
  if (typeof address !== 'string' || !URL.canParse(address)) return false;
  const { protocol } = new URL(address);
  return protocol === 'https:' || (protocol === 'http:' && issuer.startsWith('http:'));
}

/**
 * Asks a provider for tokens, by a code or a refresh token.
 * @throws ConsoleRefusal 401 where it refuses, 503 where it does not answer
 */
export async function askForTokens(
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
  const { status, json } = await asked(
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
    throw new ConsoleRefusal(401, 'provider_refused', 'The identity provider gave no ID token.');
  return { idToken, refreshToken: isToken(refreshToken) ? refreshToken : undefined };
}

function isToken(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= charactersMax;
}

/** @throws ConsoleRefusal for a text that is no ID token */
export function claimsIn(idToken: string): IdTokenClaims {
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
    // Refused below, like any other text.
  }
  throw new ConsoleRefusal(
    401,
    'invalid_token',
    'The identity provider gave an ID token without its claims.',
  );
}

function asked<Answer>(answer: Promise<Answer>): Promise<Answer> {
  return answer.catch(() => {
    throw unavailable();
  });
}

function unavailable(): ConsoleRefusal {
  return new ConsoleRefusal(
    503,
    'identity_provider_unavailable',
    'The identity provider does not answer as it should: try again later.',
  );
}
