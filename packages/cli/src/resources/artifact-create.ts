import { readFile, stat } from 'node:fs/promises';
import type { NewArtifact } from '@baton/sdk';
import { exitCodes } from '../error-text.ts';
import { objectIn } from '../json-object.ts';
import { PlainError } from '../plain-error.ts';
import type { Called } from './resource.ts';

/** The command line sends files from memory; use the SDK, which streams, for larger ones. */
const fileBytesMax = 256 * 1024 * 1024;

/**
 * Records a result: the bytes of a file, an address, or a document.
 * @throws PlainError unless exactly one of them is given, and for an unreadable file
 */
export async function createArtifact({
  baton,
  args: [name = '', file = ''],
  options,
}: Called): Promise<unknown> {
  const text = (option: string) => (typeof options[option] === 'string' ? options[option] : undefined);
  const [uri, content] = [text('uri'), text('content')];
  const given = [file === '' ? undefined : 'file', uri && 'link', content && 'document'].filter(Boolean);
  if (given.length !== 1)
    throw new PlainError('Specify the content with exactly one of a file, --uri or --content.', {
      exitCode: exitCodes.usage,
    });
  const [task, runId, type = String(given[0])] = [text('task'), text('runId'), text('type')];
  const artifact: NewArtifact = {
    name,
    type,
    ...(task !== undefined && { task }),
    ...(runId !== undefined && { runId }),
    ...(uri !== undefined && { uri }),
    ...(content !== undefined && { content: objectIn(content, '--content', '{"coverage": 0.8}') }),
    ...(file !== '' && { contentRef: await upload(baton, file, text('mediaType')) }),
  };
  return baton.artifacts.create(artifact);
}

async function upload(baton: Called['baton'], file: string, mediaType: string | undefined): Promise<string> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    const { size } = await stat(file);
    if (size > fileBytesMax)
      throw new PlainError(
        `${file} is larger than ${fileBytesMax / 1024 / 1024} MiB: the SDK uploads it as a stream.`,
      );
    bytes = new Uint8Array(await readFile(file));
  } catch (error) {
    if (error instanceof PlainError) throw error;
    throw new PlainError(`${file} can't be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  const { contentRef } = await baton.artifactContents.upload(
    mediaType === undefined ? bytes : new Blob([bytes], { type: mediaType }),
  );
  return contentRef;
}
