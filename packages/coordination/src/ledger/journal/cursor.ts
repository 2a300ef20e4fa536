import { fail } from '../errors.ts';

/**
 * A position in the journal: after the event with this position and sequence. Positions increase from transaction to
 * transaction, sequences within one. See docs/reference/journal.md#order.
 */
export interface JournalPosition {
  readonly position: number;
  readonly sequence: number;
}

/** A position by sequence alone, as sent by older consumers; the cursors of delivered events are complete. */
export interface LegacyPosition {
  readonly afterSequence: number;
}

export type JournalCursor = JournalPosition | LegacyPosition;

const prefix = 'ec1_';
const textLengthMax = 200;

export function isLegacy(cursor: JournalCursor): cursor is LegacyPosition {
  return 'afterSequence' in cursor;
}

/** `ec1_` and base64url of `{"t":position,"s":sequence}`. Opaque to clients, which return it unchanged. */
export function encodeCursor({ position, sequence }: JournalPosition): string {
  return prefix + Buffer.from(`{"t":${position},"s":${sequence}}`).toString('base64url');
}

/**
 * Parses a client's cursor: one of this service, a bare integer, or the older form without a prefix.
 * @throws Refusal `unsupported_cursor_version`, `invalid_cursor`
 */
export function parseCursor(text: string): JournalCursor {
  if (text.length > textLengthMax) fail('invalid_cursor');
  if (/^[0-9]+$/.test(text)) return parseLegacySequence(text);
  const version = /^ec([0-9]+)_/.exec(text)?.[1];
  if (version !== undefined && version !== '1')
    fail('unsupported_cursor_version', { supported: [prefix.slice(0, -1)] });
  if (version === undefined) return legacyOf(decode(text));
  const { t: position, s: sequence, ...rest } = decode(text.slice(prefix.length));
  if (Object.keys(rest).length > 0 || !isCount(sequence)) return fail('invalid_cursor');
  if (position === undefined) return { afterSequence: sequence };
  return isCount(position) ? { position, sequence } : fail('invalid_cursor');
}

/** `after=12`. @throws Refusal `invalid_cursor` */
export function parseLegacySequence(text: string): LegacyPosition {
  const afterSequence = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  return isCount(afterSequence) ? { afterSequence } : fail('invalid_cursor');
}

/**
 * The position before which everything is committed: a client that reads the state and then the journal from here
 * misses no change. Select `journal_horizon()` as the horizon in the statement that reads the state or in an earlier
 * one, never in a later one.
 */
export function cursorAtHorizon(horizon: number): string {
  return encodeCursor({ position: horizon, sequence: 0 });
}

function legacyOf(document: Record<string, unknown>): LegacyPosition {
  const [name, ...rest] = Object.keys(document);
  const sequence = document[name ?? ''];
  const isKnown = rest.length === 0 && ['sequence', 'seq', 's'].includes(name ?? '');
  return isKnown && isCount(sequence) ? { afterSequence: sequence } : fail('invalid_cursor');
}

function decode(text: string): Record<string, unknown> {
  const isText = /^[A-Za-z0-9_-]+$/.test(text);
  const document = isText ? parseJson(Buffer.from(text, 'base64url').toString('utf8')) : undefined;
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    return fail('invalid_cursor');
  return document as Record<string, unknown>;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
