import type { Logger } from '@baton/kernel/log';
import { type AuditEntry, auditDraft } from '../../../records/audit.ts';
import type { ExchangeLedger } from '../../../issuing/exchange/exchange-ledger.ts';

const intervalMs = 60_000;
const keptMax = 10_000;

/** Who was denied, by what is known of the credential. */
export type ScimDenial = Pick<AuditEntry, 'tenantId' | 'resource' | 'reason'> & { readonly actor: string };

/**
 * Records SCIM requests that are denied (contract, W5), where the credential tells the tenant. A directory that was
 * switched off goes on calling for weeks, and who knows a prefix can guess as fast as the network: the same denial is
 * recorded once a minute, the counters have them all. Nobody waits for the row, so a known prefix takes no longer than
 * an unknown one.
 */
export class ScimDenials {
  readonly #ledger: ExchangeLedger;
  readonly #log: Logger;
  /** When each denial was last recorded, in that order. */
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
