import { InvalidArgumentError } from 'commander';

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** An option such as `7d`, `12h` or `30m`, in seconds. */
export function lifetime(minSeconds: number, maxDays: number): (text: string) => number {
  return (text) => {
    const [, count = '', unit = ''] = /^(\d{1,7})([smhd])$/.exec(text) ?? [];
    const seconds = Number(count) * (unitSeconds[unit] ?? Number.NaN);
    if (!(seconds >= minSeconds && seconds <= maxDays * 86_400))
      throw new InvalidArgumentError(
        `It must be a time such as 7d, 12h or 30m, from ${minSeconds}s to ${maxDays}d.`,
      );
    return seconds;
  };
}
