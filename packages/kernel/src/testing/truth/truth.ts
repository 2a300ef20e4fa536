import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { endpointName, type Operation } from '../../http/service.ts';
import { observe } from '../../process/observer.ts';
import { noteStatement } from '../database/statements.ts';
import { keepLog, keepSecret } from '../leaks/leaks.ts';

/** Something that a service did during a run of the tests; one line of JSON in the record. */
export interface Fact {
  readonly service: string;
  /** `POST /tasks/{ref}:claim`, or another name for what happened outside of an endpoint. */
  readonly endpoint: string;
  readonly kind: 'error' | 'event';
  /** The code of the error, the type of the event. */
  readonly name: string;
}

const emitsOf = new Map<string, ReadonlySet<string>>();
const written = new Set<string>();
const violations: string[] = [];

/**
 * Compares what a service does in this process with what its endpoints declare. An undeclared error or event and a
 * response that differs from the declared form fail the request with 500, and the test process at its end. What was
 * produced is added to a file of this process in the folder `BATON_TRUTH_DIR`, when that is set.
 * @returns the violations so far; a test that provokes one takes it out
 */
export function recordTruth(service: string, endpoints: readonly Operation[]): string[] {
  for (const endpoint of endpoints)
    emitsOf.set(`${service} ${endpointName(endpoint)}`, new Set(endpoint.emits.map((event) => event.type)));
  observe({
    refused: (of, endpoint, code) => write({ service: of, endpoint, kind: 'error', name: code }),
    emitted(of, endpoint, type) {
      const declared = emitsOf.get(`${of} ${endpoint}`);
      // The worker and the command line write events outside of any endpoint.
      if (declared !== undefined && !declared.has(type))
        violate(`${of}: ${endpoint} emitted ${type}, which it does not declare`);
      write({ service: of, endpoint, kind: 'event', name: type });
    },
    made: keepSecret,
    logged: keepLog,
    ran: noteStatement,
    violated: violate,
  });
  process.removeListener('exit', failOnViolations);
  process.on('exit', failOnViolations);
  return violations;
}

function violate(message: string): never {
  violations.push(message);
  throw new Error(message);
}

function write(fact: Fact): void {
  const directory = process.env.BATON_TRUTH_DIR;
  const line = JSON.stringify(fact);
  if (!directory || written.has(line)) return;
  written.add(line);
  appendFileSync(join(directory, `${process.pid}.jsonl`), `${line}\n`);
}

function failOnViolations(): void {
  if (violations.length === 0) return;
  process.stderr.write(`Declared and done differ:\n${violations.join('\n')}\n`);
  process.exitCode = 1;
}
