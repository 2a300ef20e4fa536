import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { Status } from '../../service/fields.ts';
import { SigningAlgorithm } from './audience.ts';

export const audienceCreated = defineEvent(
  'audience.created',
  'audience',
  z.strictObject({ audienceId: Uuid, key: z.string() }),
);

export const audienceUpdated = defineEvent(
  'audience.updated',
  'audience',
  z.strictObject({
    audienceId: Uuid,
    key: z.string(),
    allowedScopes: z.array(z.string()),
    /** Where it changed. */
    status: Status.optional(),
    /** Where it changed. */
    signingAlgorithm: SigningAlgorithm.optional(),
  }),
);
