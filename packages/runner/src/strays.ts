import { readdirSync, readFileSync } from 'node:fs';

/** A process may start another one while its own turn to be killed comes. */
const passesMax = 5;

/**
 * Kills processes that belong to these runs, wherever they went: by `setsid` one leaves its group, but not its environment.
 * Looks at this user's processes, on Linux; elsewhere there is no way to look. A process that has changed its environment is
 * not found.
 * @returns how many were killed
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

/** Empty for what has ended meanwhile, a zombie, or another user's. */
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
