import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pickFiles, testFiles } from './test-files.ts';

/** An assertion of one statement, which may span lines. */
const assertions = /\bassert\.(?:ok|equal)\(((?:[^;'"`]|'[^'\n]*'|"[^"\n]*"|`[^`]*`)*?)\);/g;
/**
 * Matches an upper bound on a time difference, on a variable whose name is that of a duration, or on a delay of the
 * event loop.
 */
const bounds = [
  /\b(?:performance|Date)\.now\(\)\s*-\s*[\w.]+\)?\s*(?:\/\s*\d+\)?\s*)?<=?/,
  /\b(?:took|elapsed|waited|duration|answered)\w*\s*<=?/i,
  /\b\w*(?:median|turn|took|waited|slowest|delay)\w*Ms\b\s*<=?/i,
  /\bdelay\.(?:max|percentile\(\d+\))[^<,]*<=?/,
];
/** The deadline of a wait is allowed, because only a failing test reaches it. */
const isNoComparison = /deadline|patience|waitMsMax|isLongProof/i;
/** Processor time is allowed, because it is not wall-clock time. */
const processorTimes = /\b(\w+) = [^;]*?\b(?:processorMsOf|threadCpuUsage)\(/g;

/**
 * Finds wall-clock assertions in the usual tests: they would fail on a busy machine. Only the long proof may compare
 * wall-clock time; `assertTookLess` does so there.
 * @returns one line per assertion
 */
export function wallClockAssertions(root: string): string[] {
  return pickFiles(testFiles(root), [], 'usual').flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    const processor = [...text.matchAll(processorTimes)].map(([, name = '']) => name);
    return [...text.matchAll(assertions)]
      .filter(([, condition = '']) => {
        const isBound = bounds.some((bound) => bound.test(condition)) && !isNoComparison.test(condition);
        return isBound && !processor.some((name) => condition.includes(`${name} <`));
      })
      .map(({ index }) => {
        const line = text.slice(0, index).split('\n').length;
        return `${file}:${line} compares wall-clock time: use assertTookLess of @baton/testing/depth`;
      });
  });
}
