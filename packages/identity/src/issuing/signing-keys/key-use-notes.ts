import type { Logger } from '@baton/kernel/process/log';
import { startJob } from '../../service/background-job.ts';
import type { SigningKeys } from './signing-keys.ts';

/**
 * Half of the time for which a key stays published after its tokens have expired, so that even the last record of a
 * killed process is recent enough.
 */
const intervalMs = 30_000;

/**
 * Records in the database which keys this process signs with, so that every process can determine when its last token
 * expires (see docs/reference/tokens.md#signing-keys).
 * @returns a function that stops it, after the current write
 */
export function startKeyUseNotes(keys: SigningKeys, log: Logger): () => Promise<void> {
  return startJob({
    firstMs: intervalMs,
    intervalMs,
    log,
    failure: 'the use of the signing key could not be recorded',
    work: () => keys.noteUse(),
  });
}
