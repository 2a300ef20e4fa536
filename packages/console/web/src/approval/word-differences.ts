/** A part of a text that is equal to the other text, or not. */
export interface Part {
  readonly text: string;
  readonly isChanged: boolean;
}

/** Splits words, spaces and punctuation, even in languages without spaces between words. */
const words = new Intl.Segmenter('en', { granularity: 'word' });

/** The comparison costs time and memory per pair of words. Larger differences are marked as a single change. */
const pairsMax = 1_000_000;

/** A rewritten text shares a few words with the old one by coincidence. More changes than this are marked as one, … */
const changesMax = 4;
/** … if they leave less than this of the shorter text equal. */
const equalShareMin = 0.3;

/** Compares two strings word by word. @returns each string in parts; joined, they are the string */
export function compareWords(before: string, after: string): Record<'before' | 'after', readonly Part[]> {
  const [old, now] = [wordsOf(before), wordsOf(after)];
  const shorter = Math.min(old.length, now.length);
  let start = 0;
  while (start < shorter && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < shorter - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const middle = joined(runsOf(old.slice(start, old.length - end), now.slice(start, now.length - end)));
  const equal = (text: readonly string[]): Run => ({ isChanged: false, old: text, now: text });
  const runs = [equal(old.slice(0, start)), ...middle, equal(old.slice(old.length - end))];
  return { before: partsOf(runs, 'old'), after: partsOf(runs, 'now') };
}

/** Consecutive words that both texts have, or that one text has instead of the other's. */
interface Run {
  readonly isChanged: boolean;
  readonly old: readonly string[];
  readonly now: readonly string[];
}

const wordsOf = (text: string): string[] => Array.from(words.segment(text), ({ segment }) => segment);

const isBlank = (text: readonly string[]): boolean => text.every((word) => word.trim() === '');

/** The longest common subsequence of both texts, as runs. */
function runsOf(old: readonly string[], now: readonly string[]): Run[] {
  const whole: Run[] = old.length + now.length === 0 ? [] : [{ isChanged: true, old, now }];
  if (old.length * now.length > pairsMax) return whole;
  const lengths = commonLengths(old, now);
  const width = now.length + 1;
  const lengthAt = (at: number, other: number) => lengths[at * width + other] ?? 0;
  const runs: { isChanged: boolean; old: string[]; now: string[] }[] = [];
  const runFor = (isChanged: boolean) => {
    const last = runs.at(-1);
    if (last?.isChanged === isChanged) return last;
    const next = { isChanged, old: [], now: [] };
    runs.push(next);
    return next;
  };
  let [at, other, equalCharacters] = [0, 0, 0];
  while (at < old.length || other < now.length) {
    const [was, is] = [old[at], now[other]];
    if (was !== undefined && was === is) {
      const run = runFor(false);
      run.old.push(was);
      run.now.push(was);
      equalCharacters += was.trim().length;
      at += 1;
      other += 1;
    } else if (
      was !== undefined &&
      (is === undefined || lengthAt(at + 1, other) >= lengthAt(at, other + 1))
    ) {
      runFor(true).old.push(was);
      at += 1;
    } else {
      runFor(true).now.push(is ?? '');
      other += 1;
    }
  }
  const changes = runs.filter(({ isChanged }) => isChanged).length;
  const shorter = Math.min(old.join('').length, now.join('').length);
  return changes > changesMax && equalCharacters < shorter * equalShareMin ? whole : runs;
}

/** How many words the remainders of both texts share, for each pair of positions. */
function commonLengths(old: readonly string[], now: readonly string[]): Uint16Array {
  const width = now.length + 1;
  const lengths = new Uint16Array((old.length + 1) * width);
  for (let at = old.length - 1; at >= 0; at -= 1)
    for (let other = now.length - 1; other >= 0; other -= 1)
      lengths[at * width + other] =
        old[at] === now[other]
          ? (lengths[(at + 1) * width + other + 1] ?? 0) + 1
          : Math.max(lengths[(at + 1) * width + other] ?? 0, lengths[at * width + other + 1] ?? 0);
  return lengths;
}

/** Joins changes that are separated only by white space: two consecutive changed words are one change. */
function joined(runs: readonly Run[]): Run[] {
  const result: Run[] = [];
  // The first run and the last one are changes: equal text at both ends was removed.
  for (const run of runs) {
    const last = result.at(-1);
    if (last !== undefined && (run.isChanged || isBlank(run.old)) && last.isChanged)
      result[result.length - 1] = {
        isChanged: true,
        old: [...last.old, ...run.old],
        now: [...last.now, ...run.now],
      };
    else result.push(run);
  }
  return result;
}

function partsOf(runs: readonly Run[], side: 'old' | 'now'): Part[] {
  return runs
    .map(({ isChanged, [side]: text }) => ({ isChanged, text: text.join('') }))
    .filter(({ text }) => text !== '');
}
