import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { StartError } from '../start-error.ts';

/** The user that runs PostgreSQL's programs: they refuse root, and a user without a name. */
export interface Account {
  /** Set when it differs from this process's user; the server's folders must then belong to it. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** A command and arguments to put before each program. */
  readonly prefix: readonly string[];
}

/** Runs a program in a user namespace in which this user appears as nobody. */
const asNobody = ['unshare', '--user', '--map-user=65534', '--map-group=65534', '--'] as const;

/**
 * Chooses this user; as root `postgres` or `nobody`, if it can enter the folders of the programs and of Baton; else
 * this user mapped to nobody in a user namespace.
 * @param programs the folder of PostgreSQL's programs
 * @param home Baton's folder; the chosen user gets the right to traverse it
 * @throws StartError when none of these is possible
 */
export function chooseAccount(programs: string, home: string): Account {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && hasName()) return { prefix: [] };
  if (isRoot) {
    const user = ['postgres', 'nobody']
      .map(findUser)
      .find((found) => found !== undefined && canEnter(found, programs) && canEnter(found, dirname(home)));
    if (user !== undefined) {
      allowTraversal(home, user.gid);
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

/** Tried as that user, since modes, groups, access lists and mounts all matter. */
function canEnter(user: { uid: number; gid: number }, folder: string): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], { ...user, cwd: '/' }).status === 0;
}

/** Lets the server's group traverse Baton's folder, but not list it, to reach the server's own folder inside. */
function allowTraversal(home: string, gid: number): void {
  const found = statSync(home);
  if ((found.mode & 0o001) !== 0 || (found.gid === gid && (found.mode & 0o010) !== 0)) return;
  chownSync(home, found.uid, gid);
  chmodSync(home, (found.mode & 0o700) | 0o010);
}
