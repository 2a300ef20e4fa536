import { createHash, timingSafeEqual } from 'node:crypto';
import type { Settings } from '../settings.ts';

/** The credential after `Bearer` in the header; undefined for another scheme or a missing header. */
export function bearerOf(header: string | undefined): string | undefined {
  return /^bearer +(\S+) *$/i.exec(header ?? '')?.[1];
}

/** Compares in constant time, whatever the lengths. */
export function equalSecrets(left: string, right: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}

/** Whether a request may read `/metrics`. See docs/reference/access.md#metrics-access. */
export function mayReadMetrics(
  { CP_METRICS_TOKEN: token }: Pick<Settings, 'CP_METRICS_TOKEN'>,
  authorization: string | undefined,
): boolean {
  if (token === '') return true;
  const presented = bearerOf(authorization);
  return presented !== undefined && equalSecrets(presented, token);
}
