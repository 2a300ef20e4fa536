import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pickFiles, testFiles } from './test-files.ts';

/** Upper bounds on a difference from `performance.now()` or `Date.now()`, or on a variable with the name of a duration. */
const bounds = [
  /assert\.(?:ok|equal)\([^;]*?\b(?:performance|Date)\.now\(\)\s*-\s*\w+\)?\s*(?:\/\s*\d+\)?\s*)?<=?/,
  /assert\.ok\([^;]*?\b(?:took|elapsed|waited|duration|answered)\w*(?:Ms|Seconds)\b\s*<=?/i,
];
/** A deadline of a wait is allowed: only a failing test reaches it. */
const isNoComparison = /deadline|patience|waitMsMax|isLongProof/i;
/** Processor time is allowed: it is not wall-clock time. */
const processorTimes = /\b(\w+) = processorMsOf\(/g;

/**
 * Finds wall-clock assertions in the usual tests, which fail on a busy machine. Only the long proof may compare wall-clock
 * time; `assertTookLess` does so there.
 * @returns one line per assertion
 */
export function wallClockAssertions(root: string): string[] {
  return pickFiles(testFiles(root), [], 'usual').flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    const processor = new Set([...text.matchAll(processorTimes)].map(([, name = '']) => name));
    const lines = text.split('\n');
    return lines.flatMap((line, index) =>
      bounds.some((bound) => bound.test(line)) &&
      !isNoComparison.test(line) &&
      ![...processor].some((name) => line.includes(`${name} <`))
        ? [`${file}:${index + 1} compares wall-clock time: use assertTookLess of @baton/testing/depth`]
        : [],
    );
  });
}
