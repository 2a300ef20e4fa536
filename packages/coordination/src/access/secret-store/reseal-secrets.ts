import type { Db, Pool } from '@baton/kernel/database/db';
import { lockSecretsOfOtherKeys, type SealedRow, updateSealed } from './sealed-secrets.sql.ts';
import { placeOf } from './sealed-store.ts';
import { CannotOpen, type SealingKeys } from './sealing-keys.ts';
import type { SecretName } from './secret-store.ts';

const rowsOfBatchMax = 100;
const begin: SecretName = { tenantId: '00000000-0000-0000-0000-000000000000', folder: '', name: '' };

/**
 * Encrypts with the first key all values that use an older key, in transactions of 100 rows. It can be interrupted and
 * restarted, and values may be written meanwhile.
 * @returns the numbers of re-encrypted values and of values that no key in the file can decrypt
 */
export async function resealSecrets(
  pool: Pool,
  keys: SealingKeys,
): Promise<{ resealed: number; unopened: number }> {
  let [after, resealed, unopened] = [begin, 0, 0];
  for (;;) {
    const from = after;
    const rows = await pool.transaction(async (tx) => {
      const found = await tx.rows(lockSecretsOfOtherKeys(keys.currentId, from, rowsOfBatchMax));
      const done = [];
      for (const row of found) done.push({ row, isOpened: await reseal(tx, row, keys) });
      return done;
    });
    const opened = rows.filter(({ isOpened }) => isOpened).length;
    resealed += opened;
    unopened += rows.length - opened;
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsOfBatchMax) return { resealed, unopened };
    after = nameOf(last.row);
  }
}

async function reseal(tx: Db, row: SealedRow, keys: SealingKeys): Promise<boolean> {
  const secret = nameOf(row);
  try {
    const value = keys.open({ keyId: row.key_id, sealed: row.sealed }, placeOf(secret));
    await tx.run(updateSealed(secret, keys.seal(value, placeOf(secret))));
    return true;
  } catch (error) {
    if (error instanceof CannotOpen) return false;
    throw error;
  }
}

function nameOf({ tenant_id: tenantId, folder, name }: SealedRow): SecretName {
  return { tenantId, folder, name };
}
