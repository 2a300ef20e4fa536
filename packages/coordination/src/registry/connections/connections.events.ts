import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { auths } from '../connection-types/type-spec.ts';
import { callbackReasons, connectionStatuses } from './connection.ts';

const status = z.enum(connectionStatuses);

export const connectionCreated = defineEvent(
  'connection.created',
  'connection',
  z.strictObject({ key: z.string(), type: z.string(), typeVersion: z.int(), status }),
);

/**
 * `changes` contains the names of the changed fields.
 */
export const connectionUpdated = defineEvent(
  'connection.updated',
  'connection',
  z.strictObject({ key: z.string(), version: z.int(), changes: z.array(z.string()) }),
);

export const connectionStatusChanged = defineEvent(
  'connection.status_changed',
  'connection',
  z.strictObject({
    key: z.string(),
    type: z.string(),
    from: status,
    to: status,
    reason: z.string().nullable(),
    connectedBy: Uuid.nullable(),
  }),
);

export const connectionAuthorized = defineEvent(
  'connection.authorized',
  'connection',
  z.strictObject({
    key: z.string(),
    type: z.string(),
    auth: z.enum(auths),
    previousStatus: status,
    connectedBy: Uuid,
  }),
);

export const connectionAuthorizationFailed = defineEvent(
  'connection.authorization_failed',
  'connection',
  z.strictObject({ key: z.string(), type: z.string(), reason: z.enum(callbackReasons), initiatedBy: Uuid }),
);

export const connectionRevoked = defineEvent(
  'connection.revoked',
  'connection',
  z.strictObject({ key: z.string(), type: z.string(), previousStatus: status }),
);
