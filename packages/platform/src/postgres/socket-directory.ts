import { createHash } from 'node:crypto';
import { chownSync, lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { failureCode, StartError } from '../start-error.ts';
import type { Account } from './account.ts';

/** The system's limit is 108 bytes on Linux and 104 on macOS, including the terminating zero. */
const socketPathBytesMax = 103;

/**
 * Creates the private folder of the server's socket inside `directory`, or in the temporary folder if that path is too
 * long for a socket.
 * @throws StartError if a folder of that name belongs to another user or is not private
 */
export function prepareSocketDirectory(directory: string, account: Account): string {
  const uid = account.user?.uid ?? process.getuid?.() ?? 0;
  const suffix = createHash('sha256').update(directory).digest('hex').slice(0, 12);
  const candidates = [
    join(directory, 'run'),
    ...[tmpdir(), '/tmp'].map((tmp) => join(tmp, `baton-${uid}-${suffix}`)),
  ];
  const chosen = candidates.find(
    (path) => Buffer.byteLength(join(path, '.s.PGSQL.5432')) <= socketPathBytesMax,
  );
  if (chosen === undefined)
    throw new StartError("No folder has a short enough path for PostgreSQL's socket.");
  try {
    mkdirSync(chosen, { mode: 0o700 });
    if (account.user !== undefined) chownSync(chosen, account.user.uid, account.user.gid);
  } catch (error) {
    if (failureCode(error) !== 'EEXIST') throw error;
  }
  const found = lstatSync(chosen);
  // Anyone can create folders in the temporary folder, and the owner of this one could impersonate our server.
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0)
    throw new StartError(`${chosen} is not a private folder of user ${uid}. Remove it and start again.`);
  return chosen;
}
