import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, readFileSync, type Stats, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { StartError } from '../start-error.ts';

interface User {
  readonly uid: number;
  readonly gid: number;
}

/** The user that runs PostgreSQL's programs: they refuse root, and a user without a name. */
export interface Account {
  /** Set when it differs from this process's user; the server's folders must then belong to it. */
  readonly user?: User;
  /** A command and arguments to put before each program. */
  readonly prefix: readonly string[];
}

/** Runs a program in a user namespace in which this user appears as nobody. */
const asNobody = ['unshare', '--user', '--map-user=65534', '--map-group=65534', '--'] as const;

/**
 * Chooses this user; as root the owner of the server's folder, else `postgres` or `nobody`, if it can enter the folders of
 * the programs and of Baton; else this user mapped to nobody in a user namespace.
 * @param programs the folder of PostgreSQL's programs
 * @param directory the server's folder, which may not exist yet, in Baton's folder; the chosen user gets the right to
 * traverse the latter
 * @throws StartError when none of these is possible
 */
export function chooseAccount(programs: string, directory: string): Account {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && hasName()) return { prefix: [] };
  const parent = dirname(dirname(directory));
  if (isRoot) {
    const user = [ownerOf(directory), findUser('postgres'), findUser('nobody')].find(
      (found) => found !== undefined && canEnter(found, programs) && canEnter(found, parent),
    );
    if (user !== undefined) {
      allowTraversal(dirname(directory), user);
      return { user, prefix: [] };
    }
  }
  if (spawnSync(asNobody[0], [...asNobody.slice(1), 'true']).status === 0) return { prefix: asNobody };
  throw new StartError(
    isRoot
      ? `PostgreSQL can't run as root, and no other user can enter both ${programs} and ${parent}: start Baton as an ordinary user, or from a folder that others can enter.`
      : 'PostgreSQL needs a user with a name, and this one has no entry in /etc/passwd: start Baton as a named user.',
  );
}

/**
 * As root: lets the server that uses this folder pass through Baton's folder. A server that outlived its Baton ends in a
 * PANIC at its next checkpoint when it can't.
 * @param directory the server's folder
 */
export function keepReachable(directory: string): void {
  const user = process.getuid?.() === 0 ? ownerOf(directory) : undefined;
  if (user !== undefined) allowTraversal(dirname(directory), user);
}

/** The user to whom the server's folder belongs; undefined for root, and where there is no such folder. */
export function ownerOf(directory: string): User | undefined {
  const { uid = 0, gid = 0 } = statSync(directory, { throwIfNoEntry: false }) ?? {};
  return uid === 0 ? undefined : { uid, gid };
}

function hasName(): boolean {
  try {
    return userInfo().username !== '';
  } catch {
    return false;
  }
}

function findUser(name: string): User | undefined {
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  const [, , uid, gid] = users.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

/** Tried as that user, since modes, groups, access lists and mounts all matter. */
function canEnter(user: User, folder: string): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], { ...user, cwd: '/' }).status === 0;
}

/** Lets the server's group traverse Baton's folder, but not list it, to reach the server's own folder inside. */
function allowTraversal(home: string, user: User): void {
  const found = statSync(home);
  if (letsPass(found, user)) return;
  chownSync(home, found.uid, user.gid);
  chmodSync(home, (found.mode & 0o700) | 0o010);
}

/** Of owner, group and others only the first that fits the user counts. */
function letsPass({ uid, gid, mode }: Stats, user: User): boolean {
  if (uid === user.uid) return (mode & 0o100) !== 0;
  return (mode & (gid === user.gid ? 0o010 : 0o001)) !== 0;
}
