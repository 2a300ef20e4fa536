import { nodesOf } from '@baton/values/json';
import type { Json, JsonObject } from '@baton/values/wire';

/**
 * Text that a harness stores permanently for others: handoffs, child results, control messages. It may contain neither
 * a model's transcript nor local paths, which mean nothing on another machine. See
 * docs/reference/README.md#durable-text.
 */

/** Parts of a forbidden key, compared in lower case and without `-` and `_`. */
const privateNameParts = [
  'transcript',
  'chathistory',
  'rawprompt',
  'chainofthought',
  'reasoning',
  'credentials',
];

/** `/home/ada`, `file:///tmp/x`, `C:\work`; not the path of an address such as https://example.org/home. */
const localPath =
  /(?<![A-Za-z0-9._~%/-])(?:file:\/\/)?\/(?:Users|home|private|tmp|var|opt|Volumes)(?![A-Za-z0-9_-])|(?<![A-Za-z0-9])[A-Za-z]:(?:\\|\/(?!\/))/;

/** The reason for refusing a document: a forbidden key, or a string with a local path. */
export interface Unsafe {
  readonly kind: 'private_key' | 'local_path';
  /** The location, such as `/steps/0/transcript`; empty for a plain text. */
  readonly path: string;
}

/** Finds the first part of a document that must not be stored permanently. */
export function unsafeIn(document: Json): Unsafe | undefined {
  for (const { key, path, value } of nodesOf(document)) {
    const shown = path.slice(0, shownPathLengthMax).toWellFormed();
    if (key !== undefined && isPrivateName(key)) return { kind: 'private_key', path: shown };
    if (key !== undefined && localPath.test(key)) return { kind: 'local_path', path: shown };
    if (typeof value === 'string' && localPath.test(value)) return { kind: 'local_path', path: shown };
  }
  return undefined;
}

/** Like `unsafeIn`, for prose, which may itself be a JSON document. */
export function unsafeInText(text: string): Unsafe | undefined {
  return unsafeIn(text) ?? unsafeIn(parsedObject(text) ?? {});
}

const shownPathLengthMax = 200;

function isPrivateName(key: string): boolean {
  const name = key.toLowerCase().replaceAll(/[-_]/g, '');
  return privateNameParts.some((part) => name.includes(part));
}

function parsedObject(text: string): JsonObject | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return undefined;
  }
}
