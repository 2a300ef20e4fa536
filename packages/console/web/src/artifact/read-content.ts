import { baton } from '../client.ts';

/** How much of an artifact is loaded for display. A larger one can be downloaded. */
export const shownBytesMax = { text: 1_000_000, image: 10_000_000 };
/** A download is held in the browser's memory. */
export const downloadBytesMax = 200_000_000;

/** The beginning of an artifact's bytes. */
export interface Content {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly isCut: boolean;
}

/** Reads at most the given number of bytes. The read is recorded in the journal. */
export async function readContent(id: string, bytesMax: number, signal: AbortSignal): Promise<Content> {
  const { body } = await baton.artifacts.getContent(id, {}, { signal });
  if (body === null) return { bytes: new Uint8Array(), isCut: false };
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    length += value.length;
    if (length > bytesMax) {
      await reader.cancel();
      break;
    }
  }
  const bytes = new Uint8Array(Math.min(length, bytesMax));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk.subarray(0, Math.max(0, bytes.length - at)), at);
    at = Math.min(bytes.length, at + chunk.length);
  }
  return { bytes, isCut: length > bytesMax };
}

/** Saves the bytes as a file. The generic media type prevents the browser from displaying them. */
export async function downloadContent(id: string, name: string): Promise<void> {
  const { bytes, isCut } = await readContent(id, downloadBytesMax, AbortSignal.timeout(downloadMsMax));
  if (isCut) throw new RangeError('The artifact is too large to download in a browser.');
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name.replaceAll(/[\\/:\p{Cc}]/gu, '_').slice(0, 200) || 'artifact';
  link.click();
  // By then, the browser has started to read the blob.
  setTimeout(() => URL.revokeObjectURL(url), revokeMs);
}

const downloadMsMax = 600_000;
const revokeMs = 60_000;
