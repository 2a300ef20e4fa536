import { readdirSync, readFileSync } from 'node:fs';

/** Searched several times, because a process may start another one before it is killed. */
const passesMax = 5;

/**
 * Kills processes that belong to these runs, even outside their groups: a process can leave its group with
 * `setsid`, but keeps its environment. Searches this user's processes, on Linux only. A process that has
 * changed its environment is not found.
 * @returns the number of killed processes
 */
export function killStrays(runIds: readonly string[]): number {
  if (runIds.length === 0 || process.platform !== 'linux') return 0;
  const wanted = runIds.map((id) => `BATON_RUN_ID=${id}`);
  let killed = 0;
  for (let pass = 0; pass < passesMax; pass += 1) {
    const found = strays(wanted);
    if (found.length === 0) break;
    for (const pid of found) if (kill(pid)) killed += 1;
  }
  return killed;
}

function strays(wanted: readonly string[]): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 1 && pid !== process.pid)
    .filter((pid) => {
      const variables = environmentOf(pid).split('\0');
      return wanted.some((variable) => variables.includes(variable));
    });
}

/** Empty for a process that has ended, a zombie, or another user's process. */
function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}

function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
