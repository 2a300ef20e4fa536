import { z } from 'zod';
import { OutboundClient } from '@baton/kernel/outbound/outbound';
import type { AppSecret } from '../connection-types/oauth-apps.ts';
import type { ConnectionTypeSpec } from '../connection-types/type-spec.ts';
import type { Settings } from '../settings.ts';

/** The provider returned no usable token. The message contains no part of the provider's response. */
export class NoToken extends Error {
  override readonly name = 'NoToken';
}

const answerBytesMax = 65_536;
const tokenText = z
  .string()
  .min(1)
  .max(8192)
  .regex(/^[\x20-\x7e]+$/);
const lifeSecondsMax = 315_360_000;

const TokenAnswer = z.object({
  access_token: tokenText,
  token_type: z.string().max(100).nullish(),
  refresh_token: tokenText.nullish(),
  expires_in: z.union([z.number(), z.string().regex(/^\d{1,9}$/)]).nullish(),
  scope: z.string().max(4000).nullish(),
});

/** A connection's entry in the secret store after OAuth. */
export interface OauthTokens {
  readonly auth: 'oauth2';
  readonly account: string | null;
  readonly accessToken: string;
  readonly tokenType: string;
  readonly refreshToken: string | null;
  readonly scope: string | null;
  /** Expiry of the access token. */
  readonly expiresAt: string | null;
}

export interface CodeExchange {
  readonly oauth2: NonNullable<ConnectionTypeSpec['oauth2']>;
  readonly app: AppSecret;
  /** In the format that the type requires. */
  readonly account: string | null;
  readonly code: string;
  readonly proof: string;
  readonly redirectUri: string;
}

/**
 * Exchanges a code at the provider's token endpoint (RFC 6749, section 4.1.3). The address came through the API, so the
 * request follows the rules for outbound requests (docs/reference/README.md#outbound-requests): public hosts over
 * https, no redirect, a single timeout, a response of at most 64 KiB.
 * @throws NoToken on any other response or failure of the provider
 */
export async function exchangeCode(
  settings: Settings,
  { oauth2, app, account, code, proof, redirectUri }: CodeExchange,
): Promise<OauthTokens> {
  const client = new OutboundClient({
    allowedHosts: settings.CP_OUTBOUND_ALLOWED_HOSTS,
    bytesMax: answerBytesMax,
  });
  const isInHeader = oauth2.authStyle === 'in_header';
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: proof,
    ...(!isInHeader && { client_id: app.clientId, client_secret: app.clientSecret }),
  });
  const request = {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(isInHeader && { authorization: basicOf(app) }),
    },
    body: form.toString(),
  } as const;
  const address = oauth2.tokenUrlTemplate.replace('{account}', () => account ?? '');
  const signal = AbortSignal.timeout(settings.CP_OAUTH_TIMEOUT_SECONDS * 1000);
  const { status, json } = await client.send(address, request, signal).catch((error: unknown) => {
    throw new NoToken((error as Error).message, { cause: error });
  });
  if (status < 200 || status >= 300) throw new NoToken(`the provider responded with ${status}`);
  const { data: answer } = TokenAnswer.safeParse(json);
  if (answer === undefined) throw new NoToken('a response without a usable token');
  return {
    auth: 'oauth2',
    account,
    accessToken: answer.access_token,
    tokenType: answer.token_type ?? 'bearer',
    refreshToken: answer.refresh_token ?? null,
    scope: answer.scope ?? null,
    expiresAt: endOf(answer.expires_in),
  };
}

/** RFC 6749, section 2.3.1: both parts are encoded as in a form. */
function basicOf({ clientId, clientSecret }: AppSecret): string {
  const [id, secret] = [clientId, clientSecret].map((text) =>
    new URLSearchParams({ '': text }).toString().slice(1),
  );
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
}

function endOf(expiresIn: number | string | null | undefined): string | null {
  const seconds = Number(expiresIn ?? Number.NaN);
  if (!(seconds > 0)) return null;
  return new Date(Date.now() + Math.min(seconds, lifeSecondsMax) * 1000).toISOString();
}
