const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

const clock = String.raw`(?:,? +(\d{1,2}):(\d\d)(?::\d\d)?(?: ?([AP]M))?)?(?: \((?:UTC|GMT)\))?`;
/** `24/Dec/26 5:00 PM` of Jira, `24 December 2026`. */
const dayFirst = new RegExp(String.raw`^(\d{1,2})[/ -]([A-Za-z]{3,9})\.?[/ -](\d{4}|\d\d)${clock}$`, 'i');
/** `December 24, 2026 5:00 PM` of Notion. */
const monthFirst = new RegExp(String.raw`^([A-Za-z]{3,9})\.? (\d{1,2}),? (\d{4})${clock}$`, 'i');
const iso = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?$/i;
/** The format of `Date.prototype.toString`, which Linear exports. */
const javaScript =
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d{4} \d\d:\d\d:\d\d GMT[+-]\d{4}(?: \([^()]{1,80}\))?$/;
const epochMilliseconds = /^\d{12,13}$/;
const textCharactersMax = 120;

/**
 * Returns the instant of an unambiguous text; one without an offset is in UTC.
 * Numeric days and months (`03/04/2026`) are ambiguous, so they are not an instant.
 */
export function instantIn(text: string): string | undefined {
  const plain = text.trim();
  if (plain.length > textCharactersMax) return undefined;
  const date = dateIn(plain);
  const year = date?.getUTCFullYear() ?? Number.NaN;
  return year >= 1 && year <= 9999 ? date?.toISOString() : undefined;
}

function dateIn(text: string): Date | undefined {
  if (iso.test(text)) return isoDate(text);
  if (epochMilliseconds.test(text)) return new Date(Number(text));
  if (javaScript.test(text)) return new Date(text);
  const first = dayFirst.exec(text);
  if (first !== null) return namedDate(first[1], first[2], first[3], first.slice(4));
  const second = monthFirst.exec(text);
  return second === null ? undefined : namedDate(second[2], second[1], second[3], second.slice(4));
}

function isoDate(text: string): Date {
  const [day, time] = [text.slice(0, 10), text.slice(11)];
  const [, hours = '00:00', offset = 'Z'] = /^(.*?) ?(Z|UTC|[+-]\d\d:?\d\d)?$/i.exec(time) ?? [];
  const zone = /^utc$/i.test(offset) ? 'Z' : offset.replace(/^([+-]\d\d)(\d\d)$/, '$1:$2');
  return new Date(`${day}T${hours === '' ? '00:00' : hours}${zone.toUpperCase()}`);
}

function namedDate(
  day = '',
  month = '',
  year = '',
  [hour = '0', minute = '0', half]: readonly (string | undefined)[] = [],
): Date | undefined {
  const at = months.indexOf(month.slice(0, 3).toLowerCase());
  if (at === -1) return undefined;
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (/pm/i.test(half) ? 12 : 0);
  const date = new Date(
    Date.UTC(Number(year.length === 2 ? `20${year}` : year), at, Number(day), hours, Number(minute)),
  );
  // For example, the 31st of a month with 30 days is not a date.
  return date.getUTCDate() === Number(day) && hours < 24 && Number(minute) < 60 ? date : undefined;
}

const numericDate = /^\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?:[ ,T].{0,40})?$/;

/**
 * Whether a cell means that an event has happened: by a date, even an ambiguous one, or by a word such as `yes`.
 * Undefined for any other text.
 */
export function hasHappened(text: string): boolean | undefined {
  const plain = text.trim();
  if (/^(?:|no|n|false|0|-+|n\/a|none|null|unchecked|☐)$/i.test(plain)) return false;
  if (/^(?:yes|y|true|1|x|checked|done|completed?|✓|✔|☑)$/i.test(plain)) return true;
  return instantIn(plain) !== undefined || numericDate.test(plain) ? true : undefined;
}
