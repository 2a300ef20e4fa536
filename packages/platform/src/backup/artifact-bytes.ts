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
import { upperCaseNames } from './contents.ts';

/** The folder of artifact contents, in Baton's folder and in a backup. */
export const artifactFolder = 'contents';

/**
 * The artifact contents, read after the databases. An object is written once, before the database refers to it, so
 * every object of the copied database exists, except for deleted ones. Newer objects are left out, because nothing
 * would ever delete them.
 */
export async function* artifactFiles(home: string): AsyncGenerator<ArchiveFile> {
  const folder = join(home, artifactFolder);
  if (!existsSync(folder)) return;
  const untilMs = Date.now();
  for await (const entry of await opendir(folder, { recursive: true })) {
    // An unfinished upload has another name.
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

/** Undefined if the file has been deleted in the meantime. */
async function openFile(path: string) {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (failureCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Prepares the restored artifact contents as a draft. A backup of an older Baton has none.
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

/** The setting that stores artifact contents outside of Baton's folder, and therefore outside of a backup. */
export function artifactSettingOutside(env: Environment, home: string): string | undefined {
  const { CP_S3_ENDPOINT_URL: url, CP_ARTIFACT_FOLDER: folder } = upperCaseNames(env);
  if (url) return 'CP_S3_ENDPOINT_URL';
  return folder && relative(join(home, artifactFolder), folder) !== '' ? 'CP_ARTIFACT_FOLDER' : undefined;
}
