import { BoundedCache } from '@baton/values/bounded-cache';
import {
  compilePattern,
  type Pattern,
  patternSize,
  patternSizeMax,
} from '@baton/values/json-schema/patterns';
import { type Overload, overload } from './overloads.ts';
import { ExpressionProblem } from './parse-expression.ts';
import type { Run } from './run.ts';
import { bool, int, listOf, string } from './types.ts';
import { ExpressionFault, textSteps, type Value, wholeOf } from './values.ts';

/** CEL's string extension. Positions are counted in code points, as `size` does. */

export const textFunctions: readonly Overload[] = [
  overload('string.contains(string)', bool, (run, text: string, part: string) => {
    run.spend(textSteps(text, part));
    return text.includes(part);
  }),
  overload('string.startsWith(string)', bool, (run, text: string, part: string) => {
    run.spend(textSteps(part));
    return text.startsWith(part);
  }),
  overload('string.endsWith(string)', bool, (run, text: string, part: string) => {
    run.spend(textSteps(part));
    return text.endsWith(part);
  }),
  overload('string.matches(string)', bool, matches),
  overload('matches(string, string)', bool, matches),
  overload('string.size()', int, sizeOfText),
  overload('size(string)', int, sizeOfText),
  overload('string.charAt(int)', string, (run, text: string, at: Value) => {
    const characters = charactersOf(text, run);
    return characters.slice(placeIn(characters, at)).at(0) ?? '';
  }),
  overload('string.indexOf(string)', int, (run, text: string, part: string) => placeOf(run, text, part, 0)),
  overload('string.indexOf(string, int)', int, (run, text: string, part: string, from: Value) =>
    placeOf(run, text, part, wholeOf(from)),
  ),
  overload('string.lastIndexOf(string)', int, (run, text: string, part: string) =>
    lastPlaceOf(run, text, part),
  ),
  overload('string.lastIndexOf(string, int)', int, (run, text: string, part: string, from: Value) =>
    lastPlaceOf(run, text, part, wholeOf(from)),
  ),
  overload('string.lowerAscii()', string, (run, text: string) => {
    run.spend(textSteps(text));
    return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
  }),
  overload('string.upperAscii()', string, (run, text: string) => {
    run.spend(textSteps(text));
    return text.replaceAll(/[a-z]+/g, (letters) => letters.toUpperCase());
  }),
  overload('string.trim()', string, (run, text: string) => {
    run.spend(textSteps(text));
    return text.trim();
  }),
  overload('string.reverse()', string, (run, text: string) => charactersOf(text, run).reverse().join('')),
  overload('string.substring(int)', string, (run, text: string, from: Value) => {
    const characters = charactersOf(text, run);
    return characters.slice(placeIn(characters, from)).join('');
  }),
  overload('string.substring(int, int)', string, (run, text: string, from: Value, to: Value) => {
    const characters = charactersOf(text, run);
    const [begin, end] = [placeIn(characters, from), placeIn(characters, to)];
    if (end < begin) throw new ExpressionFault('index_out_of_range');
    return characters.slice(begin, end).join('');
  }),
  overload('string.replace(string, string)', string, (run, text: string, part: string, other: string) =>
    joined(run, split(run, text, part, -1), other),
  ),
  overload(
    'string.replace(string, string, int)',
    string,
    (run, text: string, part: string, other: string, count: Value) => {
      const times = wholeOf(count);
      return joined(run, split(run, text, part, times < 0 ? -1 : times + 1), other);
    },
  ),
  overload('string.split(string)', listOf(string), (run, text: string, by: string) =>
    split(run, text, by, -1),
  ),
  overload('string.split(string, int)', listOf(string), (run, text: string, by: string, most: Value) =>
    split(run, text, by, wholeOf(most)),
  ),
  overload('list.join()', string, (run, parts: readonly Value[]) => joined(run, parts, '')),
  overload('list.join(string)', string, (run, parts: readonly Value[], by: string) => joined(run, parts, by)),
];

function charactersOf(text: string, run: Run): string[] {
  run.spend(textSteps(text));
  return Array.from(text);
}

function sizeOfText(run: Run, text: string): bigint {
  run.spend(textSteps(text));
  let characters = 0;
  for (const _ of text) characters += 1;
  return BigInt(characters);
}

/** @throws ExpressionFault `index_out_of_range` */
function placeIn(characters: readonly unknown[], at: Value): number {
  const place = wholeOf(at);
  if (place < 0 || place > characters.length) throw new ExpressionFault('index_out_of_range');
  return place;
}

function placeOf(run: Run, text: string, part: string, from: number): bigint {
  const characters = charactersOf(text, run);
  if (from < 0 || from > characters.length) throw new ExpressionFault('index_out_of_range');
  const units = characters.slice(0, from).join('').length;
  return countedTo(text, text.indexOf(part, units));
}

function lastPlaceOf(run: Run, text: string, part: string, from?: number): bigint {
  const characters = charactersOf(text, run);
  if (from !== undefined && (from < 0 || from > characters.length))
    throw new ExpressionFault('index_out_of_range');
  const units = from === undefined ? text.length : characters.slice(0, from).join('').length;
  return countedTo(text, text.lastIndexOf(part, units));
}

/** The number of code points before a position in code units; -1 stays -1. */
function countedTo(text: string, unit: number): bigint {
  return unit < 0 ? -1n : BigInt(Array.from(text.slice(0, unit)).length);
}

/** @param most the maximum number of parts, the last of which contains the rest; negative for all */
function split(run: Run, text: string, by: string, most: number): string[] {
  run.spend(textSteps(text, by));
  if (most === 0) return [];
  const parts = by === '' ? charactersOf(text, run) : text.split(by);
  run.spend(parts.length);
  if (most < 0 || parts.length <= most) return parts;
  return [...parts.slice(0, most - 1), parts.slice(most - 1).join(by)];
}

/** @throws ExpressionFault `no_such_overload` for a part that is not a string */
function joined(run: Run, parts: readonly Value[], by: string): string {
  run.spend(parts.length);
  let length = 0;
  for (const part of parts) {
    if (typeof part !== 'string') throw new ExpressionFault('no_such_overload');
    length += part.length + by.length;
  }
  // Checked before the string is built: a million copies of a long string would exceed the memory.
  run.spend(Math.ceil(length / 16));
  return parts.join(by);
}

/**
 * A pattern of size 500 takes 10 ms to compile: at 5 steps per unit of size, the limit of 10,000 steps allows 40 ms.
 */
const stepsPerSize = 5;
/** The maximum total size of cached patterns, shared by all processes of all tenants. */
const keptSizesMax = 100_000;
const kept = new BoundedCache<Pattern>(keptSizesMax);

/** The cost of a match: a short string takes about 10 µs. */
const matchSteps = 5;

/** @throws ExpressionFault `invalid_pattern` */
function matches(run: Run, text: string, source: string): boolean {
  const pattern = patternOf(run, source);
  run.spend(matchSteps + Math.ceil((text.length * pattern.stepsPerCharacter) / 32));
  return pattern.matches(text);
}

/**
 * The cost is the same whether the pattern is cached or not, so that the same evaluation always has the same outcome.
 */
function patternOf(run: Run, source: string): Pattern {
  const paid = run.patterns.get(source);
  if (paid !== undefined) return paid;
  run.spend(textSteps(source));
  const size = patternSize(source);
  if (size > patternSizeMax) throw new ExpressionFault('invalid_pattern');
  run.spend(size * stepsPerSize);
  const pattern = kept.get(source) ?? compiled(source);
  kept.keep(source, pattern, size);
  run.patterns.set(source, pattern);
  return pattern;
}

function compiled(source: string): Pattern {
  try {
    return compilePattern(source);
  } catch {
    throw new ExpressionFault('invalid_pattern');
  }
}

/**
 * Refuses a pattern that is not valid RE2 (which has no lookaround) or whose size exceeds 500.
 * @param budget the remaining size of all patterns together; it is reduced
 * @throws ExpressionProblem `expression_type_error`, `expression_too_complex`
 */
export function requirePattern(source: string, budget: { sizeLeft: number }): void {
  const size = patternSize(source);
  if (size > patternSizeMax) throw badPattern();
  budget.sizeLeft -= size;
  if (budget.sizeLeft < 0)
    throw new ExpressionProblem('expression_too_complex', 'all patterns together are too large');
  try {
    compilePattern(source);
  } catch {
    throw badPattern();
  }
}

function badPattern(): ExpressionProblem {
  return new ExpressionProblem('expression_type_error', 'matches() requires an RE2 pattern of moderate size');
}
