import { chmodSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Removes a folder with its content, even if it contains read-only folders: package managers make their caches
 * read-only.
 * @returns the error code, such as EACCES; undefined if the folder was removed
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

/** Links are not followed, because they may point to folders of other users. */
function openFolders(top: string): void {
  const open = [top];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (!lstatSync(path).isDirectory()) continue;
    chmodSync(path, 0o700);
    open.push(...readdirSync(path).map((name) => join(path, name)));
  }
}
