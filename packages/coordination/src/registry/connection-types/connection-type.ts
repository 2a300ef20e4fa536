import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { freeObjectOf, Timestamp, Uuid } from '@baton/values/wire';
import { PackageLink } from '../../organisation/package-link.ts';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import { ConnectionKey, ConnectionTypeSpec } from './type-spec.ts';

/** A status can only move forward. */
export const typeStatuses = ['active', 'deprecated', 'disabled'] as const;
const versionMax = 999_999_999;

export const ConnectionTypeRequest = z
  .strictObject({
    key: ConnectionKey,
    version: z.int().min(1).max(versionMax),
    spec: freeObjectOf(2 * documentBytesMax).describe(
      'Same form as the spec of the response; defects in it return 422.',
    ),
  })
  .meta({ id: 'ConnectionTypeRequest' });
export type ConnectionTypeRequest = z.output<typeof ConnectionTypeRequest>;

export const ConnectionTypeChange = z
  .strictObject({ status: z.enum(typeStatuses).nullish() })
  .meta({ id: 'ConnectionTypeChange' });
export type ConnectionTypeChange = z.output<typeof ConnectionTypeChange>;

/** An immutable version of a type. */
export const ConnectionType = z
  .strictObject({
    id: Uuid,
    key: z.string(),
    version: z.int().positive(),
    status: z.enum(typeStatuses),
    spec: ConnectionTypeSpec,
    specHash: z.string().describe('Hash of the spec in canonical form.'),
    createdBy: Uuid,
    createdAt: Timestamp,
    rowVersion: z.int().positive(),
    package: PackageLink.nullable(),
  })
  .meta({ id: 'ConnectionType' });
export type ConnectionType = z.infer<typeof ConnectionType>;

export type ConnectionTypeRow = RowOf<
  Tables['connection_types'],
  { spec: ConnectionTypeSpec; package: PackageLink | null }
>;

export const connectionTypeOf = wireMapper<ConnectionTypeRow>()(ConnectionType, {});

/** A type in a path: its key for the newest version, or `key@version`. Any other string matches nothing. */
export interface ConnectionTypeRef {
  readonly key: string | null;
  readonly version: number | null;
}

const refForm = /^([a-z0-9][a-z0-9-]{0,62})(?:@([1-9]\d{0,8}))?$/;

function refOf(text: string): ConnectionTypeRef {
  const [, key = null, version = null] = refForm.exec(text) ?? [];
  return { key, version: version === null ? null : Number(version) };
}

export const ConnectionTypeRef = z
  .string()
  .min(1)
  .max(100)
  .transform(refOf)
  .meta({ description: 'The key for the newest version, or key@version.' });

export const ConnectionTypeVersion = z
  .string()
  .max(100)
  .regex(/@/, 'must contain a version: key@version')
  .transform(refOf)
  .meta({ description: 'key@version.' });

export const OauthAppRequest = z
  .strictObject({
    clientId: z.string().min(1).max(500),
    clientSecret: z
      .string()
      .min(1)
      .max(4096)
      .describe('Stored in the secret store; no operation returns it.'),
    typeVersion: z
      .int()
      .min(1)
      .max(versionMax)
      .optional()
      .describe(
        'The version of the type to whose token address the secret may be sent (default: the newest). For ' +
          'versions whose token address has another scheme, host or port, enter the secret again.',
      ),
  })
  .meta({ id: 'OauthAppRequest' });
export type OauthAppRequest = z.output<typeof OauthAppRequest>;

/** The client application of a type at its provider. */
export const OauthApp = z
  .strictObject({
    type: z.string(),
    configured: z.boolean(),
    clientId: z.string().nullable(),
    updatedAt: Timestamp.nullable(),
  })
  .meta({ id: 'OauthApp' });
export type OauthApp = z.infer<typeof OauthApp>;

export type OauthAppRow = RowOf<Tables['connection_oauth_apps']>;

/**
 * @param row undefined if no application is set
 */
export function oauthAppOf(type: string, row: OauthAppRow | undefined): OauthApp {
  return {
    type,
    configured: row !== undefined,
    clientId: row?.client_id ?? null,
    updatedAt: row?.updated_at ?? null,
  };
}
