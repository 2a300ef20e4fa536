import { z } from 'zod';
import { Timestamp, Uuid } from '@baton/values/wire';
import { NameSet } from '../../service/fields.ts';
import { SessionToken } from '../browser-sessions/browser-session.ts';
import type { ShownClient } from './provider/provider-state.ts';
import { sealedLengthMax } from './sealed/seals.ts';

const [shortMax, addressMax, scopeMax] = [200, 2000, 2000];

/** The parameters of RFC 6749, 7636 and 8707 that the authorization endpoint reads. Other parameters are ignored. */
export const authorizeQuery = {
  response_type: z.string().max(shortMax).optional().describe('`code`.'),
  client_id: z.string().max(addressMax).optional(),
  redirect_uri: z.string().max(addressMax).optional(),
  scope: z.string().max(scopeMax).optional(),
  state: z.string().max(addressMax).optional(),
  code_challenge: z.string().max(shortMax).optional(),
  code_challenge_method: z.string().max(shortMax).optional().describe('`S256`.'),
  resource: z.string().max(addressMax).optional().describe('The address of a service (IAM_RESOURCES).'),
  prompt: z.string().max(shortMax).optional(),
};
export type AuthorizeQuery = z.infer<z.ZodObject<typeof authorizeQuery>>;

/** An authorization request, sealed and kept by a browser. */
export interface SealedRequest {
  readonly uid: string;
  readonly params: Readonly<Record<string, string>>;
  readonly client: ShownClient;
  /** The hash of the secret of the browser that began the request; empty for a device. */
  readonly browserHash: string;
  readonly endsAtMs: number;
}

/** What the person decided, sealed and kept by the same browser. */
export interface SealedDecision {
  readonly request: SealedRequest;
  readonly endsAtMs: number;
  /** Absent after a refusal. */
  readonly granted?: {
    readonly tenantId: string;
    readonly personId: string;
    readonly principalId: string;
    readonly scopes: readonly string[];
    /** The session in which the person decided. */
    readonly sessionId: string;
  };
}

const presented = {
  token: SessionToken,
  request: z
    .string()
    .min(1)
    .max(sealedLengthMax)
    .optional()
    .describe('The authorization request, from the address of the page; or `userCode`.'),
  userCode: z.string().min(1).max(40).optional().describe('The code that a device shows; or `request`.'),
};

const isOne = (body: { request?: unknown; userCode?: unknown }) =>
  (body.request === undefined) !== (body.userCode === undefined);
const oneOf = { message: 'exactly one of request and userCode is needed' };

export const RequestQuery = z
  .strictObject({
    ...presented,
    principalId: Uuid.optional().describe(
      'One of `agents`, whose workspaces are returned; absent, the person.',
    ),
  })
  .refine(isOne, oneOf)
  .meta({ id: 'OauthRequestQuery' });
export type RequestQuery = z.infer<typeof RequestQuery>;

export const RequestDecision = z
  .strictObject({
    ...presented,
    decision: z.enum(['allow', 'deny']),
    principalId: Uuid.optional().describe(
      'The agent as which the client acts, one of `agents`; absent, the person.',
    ),
    scopes: NameSet.optional().describe(
      'The ones that the person was shown, or fewer; absent, all that can be granted now.',
    ),
    endsSession: z
      .boolean()
      .optional()
      .describe(
        'Whether the session exists for this decision only. If it is allowed, the session then expires with the code: after 180 s, or after 600 s for a device.',
      ),
  })
  .refine(isOne, oneOf)
  .meta({ id: 'OauthRequestDecision' });
export type RequestDecision = z.infer<typeof RequestDecision>;

const Named = z.strictObject({ id: Uuid, name: z.string() });

/** What a person must see before they decide. */
export const OauthRequest = z
  .strictObject({
    client: z
      .strictObject({
        id: z.string(),
        name: z.string().describe('As the client names itself.'),
        kind: z
          .enum(['baton', 'registered', 'document'])
          .describe('`document`: only the host of its id is proven, by its metadata document.'),
        host: z.string().nullable().describe('The host of its metadata document.'),
        redirectHost: z
          .string()
          .nullable()
          .describe('Where the browser is sent, or the scheme of the application; null for a device.'),
      })
      .describe('Who requests access.'),
    device: z
      .strictObject({ address: z.string(), userAgent: z.string(), requestedAt: Timestamp })
      .nullable()
      .describe('Where the code was requested; null for a browser.'),
    tenant: Named,
    person: Named,
    agents: z.array(Named).describe('The agents as which the person may connect the client.'),
    audience: z.string(),
    service: z.string().describe('The name of the audience for people.'),
    scopes: z.array(z.string()),
    workspaces: z
      .strictObject({ names: z.array(z.string()), hasMore: z.boolean() })
      .nullable()
      .describe(
        'The active workspaces in which the client would have these rights as this person or agent, 20 at most; null if identity could not read them.',
      ),
    isRecent: z
      .boolean()
      .describe('Whether the sign-in is recent enough to allow the request; otherwise sign in again.'),
  })
  .meta({ id: 'OauthRequest' });
export type OauthRequest = z.infer<typeof OauthRequest>;

export const Decided = z
  .strictObject({
    redirectTo: z.string().nullable().describe('Open it in the same browser; null for a device.'),
  })
  .meta({ id: 'OauthRequestDecided' });
export type Decided = z.infer<typeof Decided>;

export const DeviceAuthorizationRequest = z
  .object({
    client_id: z.string().max(addressMax).optional(),
    scope: z.string().max(scopeMax).optional(),
    resource: z.string().max(addressMax).optional(),
  })
  .meta({ id: 'DeviceAuthorizationRequest' });
export type DeviceAuthorizationRequest = z.infer<typeof DeviceAuthorizationRequest>;

/** RFC 8628, section 3.2. */
export const DeviceAuthorization = z
  .strictObject({
    device_code: z.string(),
    user_code: z.string(),
    verification_uri: z.string(),
    verification_uri_complete: z.string(),
    expires_in: z.int().describe('Seconds.'),
    interval: z.int().describe('Seconds between two polls.'),
  })
  .meta({ id: 'DeviceAuthorization' });
export type DeviceAuthorization = z.infer<typeof DeviceAuthorization>;
