import { nodesOf } from './json.ts';
import { Refusal } from './refusal.ts';
import type { Json, JsonObject } from './wire.ts';

/**
 * The guards of free JSON documents (core, section 1.9). Callers keep the order: shape, then schema, then secrets.
 * None of them recurses: a body of one mebibyte can be nested half a million levels deep.
 */

export interface DocumentBounds {
  /** The field's name, for the details of a refusal. */
  readonly field: string;
  readonly bytesMax?: number;
  readonly depthMax?: number;
  readonly nodesMax?: number;
}

export const documentBytesMax = 65_536;
export const documentDepthMax = 20;
export const documentNodesMax = 5_000;
const eventTextCharactersMax = 1000;

/**
 * Refuses what is no object, or too large, too deep or too rich.
 * @throws Refusal `invalid_document`, `payload_too_large`, `payload_too_deep`
 */
export function checkDocument(value: unknown, bounds: DocumentBounds): asserts value is JsonObject {
  const {
    field,
    bytesMax = documentBytesMax,
    depthMax = documentDepthMax,
    nodesMax = documentNodesMax,
  } = bounds;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Refusal('invalid_document', { field });
  const { bytes, depth, nodes } = measureDocument(value as JsonObject);
  if (bytes > bytesMax)
    throw new Refusal('payload_too_large', { field, maxBytes: bytesMax, actualBytes: bytes });
  if (depth > depthMax) throw new Refusal('payload_too_deep', { field, maxDepth: depthMax });
  if (nodes > nodesMax) throw new Refusal('payload_too_large', { field, maxNodes: nodesMax });
}

/** Bytes as compact JSON in UTF-8; levels of objects and lists, the outermost included; values of every kind. */
export function measureDocument(document: Json): { bytes: number; depth: number; nodes: number } {
  let bytes = 0;
  let depth = 0;
  let nodes = 0;
  let level: Json[] = [document];
  for (let number = 1; level.length > 0; number += 1) {
    const below: Json[] = [];
    nodes += level.length;
    for (const value of level) {
      if (typeof value !== 'object' || value === null) {
        bytes += Buffer.byteLength(JSON.stringify(value));
        continue;
      }
      depth = number;
      const items = Object.values(value);
      const separators = Math.max(0, items.length - 1);
      bytes += 2 + separators;
      if (!Array.isArray(value))
        for (const key of Object.keys(value)) bytes += Buffer.byteLength(JSON.stringify(key)) + 1;
      for (const item of items) below.push(item);
    }
    level = below;
  }
  return { bytes, depth, nodes };
}

const secretNames = /password|passwd|secret|token|apikey|privatekey|credential|authorization/;

/**
 * Refuses a document with a key that is named like a secret, in any spelling (`api-key`, `API_KEY`); `secretRef` is the
 * name for an opaque reference and passes.
 * @throws Refusal `secret_material_rejected` with the path of the key
 */
export function refuseSecretKeys(document: Json, field: string): void {
  for (const { key, path } of nodesOf(document)) {
    const name = normalised(key);
    if (name !== 'secretref' && secretNames.test(name))
      throw new Refusal('secret_material_rejected', { field, path: shown(path) });
  }
}

/**
 * Secrets as they look in prose. Each starts where nothing of its own alphabet stands before it, so a hostile text is
 * read once and not once per position.
 */
const secretForms: readonly (readonly [name: string, form: RegExp])[] = [
  // Without its end line the rest of the text counts as the key.
  [
    'private_key',
    /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:[^]*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|[^]*)/,
  ],
  ['provider_key', /(?<![A-Za-z0-9_-])[sr]k-[A-Za-z0-9_-]{16,}/],
  ['github_token', /(?<![A-Za-z0-9_])gh[a-z]_[A-Za-z0-9_]{16,}/],
  ['slack_token', /(?<![A-Za-z0-9_-])xox[a-z]-[A-Za-z0-9-]{10,}/],
  ['aws_access_key', /(?<![A-Za-z0-9_])AKIA[A-Z0-9]{16,}/],
  ['google_api_key', /(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{20,}/],
  ['jwt', /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}/],
  ['baton_token', /(?<![A-Za-z0-9_-])(?:iam_pat|cp)_[A-Za-z0-9]{12}_[A-Za-z0-9_-]{16,}/],
  ['bearer_token', /(?<![A-Za-z0-9_-])bearer[ \t]{1,8}[A-Za-z0-9._~+/=-]{20,}/i],
  [
    'secret_assignment',
    /(?:password|passwd|secret|token|api[_-]?key|private[_-]?key|credential|authorization)["']?[ \t]{0,8}[:=][ \t]{0,8}["']?[^\s"']{16,}/i,
  ],
];
const everySecret = secretForms.map(([, form]) => new RegExp(form, `${form.flags}g`));

/**
 * Refuses prose that holds something shaped like a secret. What was found is named by its kind and never repeated.
 * @throws Refusal `secret_material_rejected` with `match`
 */
export function refuseSecretText(text: string, field: string): void {
  const found = secretForms.find(([, form]) => form.test(text));
  if (found !== undefined) throw new Refusal('secret_material_rejected', { field, match: found[0] });
}

/** The text with everything that is shaped like a secret replaced by `[redacted]`. */
export function redactSecrets(text: string): string {
  return everySecret.reduce((left, form) => left.replaceAll(form, '[redacted]'), text);
}

/** Free text as it is copied into an event: without secrets, 1000 characters at most, the last an ellipsis if cut. */
export function eventText(text: string): string {
  const redacted = redactSecrets(text);
  if (redacted.length <= eventTextCharactersMax) return redacted;
  // By code points: half a surrogate pair can't be stored.
  const characters = Array.from(redacted.slice(0, 2 * eventTextCharactersMax + 1));
  if (characters.length <= eventTextCharactersMax) return redacted;
  return `${characters.slice(0, eventTextCharactersMax - 1).join('')}…`;
}

const privateKeys = new Set([
  'transcript',
  'transcripts',
  'chathistory',
  'rawprompt',
  'rawprompts',
  'chainofthought',
  'reasoning',
  'credential',
  'credentials',
]);
const localPath =
  /(?:(?<![\w./~-])|file:\/\/)\/(?:Users|home|private|tmp|var|opt|Volumes)(?![\w.-])|(?<![A-Za-z0-9])[A-Za-z]:[\\/]/;

/**
 * Refuses what must not outlive a run: an agent's thoughts and credentials by key name, and paths that exist on one
 * machine only.
 * @param code `unsafe_handoff_payload`, `unsafe_child_result` or `unsafe_control_payload`
 * @throws Refusal with `code` and the path of what was found
 */
export function refuseUnsafePayload(payload: Json, field: string, code: string): void {
  for (const { key, value, path } of nodesOf(payload)) {
    const unsafe = privateKeys.has(normalised(key)) || (typeof value === 'string' && localPath.test(value));
    if (unsafe) throw new Refusal(code, { field, path: shown(path) });
  }
}

/**
 * Refuses numbers that two programs may print differently: fractions, and integers beyond what a double holds.
 * @throws Refusal `non_canonical_value` with the path
 */
export function refuseFractions(document: Json, field: string): void {
  for (const { value, path } of nodesOf(document)) {
    if (typeof value === 'number' && !Number.isSafeInteger(value))
      throw new Refusal('non_canonical_value', { field, path: shown(path) });
  }
}

function normalised(key: string | undefined): string {
  return key?.toLowerCase().replaceAll(/[-_]/g, '') ?? '';
}

const pathLengthMax = 200;

function shown(path: string): string {
  return path.slice(0, pathLengthMax).toWellFormed();
}
