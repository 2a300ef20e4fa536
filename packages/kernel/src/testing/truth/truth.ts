import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { endpointName, type Operation } from '../../http/service.ts';
import { observe } from '../../process/observer.ts';
import { noteStatement } from '../database/statements.ts';
import { keepLog, keepSecret } from '../leaks/leaks.ts';

/** Something that a service did during a test run; one line of JSON in the record. */
export interface Fact {
  readonly service: string;
  /** `POST /tasks/{ref}:claim`, or another name for an action outside of an endpoint. */
  readonly endpoint: string;
  readonly kind: 'error' | 'event';
  /** The code of an error, or the type of an event. */
  readonly name: string;
}

const emitsOf = new Map<string, ReadonlySet<string>>();
const written = new Set<string>();
const violations: string[] = [];

/**
 * Compares the actions of a service in this process with the declarations of its endpoints. An undeclared error or
 * event, or a response that doesn't match its declared schema, fails the request with 500, and the test process at its
 * end. The observed facts are appended to a file of this process in the folder `BATON_TRUTH_DIR`, if that is set.
 * @returns the violations so far; a test that provokes one removes it
 */
export function recordTruth(service: string, endpoints: readonly Operation[]): string[] {
  for (const endpoint of endpoints)
    emitsOf.set(`${service} ${endpointName(endpoint)}`, new Set(endpoint.emits.map((event) => event.type)));
  observe({
    refused: (of, endpoint, code) => write({ service: of, endpoint, kind: 'error', name: code }),
    emitted(of, endpoint, type) {
      const declared = emitsOf.get(`${of} ${endpoint}`);
      // The worker and the command line emit events outside of any endpoint.
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
