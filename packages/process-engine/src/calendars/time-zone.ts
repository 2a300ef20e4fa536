import { Temporal } from 'temporal-polyfill';

/**
 * Time zones, by Temporal (decision 0215). Instants are milliseconds since 1970; a wall time is what the clocks of a zone
 * show, in milliseconds as if the zone were UTC.
 */

/**
 * The name of a zone under which Temporal remembers it. One zone can be written in many ways, and each name that Temporal
 * is given is kept in memory.
 * @returns undefined for what is no zone of the IANA database, such as an offset
 */
export function zoneNamed(name: string): string | undefined {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

export function isTimeZone(name: string): boolean {
  return zoneNamed(name) !== undefined;
}

/** What the clocks show at an instant. */
export function wallTimeAt(zone: string, atMs: number): number {
  return atMs + offsetMsOf(zonedAt(zone, atMs));
}

/** When the clocks show a time: the first of two instants, and as much later as the clocks jump for a time that they skip. */
export function instantAt(zone: string, wallMs: number): number {
  const shown = Temporal.Instant.fromEpochMilliseconds(wallMs).toZonedDateTimeISO('UTC').toPlainDateTime();
  return shown.toZonedDateTime(zone, { disambiguation: 'compatible' }).epochMilliseconds;
}

/** A time in which the clocks of a zone are not changed. */
export interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
  /** From the instant to the wall time. */
  readonly offsetMs: number;
}

/** The time from one instant to another, cut where the clocks are changed. */
export function* stretchesBetween(zone: string, fromMs: number, toMs: number): Generator<Stretch> {
  let at = zonedAt(zone, fromMs);
  while (at.epochMilliseconds < toMs) {
    const change = at.getTimeZoneTransition('next');
    const endMs = Math.min(change?.epochMilliseconds ?? toMs, toMs);
    yield { fromMs: at.epochMilliseconds, toMs: endMs, offsetMs: offsetMsOf(at) };
    if (change === null) return;
    at = change;
  }
}

function zonedAt(zone: string, atMs: number): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zone);
}

function offsetMsOf(at: Temporal.ZonedDateTime): number {
  return at.offsetNanoseconds / 1e6;
}
