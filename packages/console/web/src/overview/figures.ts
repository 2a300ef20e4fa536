import type { Usage } from '@baton/sdk';

const units: readonly [string, number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
];

/** A duration in its largest unit, with one decimal below ten: `2.5 h`. */
export function durationText(seconds: number | null): string {
  if (seconds === null) return '–';
  const [unit, size] = units.find(([, of]) => seconds >= of) ?? ['s', 1];
  const value = seconds / size;
  return `${value < 10 && unit !== 's' ? Number(value.toFixed(1)) : Math.round(value)} ${unit}`;
}

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
export const countText = (count: number): string =>
  count < 10_000 ? count.toLocaleString('en') : compact.format(count);

/** An amount of money. Amounts below a cent are shown with more digits. */
export function moneyText(micros: number, currency: string): string {
  const amount = micros / 1e6;
  const digits = amount !== 0 && amount < 0.01 ? 4 : 2;
  return amount.toLocaleString('en', { style: 'currency', currency, minimumFractionDigits: digits });
}

/** The costs of all currencies, for instance `$0.42 + €1.00`. */
export function costsText({ costs }: Usage): string {
  if (costs.length === 0) return '–';
  return costs.map(({ costMicros, currency }) => moneyText(costMicros, currency)).join(' + ');
}

export const tokensOf = ({ inputTokens, outputTokens }: Usage): number => inputTokens + outputTokens;

const dayFormat = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' });
/** A date of the API as `Dec 24`. */
export const dayText = (date: string): string => dayFormat.format(new Date(date));
