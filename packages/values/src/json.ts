import type { Json } from './wire.ts';

/**
 * Walks JSON values without recursion: a body of 1 MiB can be nested half a million levels deep, which exceeds the
 * stack.
 */

export interface JsonNode {
  readonly value: Json;
  /** `/steps/0/name`, empty for the outermost value. */
  readonly path: string;
  /** The value's key in its object; undefined in a list and for the outermost value. */
  readonly key: string | undefined;
}

/** Every value inside `root` in document order, `root` first; a parent precedes its children. */
export function* nodesOf(root: Json): Generator<JsonNode> {
  const pending: JsonNode[] = [{ value: root, path: '', key: undefined }];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    yield node;
    const { value, path } = node;
    if (typeof value !== 'object' || value === null) continue;
    const isNamed = !Array.isArray(value);
    for (const [key, item] of Object.entries(value).reverse())
      pending.push({ value: item, path: `${path}/${key}`, key: isNamed ? key : undefined });
  }
}

/** For each object or list of a body, the path from it to the first integer that `JSON.parse` rounded. */
const roundedIn = new WeakMap<object, string>();

/**
 * The path, from an object or list of a body, of the first integer in it that a double can't represent exactly:
 * `/steps/0`.
 */
export function roundedIntegerIn(document: object): string | undefined {
  return roundedIn.get(document);
}

/**
 * Matches the start of a number to examine: digits that may exceed the precision of a double, or an exponent; other
 * numbers are not examined further. Most UUIDs contain `7e2` or the like, but not after one of these characters.
 */
const mayBeRounded = /(?:^|[\s:,[])-?\d(?:[\d.]{15}|[\d.]*[eE]\+?\d)/;

/** An object or list that encloses the current position of the scan. */
interface OpenNode {
  /** The parsed value. If the value's key occurs twice, this may be the value of the other occurrence. */
  readonly value: unknown;
  readonly isList: boolean;
  key: string | number;
  awaitsKey: boolean;
}

/** The number of characters per step; a step with the worst numbers takes about 25 ms. */
const stepCharacters = 524_288;

/**
 * Finds the integers of a JSON text that `JSON.parse` rounded, for `roundedIntegerIn`. One pass without recursion; 1
 * MiB of the worst numbers takes about 50 ms. Yields so that other work can run.
 * @param root the same text, parsed
 */
export function* noteRoundedIntegers(text: string, root: Json): Generator<void, void> {
  if (!mayBeRounded.test(text)) return;
  const open: OpenNode[] = [];
  let stepEnd = stepCharacters;
  for (let at = 0; at < text.length; at += 1) {
    if (at >= stepEnd) {
      stepEnd = at + stepCharacters;
      yield;
    }
    const mark = text[at] as string;
    const node = open[open.length - 1];
    if (mark === '"') {
      const start = at;
      at = stringEnd(text, at);
      if (node?.awaitsKey) takeKey(node, text.slice(start, at + 1));
    } else if (mark === '{' || mark === '[') {
      const isList = mark === '[';
      const value = node === undefined ? root : memberOf(node);
      open.push({ value, isList, key: isList ? 0 : '', awaitsKey: !isList });
    } else if (mark === '}' || mark === ']') open.pop();
    else if (mark === ',') nextMember(node);
    else if (mark === '-' || (mark >= '0' && mark <= '9')) {
      const start = at;
      while (isNumberMark(text.charCodeAt(at + 1))) at += 1;
      const source = text.slice(start, at + 1);
      if (node !== undefined && isUnsure(node, source) && isRounded(source)) noteRounded(open);
    }
  }
}

/** Whether a character code is one of `+-.eE` or a digit, but not the comma (44) or slash (47) between these. */
function isNumberMark(code: number): boolean {
  return (code >= 43 && code <= 57 && code !== 44 && code !== 47) || code === 69 || code === 101;
}

/** The position of the quote that ends the string starting at `at`. */
function stringEnd(text: string, at: number): number {
  for (let end = at + 1; ; end += text[end] === '\\' ? 2 : 1) if (text[end] === '"') return end;
}

function takeKey(node: OpenNode, quoted: string): void {
  node.key = quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  node.awaitsKey = false;
}

function nextMember(node: OpenNode | undefined): void {
  if (node === undefined) return;
  if (node.isList) node.key = (node.key as number) + 1;
  else node.awaitsKey = true;
}

function memberOf({ value, key }: OpenNode): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string | number, unknown>)[key];
}

/** Whether a number may have been rounded, unless a rounded one was already found in the same object or list. */
function isUnsure(node: OpenNode, source: string): boolean {
  if (source.length < 4) return false;
  const number = Number(source);
  if (Number.isSafeInteger(number) || !Number.isInteger(number)) return false;
  // Of values with the same key, `JSON.parse` kept only the last one.
  return !roundedIn.has(node.value as object) && memberOf(node) === number;
}

/**
 * The maximum depth at which paths are recorded; documents have fewer levels. Recording every level of a 1 MiB body
 * took a quarter of a second.
 */
const notedLevelsMax = 64;
/** The maximum number of levels in a reported path. */
const toldLevelsMax = 256;

/**
 * Records the path of a rounded number for all enclosing values, from the innermost up to one that already has such a
 * path.
 */
function noteRounded(open: readonly OpenNode[]): void {
  const { value: deepest } = open[Math.min(open.length, notedLevelsMax) - 1] as OpenNode;
  if (roundedIn.has(deepest as object)) return;
  const below = open.slice(notedLevelsMax, toldLevelsMax);
  let path = below.map(({ key }) => `/${key}`).join('');
  // Iterates backwards by index: copying a deep stack for every such number would take quadratic time.
  for (let at = Math.min(open.length, notedLevelsMax) - 1; at >= 0; at -= 1) {
    const { value, key } = open[at] as OpenNode;
    path = `/${key}${path}`;
    if (typeof value !== 'object' || value === null || roundedIn.has(value)) return;
    roundedIn.set(value, path);
  }
}

/**
 * Whether a number is an integer that a double can't represent exactly, in any notation: `9007199254740993`,
 * `1e23`.
 */
function isRounded(source: string): boolean {
  // Uses no regular expressions or lists, because 1 MiB may contain 200,000 such numbers.
  const start = source.startsWith('-') ? 1 : 0;
  const mark = Math.max(source.indexOf('e'), source.indexOf('E'));
  const point = source.indexOf('.');
  if (mark < 0 && point < 0) return BigInt(source) !== BigInt(Number(source));
  const end = mark < 0 ? source.length : mark;
  const whole = source.slice(start, point < 0 ? end : point);
  const fraction = point < 0 ? '' : source.slice(point + 1, end);
  const digits = whole + fraction;
  let kept = digits.length;
  while (kept > 0 && digits.charCodeAt(kept - 1) === zero) kept -= 1;
  const exponent = mark < 0 ? 0 : Number(source.slice(mark + 1));
  const zeros = exponent - fraction.length + digits.length - kept;
  if (zeros < 0) return false;
  // A double represents integers below 2^53 times a power of two exactly. The power of two in ten to the power of
  // `zeros` can be dropped, so only five to that power has to fit.
  let rest = Number(digits.slice(0, kept));
  if (rest > Number.MAX_SAFE_INTEGER)
    return BigInt(digits.slice(0, kept)) * 10n ** BigInt(zeros) !== BigInt(Math.abs(Number(source)));
  while (rest > 0 && rest % 2 === 0) rest /= 2;
  return rest * 5 ** zeros > Number.MAX_SAFE_INTEGER;
}

const zero = '0'.charCodeAt(0);
