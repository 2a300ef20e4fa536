import { nodesOf } from '@baton/values/json';
import type { Json, JsonObject } from '@baton/values/wire';

/**
 * What a harness leaves for others to read for good: handoffs, results of children, control messages (core, section
 * 1.9). It holds neither what went on inside the model nor paths of one machine, which mean nothing on another.
 */

/** Parts of a key's name, compared in lower case and without `-` and `_`. */
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

/** What makes a document unfit: a key of this name, or a text with a path of this machine. */
export interface Unsafe {
  readonly kind: 'private_key' | 'local_path';
  /** Where: `/steps/0/transcript`, empty for the text itself. */
  readonly path: string;
}

/** The first thing in a document that must not be kept for good; undefined when there is none. */
export function unsafeIn(document: Json): Unsafe | undefined {
  for (const { key, path, value } of nodesOf(document)) {
    const shown = path.slice(0, shownPathLengthMax).toWellFormed();
    if (key !== undefined && isPrivateName(key)) return { kind: 'private_key', path: shown };
    if (key !== undefined && localPath.test(key)) return { kind: 'local_path', path: shown };
    if (typeof value === 'string' && localPath.test(value)) return { kind: 'local_path', path: shown };
  }
  return undefined;
}

/** The same for prose, which may itself be a JSON document. */
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
