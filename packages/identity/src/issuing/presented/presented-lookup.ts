import type { Db } from '@baton/kernel/db';
import type { Settings } from '../settings.ts';
import type { PresentedToken } from '../../service/secrets.ts';
import type { SigningKeys } from '../signing-keys/signing-keys.ts';
import { answersByPlace, SharedStatement } from '../token-exchange/shared-statement.ts';
import { findPresented, type PresentedRow } from './presented.sql.ts';

export interface PresentedQuestion extends PresentedToken {
  /** Whose scopes are wanted too; null for none. */
  readonly audience: string | null;
}

/**
 * What is known of presented tokens: one read for all that are presented at the same time, or while the signers have
 * enough to do.
 */
export type PresentedLookup = SharedStatement<PresentedQuestion, PresentedRow | undefined>;

export function createPresentedLookup(db: Db, settings: Settings, signingKeys: SigningKeys): PresentedLookup {
  return new SharedStatement(
    (questions) => lookUpPresented(db, settings, questions),
    () => signingKeys.whenFree(),
  );
}

/** The same at once, for a command in its own transaction: there it must not wait for a second connection. */
export async function lookUpPresented(
  db: Db,
  settings: Settings,
  questions: readonly PresentedQuestion[],
): Promise<(PresentedRow | undefined)[]> {
  const rows = await db.rows(findPresented(questions, settings.IAM_PAT_LAST_USED_INTERVAL_SECONDS));
  return answersByPlace(questions, rows);
}
