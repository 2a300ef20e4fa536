import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { StartError } from '../start-error.ts';

/** Who runs PostgreSQL's programs: it refuses to be root, and needs a user with a name. */
export interface Account {
  /** Set when it is another user than this process's; the server's folders must belong to that user. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** A command in front, with its arguments. */
  readonly prefix: readonly string[];
}

/** In a namespace of its own this user appears as nobody, and what it owns as nobody's. */
const asNobody = ['unshare', '--user', '--map-user=65534', '--map-group=65534', '--'] as const;

/**
 * Picks this user; as root the user `postgres` or `nobody`, where it can reach the programs and Baton's folder; else
 * this user under another name.
 * @param programs the folder of PostgreSQL's programs
 * @param home Baton's folder, which lets the chosen user pass through to the server's folder inside it
 * @throws StartError when none of these works here
 */
export function chooseAccount(programs: string, home: string): Account {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && hasName()) return { prefix: [] };
  if (isRoot) {
    const user = ['postgres', 'nobody']
      .map(findUser)
      .find((found) => found !== undefined && canEnter(found, programs) && canEnter(found, dirname(home)));
    if (user !== undefined) {
      letPass(home, user.gid);
      return { user, prefix: [] };
    }
  }
  if (spawnSync(asNobody[0], [...asNobody.slice(1), 'true']).status === 0) return { prefix: asNobody };
  throw new StartError(
    isRoot
      ? `PostgreSQL can't run as root, and no other user can enter both ${programs} and ${dirname(home)}: start Baton as an ordinary user, or from a folder that others can enter.`
      : 'PostgreSQL needs a user with a name, and this one has no entry in /etc/passwd: start Baton as a named user.',
  );
}

function hasName(): boolean {
  try {
    return userInfo().username !== '';
  } catch {
    return false;
  }
}

function findUser(name: string): { uid: number; gid: number } | undefined {
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  const [, , uid, gid] = users.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

/** Asked of the system itself, as that user: modes, groups, access lists and mounts all have a say. */
function canEnter(user: { uid: number; gid: number }, folder: string): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], { ...user, cwd: '/' }).status === 0;
}

/** The server's user may go through Baton's folder (not list it) to the one inside that is its own. */
function letPass(home: string, gid: number): void {
  const found = statSync(home);
  if ((found.mode & 0o001) !== 0 || (found.gid === gid && (found.mode & 0o010) !== 0)) return;
  chownSync(home, found.uid, gid);
  chmodSync(home, (found.mode & 0o700) | 0o010);
}
