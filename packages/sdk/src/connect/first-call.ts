import type { BatonClient } from '../baton.ts';
import type { CallOptions } from '../call.ts';
import { BatonError } from '../errors.ts';
import type { Session } from '../generated/coordination-types.ts';
import { sleep } from '../wait.ts';
import type { CallsBefore, IssuedConnection } from './issued-connection.ts';

/** The client of a session, with the names that it reported. */
interface ConnectedClient {
  readonly name: string;
  readonly version: string;
  readonly hostname: string | null;
}

export type FirstCall =
  /** `client` is null until the agent opens a session. */
  | { readonly state: 'connected'; readonly client: ConnectedClient | null }
  | { readonly state: 'waiting' }
  /** The agent was retired or disabled, or its identity was revoked. */
  | { readonly state: 'removed' }
  /** The token expired before any call. */
  | { readonly state: 'expired' };

/** In milliseconds. The second value is the wait, after the first call, for the session that names the client. */
const pollMs = 1_000;
const nameMsMax = 10_000;
const callMsMax = 15_000;

export async function readCalls(
  baton: BatonClient,
  principalId: string,
  call: CallOptions,
): Promise<CallsBefore> {
  const { lastUsedAt, session } = await readState(baton, principalId, call);
  return { lastUsedAt, sessionId: session?.id ?? null };
}

/** Checks once whether the agent of a connection has called. */
async function readFirstCall(
  baton: BatonClient,
  { principalId, before }: Pick<IssuedConnection, 'principalId' | 'before'>,
  call: CallOptions,
): Promise<FirstCall> {
  const { lastUsedAt, session, isBound } = await readState(baton, principalId, call);
  if (session !== undefined && session.id !== before.sessionId)
    return { state: 'connected', client: clientOf(session) };
  if (lastUsedAt !== before.lastUsedAt) return { state: 'connected', client: null };
  return { state: isBound ? 'waiting' : 'removed' };
}

/**
 * Waits for the first call of a connected agent, and then for some seconds for the session that names its client.
 * Continues while Baton is unavailable.
 * @returns `waiting` if no call arrives in time
 * @throws the signal's reason if it is aborted
 */
export async function waitForFirstCall(
  baton: BatonClient,
  connection: IssuedConnection,
  { waitMs, signal }: { readonly waitMs: number; readonly signal?: AbortSignal },
): Promise<FirstCall> {
  const began = performance.now();
  let namedBy = Number.POSITIVE_INFINITY;
  for (;;) {
    signal?.throwIfAborted();
    const call = { deadlineMs: callMsMax, ...(signal && { signal }) };
    const found = await readFirstCall(baton, connection, call).catch(unlessUnavailable);
    const elapsedMs = performance.now() - began;
    if (found.state === 'connected') {
      namedBy = Math.min(namedBy, elapsedMs + nameMsMax);
      if (found.client !== null || !connection.opensSessions || elapsedMs >= namedBy) return found;
    } else if (found.state === 'removed') return found;
    else if (elapsedMs >= connection.lifetimeSeconds * 1_000) return { state: 'expired' };
    else if (elapsedMs >= waitMs) return found;
    await sleep(pollMs, signal);
  }
}

/** A sentence for people: `codex on maria-laptop is connected.` */
export function describeConnected(displayName: string, client: ConnectedClient | null): string {
  if (client === null) return `${displayName} is connected: its first call has arrived.`;
  const place = client.hostname === null ? '' : ` on ${client.hostname}`;
  return `${client.name}${place} is connected as ${displayName}.`;
}

async function readState(baton: BatonClient, principalId: string, call: CallOptions) {
  const [bindings, sessions] = await Promise.all([
    baton.principals.listIamBindings(principalId, call),
    baton.sessions.list({ principalId, limit: 1 }, call),
  ]);
  const used = bindings.items.map(({ lastUsedAt }) => lastUsedAt).filter((at) => at !== null);
  return {
    lastUsedAt: used.sort().at(-1) ?? null,
    session: sessions.items[0],
    isBound: bindings.items.some(({ status }) => status === 'active'),
  };
}

function clientOf({ clientName, clientVersion, hostname }: Session): ConnectedClient {
  return { name: clientName, version: clientVersion, hostname };
}

function unlessUnavailable(error: unknown): FirstCall {
  if (error instanceof BatonError && error.retryable) return { state: 'waiting' };
  throw error;
}
