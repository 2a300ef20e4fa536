import type { Context } from './context.ts';
import type { AuditAction, AuditDraft } from './drafts.ts';

export interface AuditEntry {
  tenantId: string;
  action: AuditAction;
  /** Type and id of the object of the action. */
  resource: readonly [type: string, id: string];
  outcome?: 'allowed' | 'denied';
  reason?: string;
  /** The actor in the audit log; the caller by default. */
  actor?: string;
}

/** The parts of a context that an audit row needs. */
export type Auditing = Pick<Context, 'caller' | 'requestId' | 'audits'>;

/** Adds a row to the audit log of this change; it is written in the change's own transaction. */
export function audit(context: Auditing, entry: AuditEntry): void {
  context.audits.push(auditDraft(context, entry));
}

/** The row of an entry, for callers that write it themselves. */
export function auditDraft(
  { caller, requestId }: Pick<Context, 'caller' | 'requestId'>,
  entry: AuditEntry,
): AuditDraft {
  return {
    tenant_id: entry.tenantId,
    action: entry.action,
    actor_ref: (entry.actor ?? caller.actor).slice(0, 200),
    resource_type: entry.resource[0],
    resource_id: entry.resource[1],
    outcome: entry.outcome ?? 'allowed',
    reason: entry.reason ?? '',
    request_id: requestId,
  };
}
