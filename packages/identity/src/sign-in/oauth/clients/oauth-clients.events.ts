import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

const Payload = z.strictObject({ oauthClientId: Uuid, clientId: z.string() });

export const oauthClientRegistered = defineEvent('oauth_client.registered', 'oauth_client', Payload);

export const oauthClientDeleted = defineEvent('oauth_client.deleted', 'oauth_client', Payload);
