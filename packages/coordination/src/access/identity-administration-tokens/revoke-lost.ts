import { forEachConcurrently } from '@baton/values/concurrently';
import { emit } from '../../ledger/journal/journal.ts';
import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import { identityAdministrationRevoked } from './administration-tokens.events.ts';
import { deleteAdministration, deleteExpired, findLost, type LostRow } from './administration-tokens.sql.ts';

const batchMax = 50;
const concurrencyMax = 4;
const pauseMsMax = 500;

/**
 * Has identity revoke the administration tokens of people who are no longer administrators, however they lost the
 * right: a demotion, a change to their role, a disable. If a token can't be revoked now, the worker tries again until
 * the token expires.
 */
export function revokeLostAdministrations(
  tools: JobTools<Context> & Pick<Context, 'identityAdministration'>,
): Job {
  const { pool, settings, command, identityAdministration } = tools;
  const name = 'identity-administrations';

  async function revoke(lost: LostRow) {
    const { token_id: tokenId, tenant_id: tenantId, principal_id: principalId } = lost;
    await identityAdministration?.revoke(lost.iam_tenant_id, tokenId);
    await command(name, tenantId, async (context) => {
      const row = await context.db.row(deleteAdministration(tenantId, tokenId));
      if (row !== undefined)
        emit(context, identityAdministrationRevoked, { entityId: principalId }, { tokenId });
    });
  }

  return {
    name,
    batchMax,
    pauseMsMax,
    async run() {
      await pool.run(deleteExpired(batchMax));
      if (identityAdministration === undefined) return 0;
      const lost = await pool.rows(findLost(settings.CP_AUTHZ_MODE !== 'policy', batchMax));
      const failures: unknown[] = [];
      // A failed revocation must not prevent the others.
      await forEachConcurrently(lost, concurrencyMax, (row) =>
        revoke(row).catch((error) => failures.push(error)),
      );
      if (failures.length > 0) throw failures[0];
      return lost.length;
    },
  };
}
