import pino, { type Logger } from 'pino';
import { observer } from './observer.ts';

export type { Logger } from 'pino';

/**
 * JSON lines to standard output, written asynchronously. Requests are not logged individually: a line per request
 * halved the measured throughput. A failed request logs its id, its endpoint and the error; headers and bodies are
 * never logged, so that no secret can be.
 */
export function createLog(options: {
  name: string;
  level: string;
  sync?: boolean;
  /** Instead of standard output; the leak tests read the lines. */
  destination?: { write(line: string): void };
}): Logger {
  const destination =
    options.destination ?? pino.destination({ dest: 1, sync: options.sync ?? false, minLength: 0 });
  const observed = {
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
    observer() === undefined ? destination : observed,
  );
}

/**
 * An error's fields without client input. PostgreSQL repeats rows in `detail`, which may contain hashes, and
 * quotes a malformed value in its message, as the JSON parser does. In `where` it repeats parameters and JSON, so only
 * the name of the function is kept.
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
