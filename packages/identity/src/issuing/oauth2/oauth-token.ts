import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import {
  PresentedSecret,
  presentedSecretLengthMax,
} from '../../credentials/platform-access-tokens/platform-access-token.ts';
import { audienceLengthMax } from '../../service/fields.ts';
import { clientIdLengthMax, clientSecretLengthMax } from '../exchange/exchange.ts';

/** Long enough for dozens of scopes of the maximum length, 120 characters. */
const scopeLengthMax = 10_000;
const addressLengthMax = 2000;
/** The same as the maximum body of a route without a credential in a header. */
const assertionLengthMax = 16_384;
/** The maximum length of a field with a few allowed values. */
const nameLengthMax = 200;

export const tokenExchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
/** RFC 7523, section 2.1. */
export const assertionGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
/** The grants that a person has to allow. */
export const providerGrants: readonly string[] = ['authorization_code', 'refresh_token', deviceGrant];
/** Makes a leaked refresh token recognizable. */
export const refreshTokenPrefix = 'iam_ref_';
export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

/** The authentication of a client that doesn't use Basic credentials. */
export const clientFields = {
  client_id: z.string().max(clientIdLengthMax).optional(),
  client_secret: z.string().max(clientSecretLengthMax).optional(),
};

/**
 * The form fields of RFC 6749, section 4.4, RFC 8693, section 2.1, RFC 7523, section 2.1, and the `resource` of RFC
 * 8707. Unknown ones are ignored.
 */
export const OauthTokenRequest = z
  .object({
    grant_type: z
      .string()
      .max(nameLengthMax)
      .describe(
        `client_credentials, authorization_code, refresh_token, ${tokenExchangeGrant} (RFC 8693), ${assertionGrant} (RFC 7523) or ${deviceGrant} (RFC 8628).`,
      ),
    ...clientFields,
    client_id: z.string().max(addressLengthMax).optional(),
    audience: z.string().max(audienceLengthMax).optional().describe('Or `resource`.'),
    resource: z
      .string()
      .max(addressLengthMax)
      .optional()
      .describe('The address of a service (IAM_RESOURCES), or an audience (RFC 8707).'),
    scope: z
      .string()
      .max(scopeLengthMax)
      .optional()
      .describe(
        'The scopes to grant, separated by spaces. Without it, a client gets none, and a token or an assertion gets all scopes that it allows.',
      ),
    assertion: z
      .string()
      .min(1)
      .max(assertionLengthMax)
      .optional()
      .describe('A token that the platform of a workload has issued, such as a CI service (a signed JWT).'),
    tenant_id: Uuid.optional().describe(
      'The tenant of the workload rule; necessary if several tenants have a provider with this issuer and audience.',
    ),
    subject_token: PresentedSecret.optional().describe('A platform access token, or an imported key.'),
    subject_token_type: z.string().max(nameLengthMax).optional().describe(accessTokenType),
    requested_token_type: z.string().max(nameLengthMax).optional().describe(accessTokenType),
    code: z.string().max(nameLengthMax).optional().describe('An authorization code.'),
    code_verifier: z.string().max(nameLengthMax).optional().describe('RFC 7636.'),
    redirect_uri: z.string().max(addressLengthMax).optional(),
    refresh_token: z.string().max(nameLengthMax).optional(),
    device_code: z.string().max(nameLengthMax).optional(),
    actor_token: z.string().max(presentedSecretLengthMax).optional().describe('Not supported.'),
  })
  .meta({ id: 'OauthTokenRequest' });
export type OauthTokenRequest = z.infer<typeof OauthTokenRequest>;

export const OauthToken = z
  .strictObject({
    access_token: z.string(),
    issued_token_type: z.literal(accessTokenType).optional().describe('Of a token exchange.'),
    token_type: z.literal('Bearer'),
    expires_in: z.int().describe('Seconds.'),
    scope: z.string(),
    refresh_token: z
      .string()
      .optional()
      .describe('Of a grant of a person: replaces the one that was sent, which must not be used again.'),
  })
  .meta({ id: 'OauthToken' });
export type OauthToken = z.infer<typeof OauthToken>;

/** RFC 7662, section 2.1, and RFC 7009, section 2.1. The hint is ignored: the format of a token determines its kind. */
export const OauthTokenQuery = z
  .object({
    token: z.string().min(1).max(presentedSecretLengthMax),
    token_type_hint: z.string().max(nameLengthMax).optional(),
    ...clientFields,
  })
  .meta({ id: 'OauthTokenQuery' });
export type OauthTokenQuery = z.infer<typeof OauthTokenQuery>;

const seconds = z.int().describe('Seconds since 1970.').optional();

/**
 * RFC 7662, section 2.2. An unknown token, and one that the client may not see, are inactive, without further details.
 */
export const OauthIntrospection = z
  .strictObject({
    active: z.boolean(),
    token_type: z.enum(['Bearer', 'platform_access_token']).optional(),
    iss: z.string().optional(),
    sub: z.string().optional().describe('The principal.'),
    aud: z
      .union([z.string(), z.array(z.string())])
      .optional()
      .describe('One of the audiences of the client.'),
    client_id: z.string().optional(),
    scope: z.string().optional(),
    exp: seconds,
    iat: seconds,
    nbf: seconds,
    jti: z.string().optional(),
    tenant_id: z.string().optional(),
    principal_type: z.string().optional(),
    credential_id: z.string().optional(),
  })
  .meta({ id: 'OauthIntrospection' });
export type OauthIntrospection = z.infer<typeof OauthIntrospection>;

/** RFC 8414, section 2. */
export const AuthorizationServerMetadata = z
  .strictObject({
    issuer: z.string(),
    authorization_endpoint: z.string(),
    device_authorization_endpoint: z.string(),
    token_endpoint: z.string(),
    jwks_uri: z.string(),
    response_types_supported: z.array(z.string()),
    response_modes_supported: z.array(z.string()),
    scopes_supported: z
      .array(z.string())
      .describe('Of clients of people; an audience may allow further ones.'),
    code_challenge_methods_supported: z.array(z.string()),
    authorization_response_iss_parameter_supported: z.boolean().describe('RFC 9207.'),
    client_id_metadata_document_supported: z.boolean(),
    grant_types_supported: z.array(z.string()),
    token_endpoint_auth_methods_supported: z.array(z.string()),
    introspection_endpoint: z.string(),
    introspection_endpoint_auth_methods_supported: z.array(z.string()),
    revocation_endpoint: z.string(),
    revocation_endpoint_auth_methods_supported: z.array(z.string()),
    service_documentation: z.string(),
  })
  .meta({ id: 'AuthorizationServerMetadata' });
export type AuthorizationServerMetadata = z.infer<typeof AuthorizationServerMetadata>;
