import { isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';
import type { CheckMaker } from './checks.ts';

/**
 * The values of `format` that are asserted: those that the draft defines precisely. Others only annotate, which the
 * draft leaves to the implementation.
 */

/** Longer strings match no format, because the expressions below may take quadratic time. */
const formattedCharactersMax = 2_000;

const fits = (form: z.ZodType) => (text: string) => form.safeParse(text).success;
const dateTime = fits(z.iso.datetime({ offset: true }));
const time = /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;
const hostname = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const formats: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': (text) => dateTime(text.toUpperCase()) && !Number.isNaN(Date.parse(text)),
  date: fits(z.iso.date()),
  time: (text) => time.test(text),
  duration: fits(z.iso.duration()),
  email: fits(z.email()),
  hostname: (text) => hostname.test(text),
  ipv4: isIPv4,
  ipv6: (text) => isIPv6(text) && !text.includes('%'),
  uri: (text) => /^[a-z][a-z0-9+.-]*:[!-~]*$/i.test(text) && URL.canParse(text),
  uuid: (text) => uuid.test(text),
  'json-pointer': (text) => /^(\/([^~/]|~[01])*)*$/.test(text),
};

/** Charges the cost of reading the string. */
export const assertFormat: CheckMaker = ({ value }) => {
  const isFormed = Object.hasOwn(formats, value as string) ? formats[value as string] : undefined;
  if (isFormed === undefined) return undefined;
  return (given, at, run) => {
    if (typeof given !== 'string') return true;
    run.spend(20 + Math.min(given.length, formattedCharactersMax));
    const isShort = given.length <= formattedCharactersMax;
    return (isShort && isFormed(given)) || run.fault(at, `must have the format ${value}`);
  };
};
