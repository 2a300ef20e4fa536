import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { visible } from '@baton/sdk/node';
import { PlainError } from '../plain-error.ts';

export interface SourceFile {
  /** The given path, or the path within the given folder. */
  readonly name: string;
  readonly text: string;
}

/** The limits per apply: people can't review a larger plan. */
export const fileBounds = { fileBytesMax: 1_048_576, filesMax: 200, foldersMax: 200, depthMax: 10 } as const;

const endings = /\.(ya?ml|json)$/i;

/**
 * The files of `-f`: a file, a folder with all `.yaml`, `.yml` and `.json` below it, or `-`.
 * Names that begin with a dot, `node_modules`, and linked folders are skipped.
 * @throws PlainError for a file that doesn't exist, is not UTF-8 text, or is too large, and for too many files
 */
export async function readFiles(names: readonly string[]): Promise<SourceFile[]> {
  const { filesMax } = fileBounds;
  const paths: string[] = [];
  for (const name of new Set(names)) paths.push(...(name === '-' ? ['-'] : await pathsOf(name)));
  const unique = [...new Map(paths.map((path) => [path === '-' ? path : resolve(path), path])).values()];
  if (unique.length > filesMax)
    throw new PlainError(
      `One apply reads at most ${filesMax} files; got ${unique.length}. Apply them in parts.`,
    );
  const files: SourceFile[] = [];
  for (const path of unique)
    files.push({
      name: path === '-' ? 'standard input' : visible(path),
      text: await readText(path === '-' ? process.stdin : createReadStream(path), path),
    });
  return files;
}

async function pathsOf(name: string): Promise<string[]> {
  const kind = await stat(name).catch((error: NodeJS.ErrnoException) => {
    throw new PlainError(`${visible(name)} can't be read (${error.code}): give a file or a folder with -f.`);
  });
  if (!kind.isDirectory()) return [name];
  const found = await filesBelow(name);
  if (found.length === 0)
    throw new PlainError(`${visible(name)} contains no file that ends in .yaml, .yml or .json.`);
  return found;
}

async function filesBelow(root: string): Promise<string[]> {
  const { filesMax, foldersMax, depthMax } = fileBounds;
  const found: string[] = [];
  const folders = [root];
  for (let at = 0; at < folders.length; at += 1) {
    const folder = folders[at] as string;
    if (folders.length > foldersMax || found.length > filesMax)
      throw new PlainError(
        `${visible(root)} contains more than ${filesMax} files or ${foldersMax} folders: specify a smaller one.`,
      );
    const depth = relative(root, folder) === '' ? 0 : relative(root, folder).split(/[/\\]/).length;
    const entries = await readdir(folder, { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (depth + 1 > depthMax)
          throw new PlainError(
            `${visible(path)} is more than ${depthMax} folders deep: specify a smaller folder.`,
          );
        folders.push(path);
      } else if (endings.test(entry.name) && (await isFile(path))) found.push(path);
    }
  }
  return found.sort();
}

/** Only regular files of a folder are read: reading a pipe could block. */
async function isFile(path: string): Promise<boolean> {
  const kind = await stat(path).catch(() => undefined);
  return kind?.isFile() === true;
}

async function readText(stream: AsyncIterable<unknown>, path: string): Promise<string> {
  const name = path === '-' ? 'Standard input' : visible(path);
  const { fileBytesMax } = fileBounds;
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of stream) {
      parts.push(Buffer.from(part as Uint8Array));
      bytes += parts.at(-1)?.length ?? 0;
      if (bytes > fileBytesMax)
        throw new PlainError(`${name} is larger than ${fileBytesMax} bytes: split it into several files.`);
    }
  } catch (error) {
    if (error instanceof PlainError) throw error;
    throw new PlainError(`${name} can't be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts));
  } catch {
    throw new PlainError(`${name} is not UTF-8 text.`);
  }
}
