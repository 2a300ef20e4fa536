import { useEffect, useState } from 'react';
import { serverNow } from '../server-clock.ts';

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'long' });
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'long' });
const short = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });
const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

/** An instant as `3 minutes ago`, with the exact time on hover. Updates while it is shown. */
export function Moment({ at }: { at: string }) {
  const seconds = Math.round((Date.parse(at) - useNow(Date.parse(at))) / 1000);
  const [unit, size] = units.find(([, of]) => Math.abs(seconds) >= of) ?? ['second', 1];
  return (
    <time dateTime={at} title={exact.format(new Date(at))}>
      {relative.format(Math.round(seconds / size), unit)}
    </time>
  );
}

/** An instant by the clock of this browser. */
export function Instant({ at }: { at: string }) {
  return <time dateTime={at}>{short.format(new Date(at))}</time>;
}

/** Seconds until an instant, as `0:42`; never below zero. */
export function Countdown({ to }: { to: string }) {
  const left = Math.max(0, Math.round((Date.parse(to) - useNow(Date.parse(to))) / 1000));
  return (
    <time dateTime={to} title={exact.format(new Date(to))}>
      {Math.floor(left / 60)}:{String(left % 60).padStart(2, '0')}
    </time>
  );
}

/** The time by Baton's clock, updated every second near the instant and every half minute otherwise. */
function useNow(nearMs: number): number {
  const [now, setNow] = useState(serverNow);
  const everyMs = Math.abs(nearMs - now) < 120_000 ? 1_000 : 30_000;
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
