import { Temporal } from 'temporal-polyfill';

/**
 * Time zones, with Temporal (decision 0215). Instants are milliseconds since 1970; a wall time is the local time of a
 * zone, in milliseconds as if the zone were UTC.
 */

/**
 * The canonical name of a zone. One zone can be written in many ways, and Temporal caches each name that it receives in
 * memory.
 * @returns undefined if it is not a zone of the IANA database, such as an offset
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

/** The wall time at an instant. */
export function wallTimeAt(zone: string, atMs: number): number {
  return atMs + offsetMsOf(zonedAt(zone, atMs));
}

/**
 * The instant of a wall time. If the clocks show that time twice, the first instant; if they skip it, the instant is
 * later by the skipped period.
 */
export function instantAt(zone: string, wallMs: number): number {
  const shown = Temporal.Instant.fromEpochMilliseconds(wallMs).toZonedDateTimeISO('UTC').toPlainDateTime();
  return shown.toZonedDateTime(zone, { disambiguation: 'compatible' }).epochMilliseconds;
}

/** A period in which the clocks of a zone don't change. */
export interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
  /** The offset from the instant to the wall time. */
  readonly offsetMs: number;
}

/** The time from one instant to another, split at clock changes. */
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
