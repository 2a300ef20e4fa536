import { chmodSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Removes a folder with all that is in it, also folders that a command has closed to writers: package managers do that with what
 * they keep.
 * @returns the code of what prevented it, as EACCES; undefined when it is gone
 */
export function removeFolder(path: string): string | undefined {
  try {
    rmSync(path, { recursive: true, force: true });
    return undefined;
  } catch {
    return removeOpened(path);
  }
}

function removeOpened(path: string): string | undefined {
  try {
    openFolders(path);
    rmSync(path, { recursive: true, force: true });
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

/** Links are not followed: they may lead to what is none of the command's. */
function openFolders(top: string): void {
  const open = [top];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (!lstatSync(path).isDirectory()) continue;
    chmodSync(path, 0o700);
    open.push(...readdirSync(path).map((name) => join(path, name)));
  }
}
