import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { releaseChunk } from '@baton/kernel/listener/byte-stream';
import { newId } from '@baton/values/ids';
import { type ContentName, type ContentStore, ContentStoreFailed, Measured } from '../content-store.ts';
import type { Settings } from '../settings.ts';
import { createS3Client } from './s3-request.ts';

/**
 * Stores objects in an S3-compatible store, as `<tenant>/<id>`. S3 requires the length of an object before its first
 * byte, and its digest for the signature, so the bytes are buffered in an unlinked file: a slow client holds no
 * connection to the store, and a crash leaves no file behind.
 * @param settings.CP_ARTIFACT_FOLDER the folder of that file; the system's temporary folder if empty
 */
export function createS3Store(settings: Settings): ContentStore {
  const client = createS3Client(settings);
  const keyOf = ({ tenantId, id }: ContentName) => `${tenantId}/${id}`;
  const waitingRoom = settings.CP_ARTIFACT_FOLDER || tmpdir();
  return {
    async write(name, bytes) {
      const file = await openNameless(waitingRoom);
      try {
        const measured = new Measured();
        for await (const chunk of bytes) {
          measured.take(chunk);
          await failing(() => file.writeFile(chunk));
          releaseChunk(chunk);
        }
        const facts = measured.facts();
        const stream = file.createReadStream({ start: 0, autoClose: false });
        const answer = await client.send({
          method: 'PUT',
          key: keyOf(name),
          expected: [200],
          body: { stream, ...facts },
        });
        answer.resume();
        return facts;
      } finally {
        await file.close();
      }
    },
    async open(name, sizeBytes) {
      const answer = await client.send({ method: 'GET', key: keyOf(name), expected: [200] });
      const size = Number(answer.headers['content-length']);
      if (size === sizeBytes) return answer;
      answer.destroy();
      throw new ContentStoreFailed(`the object in the S3 store has ${size} bytes, not ${sizeBytes}`);
    },
    async remove(name) {
      const answer = await client.send({ method: 'DELETE', key: keyOf(name), expected: [200, 204, 404] });
      answer.resume();
    },
    async probe() {
      const answer = await client.send({ method: 'HEAD', expected: [200] });
      answer.resume();
    },
    close: () => client.close(),
  };
}

/** A file that exists only while it is open. */
function openNameless(folder: string): Promise<FileHandle> {
  return failing(async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, `${newId()}.upload`);
    const file = await open(path, 'wx+', 0o600);
    await rm(path);
    return file;
  });
}

async function failing<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (cause) {
    throw new ContentStoreFailed('an upload could not be buffered', { cause });
  }
}
