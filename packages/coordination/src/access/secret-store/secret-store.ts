import type { Db } from '@baton/kernel/database/db';

/** Where a secret lies: below its tenant, in a folder such as `agents/reviewer`, under a name. */
export interface SecretName {
  readonly tenantId: string;
  /** One to four parts of lower-case letters, digits and hyphens, with `/` between them. */
  readonly folder: string;
  /** Such a part. */
  readonly name: string;
}

/** What a command writes into its transaction by `apply`; nothing of it is readable. */
export interface SecretChange {
  readonly secret: SecretName;
  /** `nothing`: an outside store has it already. */
  readonly row: SealedValue | 'removed' | 'nothing';
  readonly onlyNew: boolean;
}

/** A value as it stands in the database. */
export interface SealedValue {
  readonly keyId: string;
  readonly sealed: Buffer;
}

/**
 * Where the secrets of agents and connections are kept (organisation, section 28): an outside store, or a table of sealed
 * values. One way serves both: `put` or `delete` before the command's transaction, `apply` inside it. Every method refuses
 * with `secret_store_unavailable` while the store is away, or where none is set up.
 */
export interface SecretStore {
  /** `outside`: asked over the network; `table`: sealed rows; `none`: none is set up. */
  readonly kind: 'outside' | 'table' | 'none';
  /**
   * Call it outside of any transaction: an outside store has the value when this resolves, also where the command fails
   * afterwards; for the table it is only sealed.
   * @param options.onlyNew refuses to overwrite. @throws SecretExists, here or in `apply`
   */
  put(secret: SecretName, value: string, options?: { onlyNew?: boolean }): Promise<SecretChange>;
  /** Call it outside of any transaction. One that is absent is no failure. */
  delete(secret: SecretName): Promise<SecretChange>;
  /** Writes the change into the table, in the transaction of the command; does nothing for an outside store. */
  apply(db: Db, change: SecretChange): Promise<void>;
  /** For requests to others only: no route returns a value. Outside of any transaction; `db` is the pool. */
  get(db: Db, secret: SecretName): Promise<string | undefined>;
  /** Outside of any transaction, as `get`. */
  exists(db: Db, secret: SecretName): Promise<boolean>;
}

/** A value that was to be new is there already. */
export class SecretExists extends Error {
  override readonly name = 'SecretExists';
}

const part = '[a-z0-9][a-z0-9-]{0,62}';
const folderForm = new RegExp(`^${part}(?:/${part}){0,3}$`);
const nameForm = new RegExp(`^${part}$`);

/** @returns the path below the mount of an outside store. @throws Error for a name that no feature may make */
export function pathOfSecret({ tenantId, folder, name }: SecretName): string {
  if (!nameForm.test(tenantId) || !folderForm.test(folder) || !nameForm.test(name))
    throw new Error('a secret with a name that is not allowed');
  return `tenants/${tenantId}/${folder}/${name}`;
}
