import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, readFileSync, type Stats, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { StartError } from '../start-error.ts';

interface User {
  readonly uid: number;
  readonly gid: number;
}

/** The user that runs PostgreSQL's programs, which reject root and users without a name. */
export interface Account {
  /** Set if it differs from this process's user; the server's folders must then belong to it. */
  readonly user?: User;
  /** A command and arguments to put before each program. */
  readonly prefix: readonly string[];
}

/** The prefix that runs a program in a user namespace that maps this user to nobody. */
const asNobody = ['unshare', '--user', '--map-user=65534', '--map-group=65534', '--'] as const;

/**
 * Chooses the current user. As root: the owner of the server's folder, otherwise `postgres` or `nobody`, if it can
 * enter the folders of the programs and of Baton; otherwise this user mapped to nobody in a user namespace.
 * @param programs the folder of PostgreSQL's programs
 * @param directory the server's folder, which may not exist yet, in Baton's folder; the chosen user gets the right to
 * traverse the latter
 * @throws StartError if none of these is possible
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
      ? `PostgreSQL can't run as root, and no other user can enter both ${programs} and ${parent}. Start Baton as an ordinary user, or from a folder that others can enter.`
      : 'PostgreSQL needs a user with a name, and the current one has no entry in /etc/passwd. Start Baton as a named user.',
  );
}

/**
 * As root: lets the server of this folder traverse Baton's folder. A server that survived its Baton would otherwise
 * PANIC at its next checkpoint.
 * @param directory the server's folder
 */
export function keepReachable(directory: string): void {
  const user = process.getuid?.() === 0 ? ownerOf(directory) : undefined;
  if (user !== undefined) allowTraversal(dirname(directory), user);
}

/** The owner of the server's folder; undefined for root and for a missing folder. */
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

/** Tested as that user, because modes, groups, access lists and mounts all matter. */
function canEnter(user: User, folder: string): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], { ...user, cwd: '/' }).status === 0;
}

/** Lets the server's group traverse Baton's folder, without listing it, to reach the server's own folder. */
function allowTraversal(home: string, user: User): void {
  const found = statSync(home);
  if (canTraverse(found, user)) return;
  chownSync(home, found.uid, user.gid);
  chmodSync(home, (found.mode & 0o700) | 0o010);
}

/** Only the first of owner, group and others that matches the user applies. */
function canTraverse({ uid, gid, mode }: Stats, user: User): boolean {
  if (uid === user.uid) return (mode & 0o100) !== 0;
  return (mode & (gid === user.gid ? 0o010 : 0o001)) !== 0;
}
