import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, Header, type ReadEntry } from 'tar';
import { failureCode, StartError } from '../start-error.ts';
import { type Use, useOf } from './expected-names.ts';

/** Incremented with every change that an older Baton can't read. */
export const formatVersion = 2;

/** The first entry of a backup. */
export interface Manifest {
  readonly format: 'baton-backup';
  readonly version: number;
  readonly createdAt: string;
  /** The data version of Baton's folder. */
  readonly dataVersion: number;
  /** PostgreSQL's major version, and the machine's architecture: a physical copy runs only if both are the same. */
  readonly postgres: number;
  readonly platform: string;
}

/** A large file for a backup, read lazily. */
export interface ArchiveFile {
  /** Relative to `ownFolder`. */
  readonly name: string;
  readonly sizeBytes: number;
  /** Yields exactly `sizeBytes` bytes. */
  read(): AsyncIterable<Buffer>;
}

/** The folder in the archive for everything except PostgreSQL's data. */
export const ownFolder = 'baton';
const manifestName = `${ownFolder}/backup.json`;
const checksumName = `${ownFolder}/sha256`;

const blockBytes = 512;
const manifestBytesMax = 4096;
/** The end of every tar archive: two empty blocks. */
const endBytes = 2 * blockBytes;
/** The size of the checksum entry (header and content) and the end of the archive. */
const checksumBytes = 2 * blockBytes + endBytes;

/**
 * A backup is a tar archive, packed by gzip: the manifest, the files of Baton's folder, PostgreSQL's data directory,
 * the large files, and last the SHA-256 of everything before it. Any tar can unpack it.
 * @param files content by name, relative to `ownFolder`
 * @param data a tar archive of the data directory
 * @param largeFiles iterated only when the data directory is complete
 */
export async function* packArchive(
  manifest: Manifest,
  files: ReadonlyMap<string, Buffer>,
  data: AsyncIterable<Buffer>,
  largeFiles: AsyncIterable<ArchiveFile>,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  const hashed = (bytes: Buffer) => {
    hash.update(bytes);
    return bytes;
  };
  yield hashed(entryOf(manifestName, Buffer.from(JSON.stringify(manifest))));
  for (const [name, content] of files) yield hashed(entryOf(`${ownFolder}/${name}`, content));
  const tail = new Tail(endBytes);
  for await (const chunk of data) yield hashed(tail.add(chunk));
  if (tail.bytes.length !== endBytes || tail.bytes.some((byte) => byte !== 0))
    throw new StartError("PostgreSQL's base backup ended early. Try again.");
  for await (const file of largeFiles) for await (const bytes of entryOfFile(file)) yield hashed(bytes);
  yield entryOf(checksumName, Buffer.from(hash.digest('hex')));
  yield Buffer.alloc(endBytes);
}

/**
 * Reads the whole file and compares its checksum.
 * @throws StartError if the file is not a backup, is damaged or incomplete, or is from a newer Baton
 */
export async function verifyArchive(file: FileHandle, path: string): Promise<Manifest> {
  const hash = createHash('sha256');
  const tail = new Tail(checksumBytes);
  let head = Buffer.alloc(0);
  let manifest: Manifest | undefined;
  try {
    await pipeline(
      file.createReadStream({ start: 0, autoClose: false }),
      createGunzip(),
      async (unpacked: AsyncIterable<Buffer>) => {
        for await (const chunk of unpacked) {
          if (manifest === undefined) {
            head = Buffer.concat([head, chunk]);
            if (head.length < 2 * manifestBytesMax) continue;
            manifest = manifestIn(head, path);
            hash.update(tail.add(head));
          } else hash.update(tail.add(chunk));
        }
      },
    );
  } catch (cause) {
    if (cause instanceof StartError) throw cause;
    throw isForeign(cause) ? foreign(path) : damaged(path, cause);
  }
  if (manifest === undefined) throw foreign(path);
  if (!isChecksum(tail.bytes, hash.digest('hex'))) throw damaged(path);
  return manifest;
}

/**
 * Unpacks a verified backup, without the server's configuration. A checksum isn't a signature, so links, and names that
 * no backup of Baton contains, are rejected nevertheless. Files and folders become readable by their owner only,
 * whatever their modes.
 * @throws StartError for such a file, or if it can't be written to the folder
 */
export async function unpackArchive(
  file: FileHandle,
  path: string,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await pipeline(
      file.createReadStream({ start: 0, autoClose: false }),
      createGunzip(),
      unpackInto(folder, path),
      { signal },
    );
  } catch (cause) {
    if (cause instanceof StartError || signal.aborted) throw cause;
    const reason = failureCode(cause) || (cause as Error).message;
    throw new StartError(`Cannot unpack ${path} (${reason}).`, { cause });
  }
}

/** The unpacker is not a Node stream, and an error in its filter would end the process. */
function unpackInto(folder: string, path: string): Writable {
  let strange: StartError | null = null;
  const unpacker = extract({
    cwd: folder,
    strict: true,
    preserveOwner: false,
    noMtime: true,
    filter(name, entry) {
      const use = 'type' in entry && isInside(name) ? useOfEntry(name, entry) : 'refuse';
      if (use === 'refuse')
        strange = new StartError(
          `${path} was not written by Baton: it contains the unexpected entry ${nameToShow(name)}.`,
        );
      return use === 'unpack';
    },
  });
  const writable = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (strange !== null || unpacker.write(chunk)) done(strange);
      else unpacker.once('drain', () => done());
    },
    final(done) {
      unpacker.once('close', () => done(strange));
      unpacker.end();
    },
  });
  unpacker.on('error', (error: Error) => writable.destroy(error));
  return writable;
}

function useOfEntry(name: string, entry: ReadEntry): Use {
  if (entry.type !== 'File' && entry.type !== 'Directory') return 'refuse';
  // Also removes the setuid and setgid bits.
  entry.mode = entry.type === 'File' ? 0o600 : 0o700;
  return useOf(name, entry.type);
}

/** At most 100 characters, without terminal control characters. */
const nameToShow = (name: string) => JSON.stringify(name.slice(0, 100).replaceAll(/[^\x20-\x7e]/g, '?'));

const isInside = (name: string) => !name.startsWith('/') && !name.split('/').includes('..');

/** A regular file, readable by its owner only, padded to whole blocks. */
function entryOf(path: string, content: Buffer): Buffer {
  return Buffer.concat([headerOf(path, content.length), content, paddingOf(content.length)]);
}

/** Like `entryOf`, but as a stream. @throws StartError if the file changes during the copy */
async function* entryOfFile({ name, sizeBytes, read }: ArchiveFile): AsyncGenerator<Buffer> {
  yield headerOf(`${ownFolder}/${name}`, sizeBytes);
  let bytes = 0;
  for await (const chunk of read()) {
    bytes += chunk.length;
    yield chunk;
  }
  if (bytes !== sizeBytes) throw new StartError(`${name} changed during the backup. Try again.`);
  yield paddingOf(sizeBytes);
}

function headerOf(path: string, size: number): Buffer {
  const header = Buffer.alloc(blockBytes);
  new Header({ path, mode: 0o600, size, mtime: new Date(), type: 'File' }).encode(header);
  return header;
}

function paddingOf(size: number): Buffer {
  return Buffer.alloc((blockBytes - (size % blockBytes)) % blockBytes);
}

/** The content of the entry that starts here; undefined if it has another name. */
function contentOf(bytes: Buffer, name: string): Buffer | undefined {
  if (bytes.length < blockBytes) return undefined;
  const { path, size = 0, cksumValid } = new Header(bytes.subarray(0, blockBytes));
  if (!cksumValid || path !== name || size > manifestBytesMax) return undefined;
  return bytes.subarray(blockBytes, blockBytes + size);
}

function manifestIn(head: Buffer, path: string): Manifest {
  const content = contentOf(head, manifestName);
  if (content === undefined) throw foreign(path);
  const manifest = parse(content);
  if (manifest?.format !== 'baton-backup' || !Number.isInteger(manifest.version)) throw foreign(path);
  if (manifest.version > formatVersion)
    throw new StartError(
      `${path} was written by a newer version of Baton (format ${manifest.version}). Upgrade Baton to restore it.`,
    );
  if (!isComplete(manifest)) throw foreign(path);
  return manifest;
}

/** Validates the values that are compared or printed on the terminal. */
function isComplete({ createdAt, dataVersion, postgres, platform }: Manifest): boolean {
  const areNumbers = Number.isSafeInteger(dataVersion) && Number.isSafeInteger(postgres);
  return areNumbers && isoTime.test(createdAt) && /^\w{1,20}-\w{1,20}$/.test(platform);
}

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

function parse(content: Buffer): Manifest | undefined {
  try {
    return (JSON.parse(content.toString()) ?? undefined) as Manifest | undefined;
  } catch {
    return undefined;
  }
}

const isChecksum = (tail: Buffer, expected: string) => contentOf(tail, checksumName)?.toString() === expected;

/** The error that gzip reports for a file in another format. */
const isForeign = (error: unknown) => /incorrect header check/.test((error as Error).message);

const foreign = (path: string) => new StartError(`${path} is not a backup written by "baton backup".`);
const damaged = (path: string, cause?: unknown) =>
  new StartError(`${path} is damaged or incomplete. Use another backup.`, { cause });

/** Holds back the last bytes of a stream, because they mean something else than the bytes before them. */
class Tail {
  readonly #bytesMax: number;
  bytes: Buffer = Buffer.alloc(0);

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /**
   * @returns the bytes that are certainly not among the last ones
   */
  add(chunk: Buffer): Buffer {
    const all = Buffer.concat([this.bytes, chunk]);
    const cut = Math.max(0, all.length - this.#bytesMax);
    this.bytes = all.subarray(cut);
    return all.subarray(0, cut);
  }
}
