import { type FileHandle, open } from 'node:fs/promises';
import type { ConsoleOutput } from '../console-output.ts';
import { PlainError } from '../plain-error.ts';

/** The destination of exported events, one per line. */
export interface EventLines {
  /** The cursor of the last event in the file. */
  readonly cursor: string | undefined;
  /** Resolves once the next event can be written. */
  write(line: string): Promise<void>;
  close(): Promise<void>;
}

export function linesToOutput(output: ConsoleOutput, after: string | undefined): EventLines {
  return {
    cursor: after,
    async write(line) {
      output.line(line);
      await output.drained?.();
    },
    close: async () => undefined,
  };
}

const bufferedCharactersMax = 256 * 1024;

/**
 * Opens a new file, or with `resume` the file of an interrupted export, which is truncated after its last complete
 * line.
 * @throws PlainError if the file exists without `resume`, or its last line is not an event
 */
export async function linesToFile(path: string, resume: boolean): Promise<EventLines> {
  const file = await openFile(path, resume);
  try {
    const end = resume ? await endOfLines(file) : { bytes: 0, last: undefined };
    const cursor = end.last === undefined ? undefined : cursorIn(end.last, path);
    await file.truncate(end.bytes);
    return writerOf(file, end.bytes, cursor);
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function openFile(path: string, resume: boolean): Promise<FileHandle> {
  try {
    return resume ? await open(path, 'r+') : await open(path, 'wx', 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST')
      throw new PlainError(`${path} exists: continue it with --resume, or choose another file.`);
    throw new PlainError(`${path} can't be written (${code}).`);
  }
}

function writerOf(file: FileHandle, bytes: number, cursor: string | undefined): EventLines {
  let position = bytes;
  let buffered = '';
  const flush = async () => {
    const chunk = Buffer.from(buffered);
    buffered = '';
    for (let sent = 0; sent < chunk.length; ) {
      const { bytesWritten } = await file.write(chunk, sent, chunk.length - sent, position);
      sent += bytesWritten;
      position += bytesWritten;
    }
  };
  return {
    cursor,
    async write(line) {
      buffered += `${line}\n`;
      if (buffered.length >= bufferedCharactersMax) await flush();
    },
    async close() {
      try {
        await flush();
        await file.sync();
      } finally {
        await file.close();
      }
    },
  };
}

const stepBytes = 64 * 1024;
const lineBytesMax = 64 * 1024 * 1024;

/** The last complete line of a file, and its end; read backwards, so that a large file takes no longer. */
async function endOfLines(file: FileHandle): Promise<{ bytes: number; last: string | undefined }> {
  const { size } = await file.stat();
  let tail = Buffer.alloc(0);
  for (let from = size; from > 0 && tail.length < lineBytesMax; ) {
    const length = Math.min(stepBytes, from);
    from -= length;
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, from);
    tail = Buffer.concat([buffer, tail]);
    const end = tail.lastIndexOf(0x0a);
    const begin = end < 1 ? -1 : tail.lastIndexOf(0x0a, end - 1);
    if (end >= 0 && (begin >= 0 || from === 0))
      return { bytes: from + end + 1, last: tail.subarray(begin + 1, end).toString('utf8') };
  }
  if (size > 0 && tail.length >= lineBytesMax) throw new PlainError('The last line of the file is too long.');
  return { bytes: 0, last: undefined };
}

function cursorIn(line: string, path: string): string {
  try {
    const { cursor } = JSON.parse(line) as { cursor?: unknown };
    if (typeof cursor === 'string') return cursor;
  } catch {
    // reported below
  }
  throw new PlainError(`The last line of ${path} is not an event: the file is not an export.`);
}
