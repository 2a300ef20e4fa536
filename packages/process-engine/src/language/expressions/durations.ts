/**
 * ISO 8601 durations from weeks to seconds; months and years are excluded, because their length varies
 * (docs/reference/processes.md#expressions).
 */

const unitsMs = [604_800_000, 86_400_000, 3_600_000, 60_000, 1000];
const isoDuration =
  /^(-?)P(?=[\dT])(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?=\d)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12}(?:\.\d{1,9})?)S)?)?$/;

/** Milliseconds of `P1W2DT3H4M5.5S`; undefined for any other string. */
export function parseIsoDuration(text: string): number | undefined {
  const matched = isoDuration.exec(text);
  if (matched === null) return undefined;
  const [, sign, ...amounts] = matched;
  const ms = amounts.reduce((sum, amount, n) => sum + Number(amount ?? 0) * (unitsMs[n] as number), 0);
  return Math.round(sign === '-' ? 0 - ms : ms);
}

const shortUnitsMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Milliseconds of `1h30m`, the CEL format; undefined for any other string. */
export function parseShortDuration(text: string): number | undefined {
  const [, sign, parts] = /^([+-]?)((?:\d{1,12}(?:\.\d{1,9})?(?:h|ms|m|s)){1,4})$/.exec(text) ?? [];
  if (parts === undefined) return undefined;
  const found = [...parts.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g)];
  const ms = found.reduce(
    (sum, [, amount, unit = '']) => sum + Number(amount) * (shortUnitsMs[unit] as number),
    0,
  );
  return Math.round(sign === '-' ? 0 - ms : ms);
}

/**
 * Milliseconds as `PT26H3.5S`: hours are not converted to days, because a duration of 24 hours has no days of its own.
 */
export function isoDurationOf(ms: number): string {
  const whole = Math.abs(ms);
  const [hours, minutes] = [Math.floor(whole / 3_600_000), Math.floor(whole / 60_000) % 60];
  const seconds = (whole % 60_000) / 1000;
  const text = `${hours > 0 ? `${hours}H` : ''}${minutes > 0 ? `${minutes}M` : ''}${seconds > 0 ? `${seconds}S` : ''}`;
  return `${ms < 0 ? '-' : ''}PT${text === '' ? '0S' : text}`;
}
