import type { Logger } from '@baton/kernel/process/log';
import type { ExchangeLedger } from '../../../issuing/exchange/exchange-ledger.ts';
import { type AuditEntry, auditDraft } from '../../../records/audit.ts';

const intervalMs = 60_000;
const keptMax = 10_000;

/** A denied request, with its sender if the credential identifies one. */
export type ScimDenial = Pick<AuditEntry, 'tenantId' | 'resource' | 'reason'> & { readonly actor: string };

/**
 * Records denied SCIM requests whose credential identifies the tenant. A directory whose source has been disabled
 * continues to send requests for weeks, and anyone who has the prefix of a token can guess its secret as fast as the
 * network allows. Therefore the same denial is recorded only once a minute; the counters count every denial. The
 * request doesn't wait for the row, because a known prefix must not take longer than an unknown one.
 */
export class ScimDenials {
  readonly #ledger: ExchangeLedger;
  readonly #log: Logger;
  /** When each denial was last recorded, oldest first. */
  readonly #recordedAtMs = new Map<string, number>();

  constructor(ledger: ExchangeLedger, log: Logger) {
    this.#ledger = ledger;
    this.#log = log;
  }

  record(requestId: string, denial: ScimDenial): void {
    const nowMs = performance.now();
    for (const [oldest, recordedAtMs] of this.#recordedAtMs) {
      if (nowMs - recordedAtMs < intervalMs && this.#recordedAtMs.size < keptMax) break;
      this.#recordedAtMs.delete(oldest);
    }
    const key = `${denial.resource[1]} ${denial.reason}`;
    if (this.#recordedAtMs.has(key)) return;
    this.#recordedAtMs.set(key, nowMs);
    const entry: AuditEntry = { ...denial, action: 'scim.access', outcome: 'denied' };
    this.#ledger
      .record({ audit: auditDraft({ caller: { actor: denial.actor }, requestId }, entry) })
      .catch((error: unknown) => this.#log.error({ err: error }, 'a denied SCIM request was not audited'));
  }
}
