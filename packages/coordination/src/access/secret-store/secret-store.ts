import type { Db } from '@baton/kernel/database/db';

/** Where a secret is stored: its tenant, a folder such as `agents/reviewer`, and a name. */
export interface SecretName {
  readonly tenantId: string;
  /** One to four parts of lower-case letters, digits and hyphens, separated by `/`. */
  readonly folder: string;
  /** One such part. */
  readonly name: string;
}

/** A change that a command writes in its transaction with `apply`; its content is opaque. */
export interface SecretChange {
  readonly secret: SecretName;
  /** `nothing`: an external store already has the change. */
  readonly row: SealedValue | 'removed' | 'nothing';
  readonly onlyNew: boolean;
}

/** A value as stored in the database. */
export interface SealedValue {
  readonly keyId: string;
  readonly sealed: Buffer;
}

/**
 * The store of the secrets of agents and connections: an external store, or a table of encrypted values. Both have the
 * same protocol: `put` or `delete` before the command's transaction, `apply` inside it. Every method refuses with
 * `secret_store_unavailable` while the store is unavailable or not configured. See
 * docs/reference/connections.md#secret-store.
 */
export interface SecretStore {
  /** `outside`: over the network; `table`: encrypted rows; `none`: not configured. */
  readonly kind: 'outside' | 'table' | 'none';
  /**
   * Call it outside of any transaction: an external store has the value when this resolves, even if the command fails
   * afterwards; for the table the value is only encrypted.
   * @param options.onlyNew refuses to overwrite. @throws SecretExists, here or in `apply`
   */
  put(secret: SecretName, value: string, options?: { onlyNew?: boolean }): Promise<SecretChange>;
  /** Call it outside of any transaction. An absent secret is not a failure. */
  delete(secret: SecretName): Promise<SecretChange>;
  /** Writes the change into the table, in the command's transaction; does nothing for an external store. */
  apply(db: Db, change: SecretChange): Promise<void>;
  /** For outbound requests only: no route returns a value. Call it outside of any transaction; `db` is the pool. */
  get(db: Db, secret: SecretName): Promise<string | undefined>;
  /** Call it outside of any transaction, like `get`. */
  exists(db: Db, secret: SecretName): Promise<boolean>;
}

/** A value that had to be new already exists. */
export class SecretExists extends Error {
  override readonly name = 'SecretExists';
}

const part = '[a-z0-9][a-z0-9-]{0,62}';
const folderForm = new RegExp(`^${part}(?:/${part}){0,3}$`);
const nameForm = new RegExp(`^${part}$`);

/** @returns the path below the mount of an external store. @throws Error for an invalid name */
export function pathOfSecret({ tenantId, folder, name }: SecretName): string {
  if (!nameForm.test(tenantId) || !folderForm.test(folder) || !nameForm.test(name))
    throw new Error('the name of the secret is invalid');
  return `tenants/${tenantId}/${folder}/${name}`;
}
