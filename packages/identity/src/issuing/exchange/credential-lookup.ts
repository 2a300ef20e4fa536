import type { Db } from '@baton/kernel/database/db';
import type { Settings } from '../settings.ts';
import { SharedStatement } from '../shared-statement.ts';
import type { SigningKeys } from '../signing-keys/signing-keys.ts';
import type { ClientQuery, ClientRow, TokenQuery, TokenRow } from './credential.ts';
import { findClients, findTokens } from './exchanges.sql.ts';

/**
 * Looks up presented credentials, with one statement for all that are presented at the same time. While the signers are
 * busy, a statement waits for more credentials (decision 0103).
 */
export type TokenLookup = SharedStatement<TokenQuery, TokenRow | undefined>;
export type ClientLookup = SharedStatement<ClientQuery, ClientRow | undefined>;

export function createTokenLookup(db: Db, settings: Settings, signingKeys: SigningKeys): TokenLookup {
  return new SharedStatement(
    (queries) => lookUpTokens(db, settings, queries),
    () => signingKeys.whenFree(),
  );
}

export function createClientLookup(db: Db, settings: Settings, signingKeys: SigningKeys): ClientLookup {
  return new SharedStatement(
    async (queries) =>
      byPlace(queries, await db.rows(findClients(queries, settings.IAM_PAT_LAST_USED_INTERVAL_SECONDS))),
    () => signingKeys.whenFree(),
  );
}

/**
 * Looks up tokens on the caller's own connection: a command in a transaction must not have to wait for a second
 * connection.
 */
export async function lookUpTokens(
  db: Db,
  settings: Settings,
  queries: readonly TokenQuery[],
): Promise<(TokenRow | undefined)[]> {
  return byPlace(queries, await db.rows(findTokens(queries, settings.IAM_PAT_LAST_USED_INTERVAL_SECONDS)));
}

/** The row for each query, in the order of the queries. */
function byPlace<Row extends { place: number }>(
  queries: readonly unknown[],
  rows: readonly Row[],
): (Row | undefined)[] {
  const found: (Row | undefined)[] = queries.map(() => undefined);
  for (const row of rows) found[row.place - 1] = row;
  return found;
}
