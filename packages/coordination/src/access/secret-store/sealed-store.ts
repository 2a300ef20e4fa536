import type { Db } from '@baton/kernel/database/db';
import { fail } from '../errors.ts';
import { deleteSecret, findSecret, insertSecret, upsertSecret } from './sealed-secrets.sql.ts';
import { CannotOpen, type SealingKeys } from './sealing-keys.ts';
import { pathOfSecret, SecretExists, type SecretName, type SecretStore } from './secret-store.ts';

/** A store that encrypts values in a table: they can only be read with the key file. */
export function createSealedStore(keys: SealingKeys): SecretStore {
  return {
    kind: 'table',
    // biome-ignore lint/suspicious/useAwait: errors become rejections, as in the other store
    async put(secret, value, { onlyNew = false } = {}) {
      return { secret, row: keys.seal(value, placeOf(secret)), onlyNew };
    },
    // biome-ignore lint/suspicious/useAwait: as above
    async delete(secret) {
      pathOfSecret(secret);
      return { secret, row: 'removed', onlyNew: false };
    },
    async apply(db, { secret, row, onlyNew }) {
      if (row === 'nothing') return;
      if (row === 'removed') await db.run(deleteSecret(secret));
      else if (!onlyNew) await db.run(upsertSecret(secret, row));
      else if ((await db.run(insertSecret(secret, row))) === 0) throw new SecretExists();
    },
    get: (db, secret) => openSecret(db, secret, keys),
    async exists(db, secret) {
      pathOfSecret(secret);
      return (await db.row(findSecret(secret))) !== undefined;
    },
  };
}

async function openSecret(db: Db, secret: SecretName, keys: SealingKeys): Promise<string | undefined> {
  const place = placeOf(secret);
  const row = await db.row(findSecret(secret));
  if (row === undefined) return undefined;
  try {
    return keys.open({ keyId: row.key_id, sealed: row.sealed }, place);
  } catch (error) {
    if (!(error instanceof CannotOpen)) throw error;
    return fail('secret_store_unavailable', {}, { reason: error.message, cause: error });
  }
}

/** The associated data of a value: it can be decrypted for this tenant, folder and name only. */
export function placeOf(secret: SecretName): string {
  return `1:${pathOfSecret(secret)}`;
}
