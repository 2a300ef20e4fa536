import type { Usage } from '@baton/sdk';

const units: readonly [string, number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
];

/** A duration in its one or two largest units: `12 min`, `1 h 5 min`, `42 s`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds === 0) return 'under 1 s';
  const at = units.findIndex(([, size]) => seconds >= size);
  const [unit, size] = units[at] ?? (['s', 1] as const);
  const whole = Math.floor(seconds / size);
  const [smaller, smallerSize] = units[at + 1] ?? ['', 0];
  // Seconds are shown only below one minute: `3 min 20 s` is more precise than anyone needs.
  const rest = smaller === '' || smaller === 's' ? 0 : Math.floor((seconds - whole * size) / smallerSize);
  return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${smaller}`;
}

/** An amount of a currency, with four decimals below 0.01. */
export function money(costMicros: number, currency: string): string {
  const amount = costMicros / 1_000_000;
  const digits = amount !== 0 && Math.abs(amount) < 0.01 ? 4 : 2;
  try {
    return new Intl.NumberFormat('en', {
      style: 'currency',
      currency,
      minimumFractionDigits: 2,
      maximumFractionDigits: digits,
    }).format(amount);
  } catch {
    // The agent's currency is free text, so it may be unknown to `Intl`.
    return `${amount.toFixed(digits)} ${currency.slice(0, 20)}`;
  }
}

/** The costs of a usage, one per currency; undefined if it has none. */
export function costs({ costs: all }: Usage): string | undefined {
  const shown = all.filter(({ costMicros }) => costMicros !== 0);
  return shown.length === 0
    ? undefined
    : shown.map(({ costMicros, currency }) => money(costMicros, currency)).join(' + ');
}

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** A number in compact form: `12.4K`. */
export const short = (count: number): string => compact.format(count);

const sizes = ['bytes', 'KB', 'MB', 'GB', 'TB'];

/** A number of bytes: `612 bytes`, `1.4 MB`. */
export function bytes(count: number): string {
  const at = count < 1000 ? 0 : Math.min(sizes.length - 1, Math.floor(Math.log10(count) / 3));
  const amount = count / 1000 ** at;
  return `${at === 0 ? amount : amount.toFixed(amount < 10 ? 1 : 0)} ${sizes[at]}`;
}
