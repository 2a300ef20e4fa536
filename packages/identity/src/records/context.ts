import { endpointsOf } from '@baton/kernel/http/service';
import type { Auth } from '../service/auth.ts';
import type { Context as LowerContext } from '../service/context.ts';
import type { AuditKey } from './audit-chain/audit-key.ts';
import type { AuditDraft, EventDraft } from './drafts.ts';
import type { ErrorCode } from './errors.ts';
import type { JournalWatch } from './journal/journal-watch.ts';
import type { Settings } from './settings.ts';

/** The context of this layer's handlers. */
export interface Context extends LowerContext {
  readonly settings: Settings;
  readonly journalWatch: JournalWatch;
  /** The key that authenticates audit rows; undefined if the settings contain none. */
  readonly auditKey: AuditKey | undefined;
  /** The events, which are written in one statement just before the commit; filled by `emit` only. */
  readonly events: EventDraft[];
  /** The audit rows, which are written in the same statement as the events; filled by `audit` only. */
  readonly audits: AuditDraft[];
  /** The types of the events that the request has written, in all its transactions. */
  readonly eventTypes: Set<string>;
}

/** Declares an operation of this layer; see `EndpointSpec` for the fields. */
export const endpoint = endpointsOf<{ code: ErrorCode; permission: never; auth: Auth; context: Context }>({
  idempotency: 'ignored',
});
