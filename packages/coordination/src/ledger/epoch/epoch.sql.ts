import type { Statement } from '@baton/kernel/database/sql';

/** Not a prepared statement, because it runs only once per connection, and may run before the schema exists. */
export const enterJournalEpoch: Statement<{ reason: string | null }> = {
  text: 'select case when not journal_epoch_is_current() then enter_journal_epoch() end as reason',
  values: [],
};
