import type { Registry } from 'prom-client';
import type { Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import type { Authorities } from '../../access/policy/authorities.ts';
import { openDecisionPoint } from '../../access/policy/decision-point.ts';
import { Differences } from '../../access/policy/differences.ts';
import { policyCounters } from '../../access/policy/policy-counters.ts';
import { openShadow } from '../../access/policy/shadow.ts';
import type { Caller } from '../../service/caller.ts';
import type { Settings } from '../settings.ts';
import {
  type AuthorizationHooks,
  createAuthoritiesFactory,
  createPolicyHooks,
  createReaderAuthorizer,
  createShadowHooks,
} from './authorization-hooks.ts';

/** The authorization mode of a process. See docs/reference/authorization.md#modes. */
export interface Authorization {
  /** Hooks of a request's authorization; empty in mode `local`. */
  readonly hooks: Partial<AuthorizationHooks>;
  /** Authorizes a reader of the event stream; absent if local permissions decide. */
  readonly authorizeReader?: (caller: Caller, workspaceId: string | undefined) => Promise<Caller>;
  readonly differences: Differences;
  /** Discards all cached decisions, because rights may have changed. */
  forget(): void;
  close(): Promise<void>;
}

export function openAuthorization({
  settings,
  log,
  registry,
  pool,
}: {
  settings: Settings;
  log: Logger;
  registry: Registry;
  pool: Pool;
}): Authorization {
  const differences = new Differences();
  const { CP_AUTHZ_MODE: mode } = settings;
  if (mode === 'local')
    return { hooks: {}, differences, forget: () => undefined, close: () => Promise.resolve() };
  const point = openDecisionPoint(settings);
  const counters = policyCounters(registry);
  const forget = () => point.forget();
  if (mode === 'shadow') {
    const shadow = openShadow({ point, counters, differences, log });
    return { hooks: createShadowHooks(shadow), differences, forget, close: () => shadow.close() };
  }
  const parts = { point, counters, db: pool };
  return {
    hooks: createPolicyHooks(parts),
    authorizeReader: createReaderAuthorizer(parts),
    differences,
    forget,
    close: () => Promise.resolve(),
  };
}

/**
 * Authorities for the commands of a process without requests; undefined if local permissions decide. Only mode `policy`
 * requests decisions for background work.
 */
export function openAuthorities({
  settings,
  registry,
  pool,
}: {
  settings: Settings;
  registry: Registry;
  pool: Pool;
}): (() => Authorities) | undefined {
  if (settings.CP_AUTHZ_MODE !== 'policy') return undefined;
  const point = openDecisionPoint(settings);
  return createAuthoritiesFactory({ point, counters: policyCounters(registry), db: pool });
}
