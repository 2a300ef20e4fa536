import { sql } from '@baton/kernel/database/sql';
import type { StoredModes } from '../kinds.ts';
import type { OwnPreferencesRow, PreferencesRow } from './preference.ts';

/** The preferences of a principal, with defaults for a principal that never stored any. */
export function findOwnPreferences(tenantId: string, principalId: string) {
  return sql<OwnPreferencesRow>`
    select n.email, p.profile ->> 'email' as profile_email, coalesce(n.modes, '{}') as modes,
      coalesce(n.digest_interval_seconds, 86400) as digest_interval_seconds, coalesce(n.version, 0) as version,
      w.host as webhook_host, w.updated_at as webhook_updated_at
    from principals p
    left join notification_preferences n on n.principal_id = p.id and n.tenant_id = p.tenant_id
    left join notification_webhooks w on w.principal_id = p.id and w.tenant_id = p.tenant_id
    where p.id = ${principalId} and p.tenant_id = ${tenantId}`;
}

export interface NewPreferences {
  /** 0 for preferences that were never stored, which have no row that could be locked. */
  readonly expectedVersion: number;
  readonly tenantId: string;
  readonly principalId: string;
  readonly email: string | null;
  readonly modes: StoredModes;
  readonly digestIntervalSeconds: number;
}

/**
 * Counts changes to another address, at most `addressChangesMax` a day.
 * @returns no row if the same preferences are already stored, if the stored ones have another version, or beyond that
 * maximum
 */
export function upsertPreferences(values: NewPreferences, addressChangesMax: number) {
  return sql<PreferencesRow>`
    insert into notification_preferences as n
      (tenant_id, principal_id, email, modes, digest_interval_seconds, address_changes)
    select ${values.tenantId}::uuid, ${values.principalId}::uuid, ${values.email}::text, ${JSON.stringify(values.modes)}::jsonb,
      ${values.digestIntervalSeconds}::integer, case when ${values.email}::text is null then 0 else 1 end
    where ${values.expectedVersion}::bigint = 0 or exists (
      select from notification_preferences
      where tenant_id = ${values.tenantId} and principal_id = ${values.principalId})
    on conflict (tenant_id, principal_id) do update
      set email = excluded.email, modes = excluded.modes, digest_interval_seconds = excluded.digest_interval_seconds,
        version = n.version + 1, updated_at = now(),
        (address_changes, address_changes_since) = (
          select case when is_new_day then 0 else n.address_changes end + case when is_other then 1 else 0 end,
            case when is_new_day then now() else n.address_changes_since end
          from (select n.address_changes_since < now() - interval '1 day' as is_new_day,
            excluded.email is not null and excluded.email is distinct from n.email as is_other) changed)
      where n.version = ${values.expectedVersion}::bigint
        and (excluded.email is null or excluded.email is not distinct from n.email
          or n.address_changes < ${addressChangesMax} or n.address_changes_since < now() - interval '1 day')
        and (n.email, n.modes, n.digest_interval_seconds)
        is distinct from (excluded.email, excluded.modes, excluded.digest_interval_seconds)
    returning *`;
}

/** Ends the e-mails of one kind. Returns no row if they were already off, or the principal doesn't exist. */
export function upsertMailOff(tenantId: string, principalId: string, kind: string) {
  return sql<PreferencesRow>`
    insert into notification_preferences as n (tenant_id, principal_id, modes)
    select tenant_id, id, jsonb_build_object(${kind}::text, jsonb_build_object('mail', 'off'))
    from principals where id = ${principalId} and tenant_id = ${tenantId}
    on conflict (tenant_id, principal_id) do update
      set modes = n.modes || jsonb_build_object(${kind}::text,
          coalesce(n.modes -> ${kind}::text, '{}') || jsonb_build_object('mail', 'off')),
        version = n.version + 1, updated_at = now()
      where n.modes #>> array[${kind}::text, 'mail'] is distinct from 'off'
    returning *`;
}
