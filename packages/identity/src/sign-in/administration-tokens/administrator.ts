import { type CredentialReads, limitCredentialReads } from '@baton/kernel/limits/concurrency-limit';
import { limitFailures } from '../../credentials/failure-limits/failure-limits.ts';
import { auditDraft } from '../../records/audit.ts';
import { isSecretOf, parseAdministrationToken } from '../../service/secrets.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { PresentedTokenRow } from './administration-token.ts';
import { findPresentedToken } from './administration-tokens.sql.ts';

/** A person who administers their own tenant. */
export interface Administrator {
  readonly tenantId: string;
  readonly principalId: string;
}

type Parts = Pick<Context, 'settings' | 'pool' | 'failureLimits' | 'counters' | 'ledger' | 'log'>;

/**
 * Creates the check of administration tokens. Nothing is cached: a token is refused at once when its person is
 * disabled, their session has ended or their tenant is disabled.
 */
export function createAdministratorCheck(parts: Parts) {
  const { settings, failureLimits, pool } = parts;
  const reads: CredentialReads = limitCredentialReads(settings.IAM_DATABASE_CONNECTIONS_MAX);
  /**
   * @throws Refusal `unauthorized` with the same response for every reason; `rate_limited`, `unavailable`
   */
  return (token: string, from: { address: string; requestId: string }): Promise<Administrator> => {
    const publicPrefix = parseAdministrationToken(token);
    const credential = publicPrefix && `adm:${publicPrefix}`;
    return limitFailures({ failureLimits, address: from.address }, credential, async () => {
      const row =
        publicPrefix === undefined
          ? undefined
          : await reads(() =>
              pool.row(findPresentedToken(publicPrefix, settings.IAM_BROWSER_SESSION_IDLE_SECONDS)),
            );
      const isGenuine = isSecretOf(token, row?.secret_hash);
      if (row === undefined || !isGenuine) {
        parts.counters.presented('administration', 'unknown');
        return fail('unauthorized', {}, { reason: `${credential ?? 'bearer token'} unknown` });
      }
      if (row.refusal !== null) return refuse(parts, row, row.refusal, from.requestId);
      parts.counters.presented('administration', 'admitted');
      return { tenantId: row.tenant_id, principalId: row.principal_id };
    });
  };
}

/** Refuses a genuine token that has ended, and records it: the person may not know that somebody still has it. */
function refuse(parts: Parts, row: PresentedTokenRow, reason: string, requestId: string): never {
  parts.counters.presented('administration', reason);
  const entry = {
    tenantId: row.tenant_id,
    action: 'administration_tokens.use',
    resource: ['administration_token', row.id],
    outcome: 'denied',
    reason,
  } as const;
  // Not awaited: the response is the same as for an unknown token, and takes as long.
  parts.ledger
    .record({ audit: auditDraft({ caller: { actor: row.principal_id }, requestId }, entry) })
    .catch((error: unknown) => parts.log.error({ err: error }, 'a refused token was not audited'));
  return fail('unauthorized', {}, { reason: `administration_token:${row.id} ${reason}` });
}
