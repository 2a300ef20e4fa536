import { EventEmitter } from 'node:events';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';
import { collectEvidence } from './test-evidence.ts';

/** The result of one test, or of a suite at the top, as a line of JSON for scripts/test-run.ts. */
export interface TestEnd {
  /** The name, including the names of the enclosing suites and tests, as `suite > test`. */
  readonly name: string;
  readonly result: 'passed' | 'failed' | 'skipped' | 'suite';
  readonly seconds: number;
  /** The reason for the failure, for people; absent if only a subtest failed, which has its own line. */
  readonly reason?: string;
}

/** Reports the name of each top-level suite when it and its hooks have ended. */
export const suiteEnds = new EventEmitter<Record<string, []>>();

/**
 * A reporter for Node's test runner that writes one JSON line per test.
 * @public because the runner loads it by its path
 */
export default async function* reporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const path: string[] = [];
  for await (const event of events) {
    if (event.type === 'test:start') path.splice(event.data.nesting, path.length, event.data.name);
    if (event.type === 'test:diagnostic') reportStrayError(event.data.message);
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const { details, name, nesting } = event.data;
    const seconds = details.duration_ms / 1000;
    const end = endOf(event, [...path.slice(0, nesting), name].join(' > '), seconds);
    if (end !== undefined) yield `${JSON.stringify(end)}\n`;
    if (nesting > 0 || details.type !== 'suite') continue;
    const suite: TestEnd = { name, result: 'suite', seconds };
    yield `${JSON.stringify(suite)}\n`;
    suiteEnds.emit(name);
  }
}

/**
 * Prints the runner's message about an error outside running tests, such as one in a connection that a test left open.
 * The error belongs to no test, but the process ends with code 1.
 */
function reportStrayError(message: string): void {
  if (/^(?:Error|Warning): /.test(message)) process.stderr.write(`${message}\n`);
}

function endOf(
  event: Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>,
  name: string,
  seconds: number,
): TestEnd | undefined {
  const { data } = event;
  if (data.skip !== undefined || data.todo !== undefined) return { name, result: 'skipped', seconds };
  const isSuite = data.details.type === 'suite';
  if (event.type === 'test:pass') return isSuite ? undefined : { name, result: 'passed', seconds };
  const { error } = event.data.details;
  const isOnlyParent = (error as { failureType?: string }).failureType === 'subtestsFailed';
  if (isOnlyParent) return isSuite ? undefined : { name, result: 'failed', seconds };
  const reason = [inspect(error.cause ?? error), ...collectEvidence(error.cause ?? error)].join('\n');
  return { name, result: 'failed', seconds, reason };
}
