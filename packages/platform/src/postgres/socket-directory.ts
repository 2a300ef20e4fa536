import { createHash } from 'node:crypto';
import { chownSync, lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { failureCode, StartError } from '../start-error.ts';
import type { Account } from './account.ts';

/** The system's limit is 108 bytes on Linux and 104 on macOS, with the ending zero. */
const socketPathBytesMax = 103;

/**
 * Makes the folder of the server's socket, which nobody else may enter: inside `directory`, or under the temporary
 * folder where that path is too long for a socket.
 * @throws StartError when the folder in the temporary one belongs to somebody else
 */
export function prepareSocketDirectory(directory: string, account: Account): string {
  const uid = account.user?.uid ?? process.getuid?.() ?? 0;
  const place = createHash('sha256').update(directory).digest('hex').slice(0, 12);
  const candidates = [
    join(directory, 'run'),
    ...[tmpdir(), '/tmp'].map((tmp) => join(tmp, `baton-${uid}-${place}`)),
  ];
  const chosen = candidates.find(
    (path) => Buffer.byteLength(join(path, '.s.PGSQL.5432')) <= socketPathBytesMax,
  );
  if (chosen === undefined)
    throw new StartError("No folder has a path short enough for PostgreSQL's socket.");
  try {
    mkdirSync(chosen, { mode: 0o700 });
    if (account.user !== undefined) chownSync(chosen, account.user.uid, account.user.gid);
  } catch (error) {
    if (failureCode(error) !== 'EEXIST') throw error;
  }
  const found = lstatSync(chosen);
  // The temporary folder is everybody's: whoever owned this one could pose as our server.
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0)
    throw new StartError(
      `The folder ${chosen} is not a private one of the user ${uid}: remove it and start again.`,
    );
  return chosen;
}
