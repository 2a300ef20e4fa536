import { randomUUID } from 'node:crypto';
import type { Db, Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import type { AuditKey } from '../../records/audit-chain/audit-key.ts';
import { flushRecords } from '../../records/journal/journal.ts';
import { startJob } from '../../service/background-job.ts';
import type { Context } from '../context.ts';
import type { Ending, EndingRow } from './ending.ts';
import { deleteEnding, findEndings, insertEnding, tryLockEnding } from './endings.sql.ts';

/** How many rows a request changes before it is acknowledged. */
export const firstBatchMax = 100;
/** How many rows the job changes in one transaction. */
export const batchMax = 500;

const intervalMs = 1000;
const endingsPerRoundMax = 100;

interface Left {
  readonly tenantId: string;
  readonly reason: string;
  /** The principal whose tokens of this generation are revoked, or the group whose members are removed. */
  readonly principalId?: string;
  readonly tokenGeneration?: number;
  readonly groupId?: string;
  readonly provisioningSource?: string | undefined;
}

/** Defers the rest of a command to the job, on behalf of the caller. */
export async function leaveEnding(
  { db, caller, requestId }: Pick<Context, 'db' | 'caller' | 'requestId'>,
  what: Left,
): Promise<void> {
  await db.run(
    insertEnding({
      id: randomUUID(),
      tenant_id: what.tenantId,
      principal_id: what.principalId ?? null,
      token_generation: what.tokenGeneration ?? null,
      group_id: what.groupId ?? null,
      provisioning_source: what.provisioningSource ?? null,
      reason: what.reason,
      actor_ref: caller.actor,
      request_id: requestId,
    }),
  );
}

/** Removes an ending when all of its work is done. */
export async function removeEnding(db: Db, { id }: EndingRow): Promise<void> {
  await db.run(deleteEnding(id));
}

interface Finishing {
  readonly pool: Pool;
  readonly auditKey: AuditKey | undefined;
  readonly log: Logger;
  /** Processes a batch, and removes the ending after the last one. @returns the number of changed rows */
  continueEnding(ending: Ending): Promise<number>;
}

/**
 * Does the work that requests have deferred, at startup and every second. Any number of processes may do so; each
 * ending is processed by one of them at a time.
 * @returns a function that stops it, after the current batch
 */
export function startEndings(finishing: Finishing): () => Promise<void> {
  return startJob({
    firstMs: 0,
    intervalMs,
    log: finishing.log,
    failure: 'the deferred work of a disable or a group deletion failed',
    work: (stopping) => finishEndings(finishing, stopping),
  });
}

/**
 * Processes a batch of each ending in turn until no work remains. A failure doesn't delay the other endings; the first
 * failure is thrown.
 */
async function finishEndings(finishing: Finishing, stopping: AbortSignal): Promise<void> {
  const failures: unknown[] = [];
  for (let handled = 1; handled > 0 && failures.length === 0; ) {
    handled = 0;
    for (const { id } of await finishing.pool.rows(findEndings(endingsPerRoundMax))) {
      if (stopping.aborted) return;
      try {
        handled += await finishBatch(finishing, id);
      } catch (error) {
        failures.push(error);
      }
    }
  }
  if (failures.length > 0) throw failures[0];
}

function finishBatch({ pool, auditKey, continueEnding }: Finishing, id: string): Promise<number> {
  return pool.transaction(async (db) => {
    const row = await db.row(tryLockEnding(id));
    if (row === undefined) return 0;
    const ending: Ending = {
      row,
      db,
      auditKey,
      caller: { actor: row.actor_ref },
      requestId: row.request_id,
      endpoint: 'endings',
      events: [],
      audits: [],
    };
    const handled = await continueEnding(ending);
    await flushRecords(ending);
    return handled;
  });
}
