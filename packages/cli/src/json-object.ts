import { exitCodes } from './error-text.ts';
import { PlainError } from './plain-error.ts';

/**
 * Reads an option whose value is a JSON
 * object. @param option its name, and `example` such an object, for the error message @throws PlainError for any other
 * value
 */
export function objectIn(text: string, option: string, example: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // The same sentence.
  }
  throw new PlainError(`${option} must be a JSON object, such as ${example}.`, { exitCode: exitCodes.usage });
}
