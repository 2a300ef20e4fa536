import type { IncomingMessage } from 'node:http';
import { BatonError, createClient, type IssuedToken, type Transport } from '@baton/sdk';
import type { ProviderGrant } from './provider-sign-in.ts';
import { ConsoleRefusal } from './refusal.ts';
import { parseJson } from './request-body.ts';

/** The identity service, called on behalf of one browser. */
export type Identity = ReturnType<typeof createClient>['identity'];

const audience = 'control-plane';
const exchangeMsMax = 10_000;
/**
 * The maximum number of concurrent requests. Each takes milliseconds; more than this would only queue in the identity
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
    return this.run(req, (identity) => identity.platformAccessTokens.exchange({ token, audience }));
  }

  /** @throws ConsoleRefusal as `exchangeToken` */
  exchangeSession(req: IncomingMessage, secret: string): Promise<IssuedToken> {
    return this.run(req, (identity) => identity.browserSessions.exchange({ token: secret, audience }));
  }

  /**
   * Checks that the provider still accepts the person. Identity confirms each renewed ID token, once, with the groups
   * that it contains.
   * @throws ConsoleRefusal as `exchangeToken`, and if the grant has ended
   */
  confirmGrant(req: IncomingMessage, grant: ProviderGrant): Promise<void> {
    return grant.confirm(async (token) => {
      const body = { identityProvider: grant.provider, token };
      await this.run(req, (identity) => identity.federation.authenticate(this.#options.tenantId ?? '', body));
    });
  }

  /**
   * Begins the session of a sign-in that has just finished. If the provider admits the person by itself, coordination
   * decides whether they get a principal; a refusal ends no sign-in, because they may have one already.
   * @throws ConsoleRefusal like `confirmGrant`
   */
  async enterWithGrant(
    req: IncomingMessage,
    grant: ProviderGrant,
  ): Promise<{ grant: ProviderGrant; secret: string; subject: string }> {
    const token = await grant.idToken();
    const body = { identityProvider: grant.provider, token, audience, withAdmission: true };
    const issued = await this.run(req, (identity) =>
      identity.federation.exchange(this.#options.tenantId ?? '', body),
    );
    const { admissionStatement: statement } = issued;
    if (statement !== null) await this.#presentStatement(statement, issued);
    const started = await this.run(req, (identity) =>
      identity.federation.startFederatedSession(this.#options.tenantId ?? '', {
        identityProvider: grant.provider,
        token,
      }),
    );
    return { grant, secret: started.token, subject: readSubject(issued) };
  }

  async #presentStatement(statement: string, issued: IssuedToken): Promise<void> {
    const { admissions } = createClient({
      url: this.#options.url,
      deadlineMs: exchangeMsMax,
      credential: { accessToken: () => Promise.resolve(publicToken(issued)) },
    });
    await admissions.admitSelf({ statement }).catch((error: unknown) => {
      const isRefused = error instanceof BatonError && error.code === 'self_admission_refused';
      if (!isRefused) throw error;
    });
  }

  /** @returns the id and the permissions of the token's owner in the coordination service */
  async findPrincipal(accessToken: string): Promise<{ id: string; permissions: readonly string[] }> {
    const { harness } = createClient({
      url: this.#options.url,
      deadlineMs: exchangeMsMax,
      credential: { accessToken: () => Promise.resolve({ accessToken, expiresIn: 60 }) },
    });
    const { principal, permissions } = await harness.getContext();
    return { id: principal.id, permissions };
  }

  /** Sends a request to identity on behalf of a browser. @throws ConsoleRefusal 503 if too many are running */
  async run<Answer>(req: IncomingMessage, call: (identity: Identity) => Promise<Answer>): Promise<Answer> {
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
      return await call(identity);
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
  return typeof sub === 'string' ? subjectOf(String(tenant_id), sub) : fallback;
}

/** Identifies a person by tenant and principal. */
export function subjectOf(tenantId: string, principalId: string): string {
  return JSON.stringify([tenantId, principalId]);
}
