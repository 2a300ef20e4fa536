import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pickFiles, testFiles } from './test-files.ts';

/** An upper bound of a difference to `performance.now()` or `Date.now()`, of a figure named so, or of a ratio of such. */
const bounds = [
  /assert\.(?:ok|equal)\([^;]*?\b(?:performance|Date)\.now\(\)\s*-\s*\w+\)?\s*(?:\/\s*\d+\)?\s*)?<=?/,
  /assert\.ok\([^;]*?\b(?:took|elapsed|waited|duration|answered)\w*(?:Ms|Seconds)\b\s*<=?/i,
];
/** Waiting for a condition is no comparison: its deadline is reached only by a test that fails anyway. */
const isNoComparison = /deadline|patience|waitMsMax|isLongProof/i;
/** Processor time is no wall-clock time. */
const processorTimes = /\b(\w+) = processorMsOf\(/g;

/**
 * Finds lines of the usual tests that a busy machine can break.
 * @returns one line per place: the long proof may compare wall-clock time, `assertTookLess` does so there only
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
