import { exitCodes } from './error-text.ts';
import { PlainError } from './plain-error.ts';

/** A jq filter that failed on a result. */
export class FilterFailure extends PlainError {
  readonly value: unknown;

  constructor(message: string, value: unknown) {
    super(`The --jq filter failed on the result: ${message}`);
    this.value = value;
  }
}

const flags = ['-r', '-c'];

/** @throws PlainError with exit code 2 for an invalid filter */
export async function compileFilter(filter: string): Promise<void> {
  const jq = await load();
  try {
    // If there is no input, jq only compiles the filter.
    await jq.raw('', filter, flags);
  } catch (error) {
    throw new PlainError(messageOf(error), { exitCode: exitCodes.usage });
  }
}

/** Returns the results of the filter, one per line. @throws FilterFailure */
export async function filtered(value: unknown, filter: string): Promise<string[]> {
  const jq = await load();
  try {
    // jq-wasm would parse a string as JSON, so every value is serialized.
    const text = await jq.raw(JSON.stringify(value ?? null), filter, flags);
    return text === '' ? [] : text.replace(/\n$/, '').split('\n');
  } catch (error) {
    throw new FilterFailure(messageOf(error), value);
  }
}

/** Imported on first use, because the import takes 20 ms. */
const load = () => import('jq-wasm');

const messageOf = (error: unknown) => (error as Error).message.trim();
