import { RE2JS } from 're2js';

/**
 * Patterns from tenants run on re2js, whose time is linear in the length of the text. Features that can't be matched in
 * linear time (lookahead, lookbehind, references to groups) are refused.
 */
export interface Pattern {
  matches(text: string): boolean;
  /** The maximum number of program steps per character of a string. */
  readonly stepsPerCharacter: number;
}

/** The limit for one pattern, as counted by `patternSize`. A size of 500 takes about 10 ms to compile. */
export const patternSizeMax = 500;
/** The limit for all patterns of a schema together. */
export const patternSizesMax = 2_000;

/**
 * @throws Error that describes the problem with the pattern
 */
export function compilePattern(text: string): Pattern {
  const compiled = RE2JS.compile(RE2JS.translateRegExp(text));
  return { matches: (given) => compiled.test(given), stepsPerCharacter: compiled.programSize() };
}

/**
 * The maximum size of a pattern's program, computed from its text: the sum of its atoms, each multiplied by the
 * repetitions around it. Compiling `(|a){500}(|a){500}` to measure it would take 0.1 s. Infinite for forms that RE2 and
 * JavaScript read differently, in which a bracket could be hidden from this count: `[]`, `[[:alpha:]]`, `\Q`.
 */
export function patternSize(pattern: string): number {
  const groups: Group[] = [{ sum: 1, last: 0 }];
  for (const [token, times] of tokensOf(pattern)) {
    const group = groups.at(-1) as Group;
    if (/^(\\Q|\[\^?\]|\[[^]*\[:)/.test(token)) return Number.POSITIVE_INFINITY;
    if (token === '(') groups.push({ sum: 1, last: 0 });
    else if (token === ')' && groups.length > 1) {
      groups.pop();
      addAtom(groups.at(-1) as Group, group.sum);
    } else if (times !== undefined) {
      group.sum += group.last * times;
      group.last *= times + 1;
    } else if ('*+?'.includes(token)) group.sum += 1;
    else addAtom(group, 1);
  }
  return groups.reduce((size, { sum }) => size + sum, 0);
}

/** The size of a group so far, and the size of its last atom, to which a repetition applies. */
interface Group {
  sum: number;
  last: number;
}

function addAtom(group: Group, size: number): void {
  group.sum += size;
  group.last = size;
}

/** Matches an escape with its braces, a class, a repetition, or a single character. */
const token =
  /\\[pPuxk](?:\{[^}]{0,40}\}|<[^>]{0,80}>)|\\[^]|\[\^?\]?(?:\\[^]|[^\]\\])*\]?|\{(\d{1,9})(?:,(\d{0,9}))?\}|[^]/g;

/** The tokens of a pattern; a repetition has its maximum. */
function* tokensOf(pattern: string): Iterable<[string, number | undefined]> {
  for (const [text, least, most] of pattern.matchAll(token))
    yield [text, least === undefined ? undefined : Math.max(1, Number(least), Number(most ?? 0))];
}
