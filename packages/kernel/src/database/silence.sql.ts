/**
 * The server processes that are active, or were active until a second ago: their clients have a reason to wait. If a
 * process is idle, it never got the statement, or its response was lost. A process whose state is hidden counts as
 * active.
 */
export const findWorkingProcesses = `
  select pg_backend_pid() as self, coalesce(array_agg(pid) filter (
    where state is null or state not like 'idle%' or state_change > clock_timestamp() - interval '1 second'), '{}') as working
  from pg_stat_activity where pid = any ($1::integer[])`;

export interface WorkingProcessesRow {
  self: number;
  working: number[];
}
