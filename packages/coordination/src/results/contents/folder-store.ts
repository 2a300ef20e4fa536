import { constants } from 'node:fs';
import { access, type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { releaseChunk } from '@baton/kernel/listener/byte-stream';
import type { ContentName, ContentStore } from '../content-store.ts';
import { ContentStoreFailed, Measured } from '../content-store.ts';

/** Only the service may read the tenants' bytes. */
const fileMode = 0o600;
const folderMode = 0o700;

/**
 * Stores objects in a folder, `<tenant>/<last two digits of the id>/<id>`. An object is written as `<id>.part` and
 * renamed once it is completely on disk.
 */
export function createFolderStore(folder: string): ContentStore {
  const pathOf = ({ tenantId, id }: ContentName) => join(folder, tenantId, id.slice(-2), id);
  return {
    async write(name, bytes) {
      const path = pathOf(name);
      const measured = new Measured();
      const file = await failing('write', () => openPart(folder, path));
      try {
        for await (const chunk of bytes) {
          measured.take(chunk);
          await failing('write', () => file.writeFile(chunk));
          releaseChunk(chunk);
        }
        await failing('write', () => file.sync());
      } finally {
        await file.close();
      }
      await failing('write', async () => {
        await rename(partOf(path), path);
        await syncFolder(dirname(path));
      });
      return measured.facts();
    },
    open: (name, sizeBytes) =>
      failing('read', async () => {
        const file = await open(pathOf(name), 'r');
        const { size } = await file.stat().catch(closing(file));
        if (size === sizeBytes) return file.createReadStream();
        await file.close();
        throw new Error(`the object has ${size} bytes, not ${sizeBytes}`);
      }),
    remove: (name) =>
      failing('remove', async () => {
        const path = pathOf(name);
        for (const one of [path, partOf(path)]) await rm(one, { force: true });
      }),
    probe: () =>
      failing('reach', async () => {
        await mkdir(folder, { recursive: true, mode: folderMode });
        await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
      }),
    close: () => undefined,
  };
}

function partOf(path: string): string {
  return `${path}.part`;
}

async function openPart(folder: string, path: string): Promise<FileHandle> {
  const made = await mkdir(dirname(path), { recursive: true, mode: folderMode });
  const tenantFolder = dirname(dirname(path));
  if (made !== undefined) for (const one of [tenantFolder, folder, dirname(folder)]) await syncFolder(one);
  return open(partOf(path), 'wx', fileMode);
}

/** Syncs a folder, so that its names survive a crash. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function closing(file: FileHandle) {
  return async (error: unknown): Promise<never> => {
    await file.close();
    throw error;
  };
}

async function failing<T>(what: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (cause) {
    throw new ContentStoreFailed(`could not ${what} in the content folder`, { cause });
  }
}
