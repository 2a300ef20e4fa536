import type { Api } from '../client.ts';
import { BatonError } from '../errors.ts';
import type { HarnessContext, OwnRun, Session, SessionRequest } from '../generated/coordination-types.ts';
import type { HarnessOptions } from './harness-options.ts';

/** The maximum number of claims in a context. If there are more, the context doesn't show which runs have no holder. */
const contextClaimsMax = 1_000;

/** The lifetime of the session and the leases without a heartbeat. */
export function leaseSecondsOf({ leaseSeconds = 60 }: HarnessOptions): number {
  return leaseSeconds;
}

/** Continues the session of the previous process if it is still live. */
export async function continueSession(
  api: Api,
  sessionId: string,
  ttlSeconds: number,
  signal: AbortSignal | undefined,
): Promise<Session | undefined> {
  return api.sessions.heartbeat(sessionId, { ttlSeconds }, signal && { signal }).catch(ignoreRefusal);
}

/** Opens a session with the given options. */
export function openSession(api: Api, options: HarnessOptions): Promise<Session> {
  const { name, version = '', type = 'baton-sdk', capabilities = [], onBehalfOf, metadata = {} } = options;
  const { hostname, harnessVersion = version } = options;
  const request: SessionRequest = {
    clientName: name,
    clientVersion: version,
    metadata,
    ttlSeconds: leaseSecondsOf(options),
    harness: {
      type,
      version: harnessVersion,
      protocolVersion: '2',
      capabilities: ['resume', 'checkpoints', ...capabilities],
      ...(hostname !== undefined && { hostname }),
    },
    ...(onBehalfOf !== undefined && { onBehalfOf }),
  };
  return api.sessions.open(request, options.signal && { signal: options.signal });
}

/**
 * Ends this principal's runs without a live claim, and releases this session's claims without a run: the previous
 * process was killed between claiming and starting the run. @returns this session's runs with a live claim
 */
export async function endOrphans(api: Api, context: HarnessContext, sessionId: string): Promise<OwnRun[]> {
  const { activeClaims, activeRuns } = context;
  const own = activeRuns.filter((run) => run.sessionId === sessionId);
  if (activeClaims.length >= contextClaimsMax) return own;
  const live = new Set(activeClaims.map(({ id }) => id));
  for (const { id } of activeRuns.filter(({ claimId }) => !live.has(claimId)))
    await api.runs.fail(id, { failureReason: 'restart_recovery' }).catch(ignoreRefusal);
  const started = new Set(activeRuns.map(({ claimId }) => claimId));
  for (const claim of activeClaims)
    if (claim.sessionId === sessionId && !started.has(claim.id))
      await api.claims.release(claim.id, { reason: 'restart_recovery' }).catch(ignoreRefusal);
  return own.filter(({ claimId }) => live.has(claimId));
}

/** Ignores the error if another process has already ended the run or the claim. */
export function ignoreRefusal(error: unknown): undefined {
  if (error instanceof BatonError && [403, 404, 409].includes(error.status)) return undefined;
  throw error;
}
