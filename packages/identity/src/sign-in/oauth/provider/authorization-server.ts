import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import type Provider from 'oidc-provider';
import type { AdapterFactory, ClientMetadata, Configuration, KoaContextWithOIDC } from 'oidc-provider';
import type { OutboundClient } from '@baton/kernel/outbound/outbound';
import type { Settings } from '../../settings.ts';
import { BadDocument, createDocumentFetch, type DocumentFetch } from './metadata-documents.ts';
import type { ProviderLoader } from './provider-loader.ts';
import { currentState } from './provider-state.ts';

/** Our command line: people sign in with `baton login` (RFC 8252, RFC 8628). */
export const cliClientId = 'baton-cli';

export const requestSeconds = 600;
export const codeSeconds = 60;
export const deviceCodeSeconds = 600;
export const pollSeconds = 5;
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
/** The paths of the provider library's routes within the process; identity's endpoints have the same paths. */
export const routes = {
  authorization: '/oauth2/authorize',
  token: '/oauth2/token',
  device_authorization: '/oauth2/device-authorization',
} as const;

/** In characters; names of principals have the same maximum length. */
const nameLengthMax = 200;
const documentCacheSeconds = { min: 300, max: 86_400 };

const cliClient: ClientMetadata = {
  client_id: cliClientId,
  client_name: 'Baton command line',
  application_type: 'native',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token', deviceGrant],
  response_types: ['code'],
  redirect_uris: ['http://127.0.0.1/callback', 'http://[::1]/callback'],
};

export interface AuthorizationServerOptions {
  readonly settings: Settings;
  readonly outbound: OutboundClient;
  /** The store of the library. */
  readonly adapter: AdapterFactory;
}

/**
 * The authorization server for OAuth clients, based on the library oidc-provider (docs/decisions/0113). The library is
 * loaded on first use. It validates requests, clients, codes and tokens; identity signs people in, stores grants and
 * signs access tokens.
 */
export class AuthorizationServer implements ProviderLoader {
  readonly #options: AuthorizationServerOptions;
  readonly #documents: DocumentFetch;
  #provider: Promise<Provider> | undefined;

  constructor(options: AuthorizationServerOptions) {
    this.#options = options;
    this.#documents = createDocumentFetch(options.outbound);
  }

  load(): Promise<Provider> {
    this.#provider ??= this.#load();
    return this.#provider;
  }

  async #load(): Promise<Provider> {
    const library = await import('oidc-provider');
    const { settings } = this.#options;
    return new library.default(settings.issuer, {
      ...configurationOf(settings, this.#documents, library.errors.InvalidTarget),
      adapter: this.#options.adapter,
    });
  }
}

function configurationOf(
  settings: Settings,
  documents: DocumentFetch,
  InvalidTarget: new () => Error,
): Configuration {
  return {
    clients: [cliClient],
    routes,
    scopes: [],
    responseTypes: ['code'],
    clientAuthMethods: ['none'],
    pkce: { required: () => true },
    // No keys are needed, because `callProvider` makes the only cookie that the library reads.
    cookies: { keys: [] },
    jwks: { keys: [unusedKey()] },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    clientDefaults: { grant_types: ['authorization_code'], id_token_signed_response_alg: 'ES256' },
    ttl: {
      Interaction: requestSeconds,
      AuthorizationCode: codeSeconds,
      DeviceCode: deviceCodeSeconds,
      RefreshToken: settings.IAM_OAUTH_REFRESH_SECONDS,
      AccessToken: settings.IAM_TOKEN_TTL_SECONDS,
      Session: requestSeconds,
      Grant: settings.IAM_OAUTH_GRANT_SECONDS,
      IdToken: requestSeconds,
    },
    rotateRefreshToken: true,
    expiresWithSession: () => false,
    revokeGrantPolicy: () => true,
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    renderError: (ctx, out) => {
      ctx.body = out;
    },
    interactions: {
      url: (ctx, { uid }) => {
        noteClient(ctx);
        return `/oauth2/interactions/${uid}`;
      },
    },
    fetch: (url) => fetchDocument(documents, url),
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      dPoP: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => defaultResource(settings) ?? [],
        // A refresh without `resource` uses that of the grant.
        useGrantedResource: () => true,
        getResourceServerInfo: (ctx, resource) => {
          const audience = settings.resources.get(resource);
          if (audience === undefined) throw new InvalidTarget();
          return {
            scope: String(ctx.oidc.params?.['scope'] ?? ''),
            audience,
            accessTokenFormat: 'opaque',
            accessTokenTTL: settings.IAM_TOKEN_TTL_SECONDS,
          };
        },
      },
      deviceFlow: { enabled: true, charset: 'base-20', mask: '****-****', deviceInfo },
      clientIdMetadataDocument: {
        enabled: true,
        ack: 'draft-02',
        allowFetch: () => {
          const state = currentState();
          // Simultaneous requests share one fetch, which runs for the first of them and updates only its state. The
          // others keep this value, so that a network failure is not returned to them as `invalid_client`.
          state.isDocumentMissing = true;
          return documents.isAllowed(state.context.address);
        },
        cacheDuration: documentCacheSeconds,
      },
    },
  };
}

async function fetchDocument(documents: DocumentFetch, url: string | URL | Request): Promise<Response> {
  const state = currentState();
  try {
    const document = await documents.fetch(url, state.context.address);
    state.isDocumentMissing = false;
    return document;
  } catch (error) {
    state.isDocumentMissing = !(error instanceof BadDocument);
    throw error;
  }
}

/** The first address in the settings, for clients that name none. */
export function defaultResource({ resources }: Pick<Settings, 'resources'>): string | undefined {
  return resources.keys().next().value;
}

/** Keeps the client that the library has validated for the page. */
function noteClient({ oidc: { client } }: KoaContextWithOIDC): void {
  if (client === undefined) return;
  const name = shownName(client.clientName ?? '');
  currentState().client = {
    id: client.clientId,
    name: name === '' ? client.clientId : name,
    uri: client.clientUri ?? null,
  };
}

/**
 * Strangers choose the name, so nothing in it may hide or reorder the text of the page, or push the rest of it out of
 * sight.
 */
function shownName(name: string): string {
  const visible = name
    .toWellFormed()
    .replace(/\p{Cc}+/gu, ' ')
    .replace(/[\p{Cf}\p{Zl}\p{Zp}]+/gu, '')
    .trim();
  return [...visible].slice(0, nameLengthMax).join('');
}

/** What is shown about the device that requested the code, to the person who enters it. */
function deviceInfo(ctx: KoaContextWithOIDC): { address: string; userAgent: string } {
  noteClient(ctx);
  const { address, headers } = currentState().context;
  return { address, userAgent: String(headers['user-agent'] ?? '').slice(0, 200) };
}

/** The library requires a key for ID tokens, which identity doesn't issue; it is never published. */
function unusedKey(): Record<string, unknown> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' })).export({ format: 'jwk' });
  return { ...jwk, alg: 'ES256', use: 'sig' };
}
