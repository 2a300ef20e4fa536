import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { typeStatuses } from './connection-type.ts';
import { auths } from './type-spec.ts';

export const connectionTypePublished = defineEvent(
  'connection_type.published',
  'connection_type',
  z.strictObject({ key: z.string(), version: z.int(), auth: z.array(z.enum(auths)) }),
);

export const connectionTypeStatusChanged = defineEvent(
  'connection_type.status_changed',
  'connection_type',
  z.strictObject({
    key: z.string(),
    version: z.int(),
    from: z.enum(typeStatuses),
    to: z.enum(typeStatuses),
  }),
);

/** The newest version of the type. */
export const oauthAppSet = defineEvent(
  'connection_type.oauth_app_set',
  'connection_type',
  z.strictObject({ type: z.string(), created: z.boolean() }),
);
