import type { Settings } from './settings.ts';

/** The shortest, the default and the longest lease of a session or a claim, in seconds. */
export function leaseBounds(settings: Settings, kind: 'CP_SESSION' | 'CP_CLAIM') {
  return {
    min: settings[`${kind}_TTL_MIN_SECONDS`],
    usual: settings[`${kind}_TTL_SECONDS`],
    max: settings[`${kind}_TTL_MAX_SECONDS`],
  };
}

/** The maximum number of sessions, and of claims, that one transaction ends. */
export const endingBatchMax = 100;
