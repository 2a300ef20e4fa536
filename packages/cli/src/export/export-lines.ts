import { randomBytes } from 'node:crypto';
import { link, open, rm, stat } from 'node:fs/promises';
import type { ConsoleOutput } from '../console-output.ts';
import { PlainError } from '../plain-error.ts';

/** The destination of an export. */
export interface ExportLines {
  /** @param line without its end */
  write(line: string): Promise<void>;
  /** Gives the file its name. */
  finish(): Promise<void>;
  /** Removes the incomplete file. */
  abandon(): Promise<void>;
}

export function linesToOutput(output: ConsoleOutput): ExportLines {
  return {
    async write(line) {
      output.line(line);
      await output.drained?.();
    },
    finish: () => Promise.resolve(),
    abandon: () => Promise.resolve(),
  };
}

/**
 * Writes a temporary file and renames it at the end, so a file of that name is always a complete export.
 * @throws PlainError for an existing file, or a folder that can't be written
 */
export async function linesToNewFile(path: string): Promise<ExportLines> {
  if ((await stat(path).catch(() => undefined)) !== undefined)
    throw new PlainError(`${path} already exists. Specify a new file, so that no export is overwritten.`);
  // In a shared folder, a predictable name may be a file or a link of another user: never open one.
  const beside = `${path}.${randomBytes(8).toString('hex')}.part`;
  const file = await open(beside, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new PlainError(`${path} can't be written (${error.code}).`);
  });
  let isWhole = false;
  return {
    async write(line) {
      // `write` of a handle may write only a part; this writes all.
      await file.appendFile(`${line}\n`);
    },
    async finish() {
      await file.sync();
      await file.close();
      isWhole = true;
      // Unlike a rename, a link never replaces a file that was created in the meantime.
      await link(beside, path).catch((error: NodeJS.ErrnoException) => {
        throw new PlainError(`${path} can't be written (${error.code}); the export is ${beside}.`);
      });
      await rm(beside);
    },
    async abandon() {
      if (isWhole) return;
      await file.close().catch(() => undefined);
      await rm(beside, { force: true });
    },
  };
}
