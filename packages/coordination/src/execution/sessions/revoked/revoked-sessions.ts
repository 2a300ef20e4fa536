import { revocationHash } from '../../../access/access-tokens/revocations.ts';
import { endFreeSession } from '../../../leases/end-session.ts';
import type { JobTools } from '../../../service/job.ts';
import { createDueJob } from '../../../service/queue-walk.ts';
import type { Context } from '../../context.ts';
import {
  findRevokedKeys,
  findRevokedSession,
  findRevokedSessions,
  type RevokedSessionRow,
} from './revoked-sessions.sql.ts';

/** Ends the sessions of revoked credentials. See docs/reference/sessions.md#revoked-credentials. */
export interface RevokedSessions {
  /** The maximum number of sessions that one call ends. */
  readonly batchMax: number;
  /**
   * Ends one batch, each session in its own transaction. A session in use is left to a later call.
   * @param revoked the hashes of what was revoked
   * @returns `batchMax` if more may be left
   */
  end(revoked: readonly string[]): Promise<number>;
  /** The hashes of API keys and bindings that were revoked lately, at most 5,000. */
  findRevokedKeys(): Promise<string[]>;
}

export const revokedSessionsName = 'revoked sessions';
const batchMax = 100;
const keysMax = 5000;

export function createRevokedSessions({
  pool,
  command,
  log,
}: Pick<JobTools<Context>, 'pool' | 'command' | 'log'>): RevokedSessions {
  let hashes: readonly string[] = [];
  const job = createDueJob<RevokedSessionRow>(
    { name: revokedSessionsName, batchMax, log },
    {
      find: ([, afterId]) => pool.rows(findRevokedSessions(hashes, afterId, batchMax)),
      positionOf: ({ id }) => ['-infinity', id],
      handle: ({ id, tenant_id: tenantId }) =>
        command(revokedSessionsName, tenantId, (context) => endRevokedSession(context, id, hashes)),
    },
  );
  return {
    batchMax,
    end(revoked) {
      hashes = revoked;
      return job.run();
    },
    async findRevokedKeys() {
      return (await pool.rows(findRevokedKeys(keysMax))).map(({ id }) => revocationHash(id));
    },
  };
}

async function endRevokedSession(context: Context, sessionId: string, revoked: readonly string[]) {
  const isRevoked = async () =>
    (await context.db.row(findRevokedSession(context.tenantId, sessionId, revoked))) !== undefined;
  return (await endFreeSession(context, sessionId, isRevoked)) === undefined ? 0 : 1;
}
