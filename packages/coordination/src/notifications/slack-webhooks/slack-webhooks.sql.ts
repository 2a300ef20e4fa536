import { sql } from '@baton/kernel/database/sql';
import type { WebhookRow } from './slack-webhook.ts';

/** @param principalId null for the channel of the tenant */
export function findWebhook(tenantId: string, principalId: string | null) {
  return sql<WebhookRow>`
    select * from notification_webhooks
    where tenant_id = ${tenantId} and principal_id is not distinct from ${principalId}::uuid`;
}

export function lockWebhook(tenantId: string, principalId: string | null) {
  return sql<WebhookRow>`
    select * from notification_webhooks
    where tenant_id = ${tenantId} and principal_id is not distinct from ${principalId}::uuid
    for update`;
}

export type NewWebhook = Pick<
  WebhookRow,
  'id' | 'tenant_id' | 'principal_id' | 'host' | 'secret_name' | 'kinds'
>;

/**
 * Replaces a webhook. @returns the name of the secret that it replaces, read under the lock of the row
 */
export function upsertWebhook(webhook: NewWebhook) {
  return sql<WebhookRow>`
    insert into notification_webhooks as w (id, tenant_id, principal_id, host, secret_name, kinds)
    values (${webhook.id}, ${webhook.tenant_id}, ${webhook.principal_id}, ${webhook.host}, ${webhook.secret_name},
      ${webhook.kinds})
    on conflict (tenant_id, principal_id) do update
      set host = excluded.host, secret_name = excluded.secret_name, kinds = excluded.kinds, version = w.version + 1,
        updated_at = now()
    returning *`;
}

export function deleteWebhook(tenantId: string, id: string) {
  return sql`delete from notification_webhooks where id = ${id} and tenant_id = ${tenantId}`;
}
