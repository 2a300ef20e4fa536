import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
} from 'node:fs';
import { open, opendir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Environment } from '../config.ts';
import { draftOf } from '../home-parts.ts';
import { failureCode } from '../start-error.ts';
import type { ArchiveFile } from './archive.ts';
import { inCapitals } from './contents.ts';

/** The folder of artifacts' bytes, in Baton's folder and in a backup. */
export const artifactFolder = 'contents';

/**
 * The bytes of artifacts, read after the databases: an object is written once, before the database has it, so all that
 * the copied database knows are there, but for those that were deleted since. What is newer is left out: nothing would
 * ever delete it.
 */
export async function* artifactFiles(home: string): AsyncGenerator<ArchiveFile> {
  const folder = join(home, artifactFolder);
  if (!existsSync(folder)) return;
  const untilMs = Date.now();
  for await (const entry of await opendir(folder, { recursive: true })) {
    // An upload under way has another name.
    if (!entry.isFile() || entry.name.includes('.')) continue;
    const path = join(entry.parentPath, entry.name);
    const file = await openFile(path);
    if (file === undefined) continue;
    try {
      const { size, mtimeMs } = await file.stat();
      if (mtimeMs > untilMs) continue;
      const read = () => file.createReadStream({ start: 0, autoClose: false }) as AsyncIterable<Buffer>;
      yield { name: join(artifactFolder, relative(folder, path)), sizeBytes: size, read };
    } finally {
      await file.close();
    }
  }
}

/** Undefined for one that was deleted meanwhile. */
async function openFile(path: string) {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (failureCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Puts the restored bytes where they take the place of those that are there; a backup of an older Baton has none.
 * @param own the backup's own folder, unpacked on the same disk
 */
export function draftArtifactFiles(home: string, own: string): void {
  const draft = draftOf(home, artifactFolder);
  const unpacked = join(own, artifactFolder);
  if (existsSync(unpacked)) renameSync(unpacked, draft);
  else mkdirSync(draft);
  for (const entry of readdirSync(draft, { recursive: true, withFileTypes: true }))
    syncPath(join(entry.parentPath, entry.name));
  chmodSync(draft, 0o700);
}

function syncPath(path: string): void {
  const file = openSync(path, 'r');
  fsyncSync(file);
  closeSync(file);
}

/** The setting by which bytes are kept outside of Baton's folder, and so of a backup. */
export function artifactSettingOutside(env: Environment, home: string): string | undefined {
  const { CP_S3_ENDPOINT_URL: url, CP_ARTIFACT_FOLDER: folder } = inCapitals(env);
  if (url) return 'CP_S3_ENDPOINT_URL';
  return folder && relative(join(home, artifactFolder), folder) !== '' ? 'CP_ARTIFACT_FOLDER' : undefined;
}
