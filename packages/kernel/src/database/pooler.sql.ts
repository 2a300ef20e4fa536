/** The settings that `createPool` requests, and those of the session. A pooler may drop them. */
export const findSession = `
  select current_setting('TimeZone') = 'UTC' as utc, current_setting('enable_seqscan') = 'off' as seqscan_off,
    current_setting('jit') = 'off' as jit_off,
    current_setting('statement_timeout') <> '0' as statement_bound, current_setting('lock_timeout') <> '0' as lock_bound,
    current_setting('idle_in_transaction_session_timeout') <> '0' as idle_bound, quote_ident(current_user) as role`;

export interface SessionRow {
  utc: boolean;
  seqscan_off: boolean;
  jit_off: boolean;
  statement_bound: boolean;
  lock_bound: boolean;
  idle_bound: boolean;
  role: string;
}

export const findOwnProcess = 'select pg_backend_pid() as pid';
