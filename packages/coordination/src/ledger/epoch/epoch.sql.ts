import type { Statement } from '@baton/kernel/database/sql';

/** Unnamed: it runs once per connection, also before the schema exists. */
export const enterJournalEpoch: Statement<{ reason: string | null }> = {
  text: 'select case when not journal_epoch_is_current() then enter_journal_epoch() end as reason',
  values: [],
};
