import { randomBytes } from 'node:crypto';
import { parseStorable, type StorableJson } from './storable.ts';

/** A request from a command, as a line on standard output (docs/runner.md). */
export type Ask =
  | { readonly do: 'checkpoint'; readonly kind: string; readonly data: Record<string, unknown> }
  | { readonly do: 'comment'; readonly body: string }
  | {
      readonly do: 'ask_approval';
      readonly question: string;
      readonly personId?: string;
      readonly roleId?: string;
    }
  | { readonly do: 'output'; readonly data: Record<string, unknown> }
  | { readonly do: 'retry_after'; readonly seconds: number };

/** A parsed line, and the changes without which it couldn't be stored. */
export interface ParsedRequest {
  readonly ask: Ask;
  readonly changes: readonly string[];
}

/**
 * The mark of every command that `--fixed-mark` starts. Other authors' text that such a command prints may contain this
 * mark.
 */
export const fixedMark = '::baton::';

/**
 * @returns the mark of one command: a line that begins with the mark and a space is for the runner, all others
 * are output
 */
export function createMark(): string {
  return `::baton-${randomBytes(16).toString('hex')}::`;
}

/** Longer lines are always output. The longest document of a checkpoint fits into this limit. */
export const lineBytesMax = 262_144;

const textMax = 10_000;
/** A week, the maximum that the service accepts. */
const retryAfterSecondsMax = 604_800;

/**
 * Parses a line of the protocol.
 * @param line the line without its end
 * @param mark the mark of the command that printed it
 * @returns undefined for a line that is output
 * @throws TypeError for an invalid line for the runner; UnstorableError
 */
export function parseRequest(line: string, mark: string): ParsedRequest | undefined {
  if (!line.startsWith(`${mark} `)) return undefined;
  const { value, changes } = readJson(line.slice(mark.length + 1));
  return { ask: askOf(object('the line', value)), changes };
}

function askOf({ do: what, ...given }: Record<string, unknown>): Ask {
  switch (what) {
    case 'checkpoint': {
      const { kind = 'progress', data = {} } = only(given, ['kind', 'data']);
      return { do: what, kind: text('kind', kind, 100), data: object('data', data) };
    }
    case 'comment':
      return { do: what, body: text('body', only(given, ['body']).body, textMax) };
    case 'ask_approval': {
      const { question, personId, roleId } = only(given, ['question', 'personId', 'roleId']);
      if (personId !== undefined && roleId !== undefined)
        throw new TypeError('name personId or roleId, not both');
      return {
        do: what,
        question: text('question', question, 4000),
        ...(personId !== undefined && { personId: text('personId', personId, 36) }),
        ...(roleId !== undefined && { roleId: text('roleId', roleId, 36) }),
      };
    }
    case 'output':
      return { do: what, data: object('data', only(given, ['data']).data) };
    case 'retry_after':
      return { do: what, seconds: seconds('seconds', only(given, ['seconds']).seconds) };
    default:
      throw new TypeError('"do" is one of checkpoint, comment, ask_approval, output, retry_after');
  }
}

function readJson(json: string): StorableJson {
  try {
    return parseStorable(json);
  } catch (error) {
    if (error instanceof SyntaxError) throw new TypeError('it is not valid JSON');
    throw error;
  }
}

function only<Name extends string>(
  given: Record<string, unknown>,
  names: readonly Name[],
): Partial<Record<Name, unknown>> {
  const unknown = Object.keys(given).find((name) => !names.includes(name as Name));
  if (unknown !== undefined) throw new TypeError(`there is no "${unknown.slice(0, 50)}"`);
  return given as Partial<Record<Name, unknown>>;
}

function text(name: string, value: unknown, max: number): string {
  if (typeof value === 'string' && value.trim() !== '' && value.length <= max) return value;
  throw new TypeError(`${name} is a text of 1 to ${max} characters`);
}

function seconds(name: string, value: unknown): number {
  if (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= retryAfterSecondsMax)
    return Number(value);
  throw new TypeError(`${name} is a whole number from 0 to ${retryAfterSecondsMax}`);
}

function object(name: string, value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new TypeError(`${name} is an object`);
}
