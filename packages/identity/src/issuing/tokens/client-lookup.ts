import type { Db } from '@baton/kernel/db';
import type { Settings } from '../settings.ts';
import type { SigningKeys } from '../signing-keys/signing-keys.ts';
import { answersByPlace, SharedStatement } from '../token-exchange/shared-statement.ts';
import { type ClientRow, findClients } from './tokens.sql.ts';

export interface ClientQuestion {
  readonly clientId: string;
  readonly audience: string;
}

/**
 * What is known of clients: one read for all that present themselves at the same time, or while the signers have enough
 * to do.
 */
export type ClientLookup = SharedStatement<ClientQuestion, ClientRow | undefined>;

export function createClientLookup(db: Db, settings: Settings, signingKeys: SigningKeys): ClientLookup {
  return new SharedStatement(
    async (questions) => {
      const rows = await db.rows(findClients(questions, settings.IAM_PAT_LAST_USED_INTERVAL_SECONDS));
      return answersByPlace(questions, rows);
    },
    () => signingKeys.whenFree(),
  );
}
