import type { Settings } from './settings.ts';

/** The shortest, the usual and the longest lease of a session or a claim, in seconds. */
export function leaseBounds(settings: Settings, kind: 'CP_SESSION' | 'CP_CLAIM') {
  return {
    min: settings[`${kind}_TTL_MIN_SECONDS`],
    usual: settings[`${kind}_TTL_SECONDS`],
    max: settings[`${kind}_TTL_MAX_SECONDS`],
  };
}

/** How many sessions, and how many claims, one transaction ends at most. */
export const endingBatchMax = 100;
