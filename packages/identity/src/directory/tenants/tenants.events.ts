import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { Status } from '../../service/fields.ts';

export const tenantCreated = defineEvent(
  'tenant.created',
  'tenant',
  z.strictObject({ tenantId: Uuid, slug: z.string() }),
);

export const tenantUpdated = defineEvent(
  'tenant.updated',
  'tenant',
  z.strictObject({ tenantId: Uuid, slug: z.string(), status: Status }),
);
