import pino, { type Logger } from 'pino';
import { observer } from './observer.ts';

export type { Logger } from 'pino';

/**
 * Structured lines to standard output, written off the hot path. There is no line per request: one cost half of the
 * throughput when it was measured. What a failed request leaves is its id, its endpoint and the error; headers and
 * bodies are never logged, so no secret can be.
 */
export function createLog(options: {
  name: string;
  level: string;
  sync?: boolean;
  /** Where the lines go instead: the leak tests read them. */
  destination?: { write(line: string): void };
}): Logger {
  const destination =
    options.destination ?? pino.destination({ dest: 1, sync: options.sync ?? false, minLength: 0 });
  const heard = {
    write(line: string) {
      observer()?.logged(line);
      destination.write(line);
    },
  };
  return pino(
    {
      name: options.name,
      level: options.level.toLowerCase(),
      base: { service: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: errorFields },
    },
    observer() === undefined ? destination : heard,
  );
}

/**
 * An error without the values that a client sent: PostgreSQL repeats rows in `detail`, which can hold hashes, and a
 * malformed value in its message, as the JSON parser does. In `where` it repeats parameters and JSON: of that only the
 * names of functions are kept.
 */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, stack } = error;
  const { code, constraint, table, where } = error as unknown as Record<string, unknown>;
  const quotesValue = name === 'SyntaxError' || String(code).startsWith('22');
  const message = quotesValue ? error.message.replace(/["'][^]*["']/, '"…"') : error.message;
  const cause = error.cause === undefined ? undefined : errorFields(error.cause);
  return {
    name,
    message,
    code,
    constraint,
    table,
    where: String(where ?? '').match(/^PL\/pgSQL function [^\n]*/m)?.[0],
    stack: stack?.replace(error.message, () => message),
    cause,
  };
}
