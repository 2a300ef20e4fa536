import type { Settings } from '../settings.ts';
import {
  type AuthorizationServerMetadata,
  assertionGrant,
  providerGrants,
  tokenExchangeGrant,
} from './oauth-token.ts';

export const metadataPath = '/.well-known/oauth-authorization-server';

const secretMethods = ['client_secret_basic', 'client_secret_post'];

/** The metadata for OAuth clients (RFC 8414). It lists only supported features. */
export function describeServer({
  issuer,
  IAM_OAUTH_DEFAULT_SCOPES: scopes,
}: Pick<Settings, 'issuer' | 'IAM_OAUTH_DEFAULT_SCOPES'>): AuthorizationServerMetadata {
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth2/authorize`,
    token_endpoint: `${issuer}/oauth2/token`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    device_authorization_endpoint: `${issuer}/oauth2/device-authorization`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    scopes_supported: [...scopes],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    grant_types_supported: ['client_credentials', tokenExchangeGrant, assertionGrant, ...providerGrants],
    // Clients of people are public; a token exchange needs no client in addition to the token, nor does an assertion.
    token_endpoint_auth_methods_supported: [...secretMethods, 'none'],
    introspection_endpoint: `${issuer}/oauth2/introspect`,
    introspection_endpoint_auth_methods_supported: secretMethods,
    revocation_endpoint: `${issuer}/oauth2/revoke`,
    revocation_endpoint_auth_methods_supported: [...secretMethods, 'none'],
    service_documentation: `${issuer}/docs`,
  };
}

const ownPaths = /^\/(api\/v1|scim|oauth2|\.well-known|docs|openapi\.json)(\/|$)/;

/**
 * The path of a request, relative to the path of the issuer if no proxy has stripped that. The addresses that identity
 * publishes start with the issuer, and work both with and without a proxy that strips its path. RFC 8414 puts the path
 * of the issuer at the end.
 */
export function withoutIssuerPath(url: string, issuer: string): string {
  const path = new URL(issuer).pathname.replace(/\/+$/, '');
  const end = url.indexOf('?');
  const [asked, query] = end === -1 ? [url, ''] : [url.slice(0, end), url.slice(end)];
  if (path === '') return url;
  if (asked === `${metadataPath}${path}`) return `${metadataPath}${query}`;
  const below = asked.startsWith(`${path}/`) ? asked.slice(path.length) : '';
  return ownPaths.test(below) ? `${below}${query}` : url;
}
