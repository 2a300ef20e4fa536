import type { Surroundings } from '@baton/kernel/http/service';
import { type Context, endpoint } from '../context.ts';
import { IdentityAdministrationToken } from './administration-token.ts';
import { identityAdministrationGranted } from './administration-tokens.events.ts';
import { recordAdministrationToken, requestAdministrationToken } from './administration-tokens.ts';

export const identityAdministrationTokensApi = [
  endpoint({
    id: 'createIdentityAdministrationToken',
    method: 'POST',
    path: '/identity-administration-tokens',
    summary: "Get a token for identity's administration of your tenant.",
    description:
      'For a person who is an administrator and has signed in with a passkey, or through a provider that states the time of the sign-in, within the last 300 seconds. The token lives until 300 seconds after that sign-in, and ends at once when the person signs out, is disabled or is no longer an administrator. Everything that is done with it is audited in identity under the person.',
    permission: 'admin',
    idempotency: 'ignored',
    returns: { 201: IdentityAdministrationToken },
    secrets: ['token'],
    errors: [
      'not_a_person',
      'fresh_sign_in_required',
      'identity_administration_not_configured',
      'identity_administration_unavailable',
    ],
    emits: [identityAdministrationGranted],
    around: (_input, { context, command }: Surroundings<IdentityAdministrationToken, Context>) =>
      requestAdministrationToken(context, command),
    handle: ({ prepared }, context) => recordAdministrationToken(context, prepared),
  }),
];
