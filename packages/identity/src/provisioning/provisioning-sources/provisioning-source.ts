import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import { characters, Key, Status, tenantParam } from '../../service/fields.ts';
import type { Tables } from '../../service/schema.ts';
import { SourceKind } from './provisioning-sources.events.ts';

const UpstreamMode = z.enum(['off', 'scim', 'admin', 'auto']);

/** The fields that are set at registration and can be changed later. */
const choices = {
  upstreamMode: UpstreamMode.describe(
    'The protocol for writing new, enabled and disabled users to the directory first; `auto` tries SCIM, then the admin API. Requires upstreamBaseUrl, upstreamRealm and credentials in the settings.',
  ),
  upstreamBaseUrl: characters(0, 500),
  upstreamRealm: characters(0, 120),
  staleAfterSeconds: z
    .int()
    .min(60)
    .max(2_592_000)
    .describe('The time without contact after which the source is stale.'),
};

export const NewProvisioningSource = z
  .strictObject({
    key: Key,
    kind: SourceKind.default('scim'),
    identityProvider: characters(1, 120).describe('The key of the provider whose people it provisions.'),
    servicePrincipalId: Uuid.nullish().describe(
      'The principal whose access tokens may write; required for `scim`.',
    ),
    upstreamMode: choices.upstreamMode.default('off'),
    upstreamBaseUrl: choices.upstreamBaseUrl.default(''),
    upstreamRealm: choices.upstreamRealm.default(''),
    staleAfterSeconds: choices.staleAfterSeconds.default(86_400),
  })
  .meta({ id: 'NewProvisioningSource' });
export type NewProvisioningSource = z.infer<typeof NewProvisioningSource>;

export const ProvisioningSourceChange = z
  .strictObject(choices)
  .partial()
  .meta({ id: 'ProvisioningSourceChange' });
export type ProvisioningSourceChange = z.infer<typeof ProvisioningSourceChange>;

export const ProvisioningSource = z
  .strictObject({
    id: Uuid,
    key: z.string(),
    kind: SourceKind,
    identityProviderId: Uuid,
    servicePrincipalId: Uuid.nullable(),
    upstreamMode: UpstreamMode,
    status: Status,
    staleAfterSeconds: z.int(),
    lastSyncAt: Timestamp.nullable(),
    stale: z
      .boolean()
      .describe('Whether the source is active and has had no contact for longer than `staleAfterSeconds`.'),
  })
  .meta({ id: 'ProvisioningSource' });
export type ProvisioningSource = z.infer<typeof ProvisioningSource>;

export const sourceParams = { ...tenantParam, sourceId: Uuid };

type Row = RowOf<Tables['provisioning_sources']>;

export type StoredSource = Pick<
  Row,
  | 'id'
  | 'tenant_id'
  | 'key'
  | 'kind'
  | 'identity_provider_id'
  | 'service_principal_id'
  | 'upstream_mode'
  | 'status'
  | 'stale_after_seconds'
  | 'last_sync_at'
>;

export type SourceRow = StoredSource & { is_stale: boolean };

/** The columns that an operator may change. */
export type SourceChoices = Pick<
  Row,
  'stale_after_seconds' | 'upstream_mode' | 'upstream_base_url' | 'upstream_realm'
>;

export const provisioningSourceOf = wireMapper<SourceRow>()(ProvisioningSource, {
  stale: (row) => row.is_stale,
});
