import type { IncomingMessage } from 'node:http';
import { createClient, type IssuedToken, type Transport } from '@baton/sdk';
import type { ProviderGrant } from './provider-sign-in.ts';
import { ConsoleRefusal } from './refusal.ts';
import { parseJson } from './request-body.ts';

const audience = 'control-plane';
const exchangeMsMax = 10_000;
/**
 * The maximum number of concurrent exchanges. Each takes milliseconds; more than this would only queue in the identity
 * service.
 */
const exchangesMax = 64;

interface ExchangeOptions {
  readonly url: string;
  readonly transport?: (req: IncomingMessage) => Transport;
  /** The tenant of the identity providers; undefined if there are none. */
  readonly tenantId: string | undefined;
}

/** Exchanges the credentials of browsers for access tokens at the identity service. */
export class TokenExchange {
  readonly #options: ExchangeOptions;
  #running = 0;

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /** @throws ConsoleRefusal 503 if too many exchanges are running */
  exchangeToken(req: IncomingMessage, token: string): Promise<IssuedToken> {
    return this.#run(req, (identity) => identity.platformAccessTokens.exchange({ token, audience }));
  }

  /**
   * @throws ConsoleRefusal like `exchangeToken`, and if the grant has ended
   */
  async exchangeGrant(req: IncomingMessage, grant: ProviderGrant): Promise<IssuedToken> {
    const token = await grant.idToken();
    const body = { identityProvider: grant.provider, token, audience };
    return this.#run(req, (identity) => identity.federation.exchange(this.#options.tenantId ?? '', body));
  }

  /** @returns the id of the token's owner in the coordination service */
  async findPrincipal(accessToken: string): Promise<string> {
    const { harness } = createClient({
      url: this.#options.url,
      deadlineMs: exchangeMsMax,
      credential: { accessToken: () => Promise.resolve({ accessToken, expiresIn: 60 }) },
    });
    return (await harness.getContext()).principal.id;
  }

  async #run<Answer>(
    req: IncomingMessage,
    exchange: (identity: ReturnType<typeof createClient>['identity']) => Promise<Answer>,
  ): Promise<Answer> {
    if (this.#running >= exchangesMax)
      throw new ConsoleRefusal(503, 'unavailable', 'Too many concurrent sign-ins. Try again.');
    this.#running += 1;
    try {
      const { url, transport } = this.#options;
      const { identity } = createClient({
        url,
        deadlineMs: exchangeMsMax,
        ...(transport && { transport: transport(req) }),
      });
      return await exchange(identity);
    } finally {
      this.#running -= 1;
    }
  }
}

export function publicToken({ accessToken, expiresIn }: IssuedToken): IssuedToken {
  return { accessToken, expiresIn };
}

/**
 * Identifies the owner of an access token by tenant and principal.
 * @param fallback for a token that can't be decoded: by default a unique value, so that it shares no limits or sessions
 */
export function readSubject({ accessToken }: IssuedToken, fallback: string = crypto.randomUUID()): string {
  const claims = parseJson(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString());
  const { tenant_id, sub } = (claims ?? {}) as Record<string, unknown>;
  return typeof sub === 'string' ? JSON.stringify([tenant_id, sub]) : fallback;
}
