import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';

export type EndedSessionRow = Pick<
  RowOf<Tables['browser_sessions']>,
  'id' | 'tenant_id' | 'principal_id' | 'public_prefix'
>;

export interface SessionsToEnd {
  principalId: string;
  reason: string;
  /** Only this one. */
  browserSessionId?: string;
  /** End all sessions except this one. */
  exceptId?: string;
  /** End only the sessions of this passkey. */
  passkeyId?: string;
  /** End only the sessions in this tenant. */
  tenantId?: string;
  /** How many of the newest sessions are kept, not counting expired ones; none if absent. */
  keptMax?: number;
}

/** A person has at most 20 live sessions, so one statement ends all of them. */
export function updateEndedSessions(order: SessionsToEnd) {
  const [one, passkey, tenant] = [order.browserSessionId, order.passkeyId, order.tenantId];
  const except = order.exceptId;
  const isForRoom = order.keptMax !== undefined;
  return sql<EndedSessionRow>`
    with due as materialized (
      select id from browser_sessions
      where principal_id = ${order.principalId} and ended_at is null
        and (${one ?? null}::uuid is null or id = ${one ?? null}::uuid)
        and (${except ?? null}::uuid is null or id <> ${except ?? null}::uuid)
        and (${passkey ?? null}::uuid is null or passkey_id = ${passkey ?? null}::uuid)
        and (${tenant ?? null}::uuid is null or tenant_id = ${tenant ?? null}::uuid)
        and (not ${isForRoom} or expires_at > now())
      order by created_at desc, id desc
      offset ${order.keptMax ?? 0}
      for no key update
    )
    update browser_sessions s set ended_at = now(), end_reason = ${order.reason}
    from due where s.id = due.id
    returning s.id, s.tenant_id, s.principal_id, s.public_prefix`;
}
