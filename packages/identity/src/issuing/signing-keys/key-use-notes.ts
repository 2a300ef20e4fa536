import type { Pool } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import { startJob } from '../../service/background-job.ts';
import type { SigningKeys } from './signing-keys.ts';

/** Half of the margin that a key is published beyond its tokens: a process that was killed noted its use late enough. */
const intervalMs = 30_000;

/**
 * Notes in the store which key this process signs with, so that any process knows when its last token has ended
 * (contract, W37).
 * @returns what ends it, after the note under way
 */
export function startKeyUseNotes(keys: SigningKeys, pool: Pool, log: Logger): () => Promise<void> {
  return startJob({
    firstMs: intervalMs,
    intervalMs,
    log,
    failure: 'the use of the signing key could not be noted',
    work: () => keys.noteUse(pool),
  });
}
