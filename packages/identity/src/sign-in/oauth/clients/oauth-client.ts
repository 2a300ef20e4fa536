import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import { Name } from '../../../service/fields.ts';
import type { Tables } from '../../../service/schema.ts';

export type OauthClientRow = RowOf<Tables['oauth_clients']>;

const redirectUriLengthMax = 500;

/** https, http on the loopback address, or an application's scheme: nothing that a browser executes. */
export const RedirectUri = z
  .string()
  .max(redirectUriLengthMax)
  .refine(
    isRedirectUri,
    'must be an https address, an http address of 127.0.0.1, [::1] or localhost, or have the scheme of an application (`com.example.app:/…`), without a fragment',
  );

export function isRedirectUri(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || text.includes('#') || url.username !== '' || url.password !== '') return false;
  if (url.protocol === 'https:') return url.hostname !== '';
  if (url.protocol === 'http:') return ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
  // RFC 8252, section 7.1: a reversed domain name.
  return /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/.test(url.protocol);
}

export const OauthClient = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    clientId: z.string().describe('The `client_id` of its requests. It has no secret.'),
    name: z.string(),
    redirectUris: z.array(z.string()),
    createdAt: Timestamp,
  })
  .meta({ id: 'OauthClient' });
export type OauthClient = z.infer<typeof OauthClient>;

export const oauthClientOf = wireMapper<OauthClientRow>()(OauthClient, {});

export const OauthClientList = z
  .strictObject({ items: z.array(OauthClient) })
  .meta({ id: 'OauthClientList' });

export const NewOauthClient = z
  .strictObject({
    name: Name,
    redirectUris: z
      .array(RedirectUri)
      .min(1)
      .max(10)
      .describe(
        'Compared character by character; on the loopback address the port may differ (RFC 8252, section 7.3).',
      ),
  })
  .meta({ id: 'NewOauthClient' });
export type NewOauthClient = z.infer<typeof NewOauthClient>;
