import type { CoordinationClient } from '../../coordination-client.ts';

/** How far the delivery to the memory service has come in the own tenant's journal. */
export interface AdapterState {
  readonly tenantId: string;
  readonly cursor: string | null;
  readonly lagEvents: number | null;
  readonly lagCapped: boolean;
  readonly parked: boolean;
  readonly parkedAt: string | null;
  readonly parkedReason: string | null;
  readonly parkedEventId: string | null;
  readonly failureCount: number;
  readonly nextAttemptAt: string | null;
  readonly deliveredTotal: number;
  readonly lastDeliveryAt: string | null;
}

const path = '/operations/context-adapter';

export function readAdapterState(client: CoordinationClient): Promise<AdapterState> {
  return client.call<AdapterState>('GET', path);
}

/** Makes the call under a key, so that a repetition after a lost answer does nothing twice. */
export async function changeAdapter(
  client: CoordinationClient,
  verb: 'redrive' | 'rebuild',
  body: object,
): Promise<AdapterState> {
  const { tenantId } = await readAdapterState(client);
  return client.call<AdapterState>('POST', `${path}/${tenantId}:${verb}`, body);
}

/** The state in a few lines for a person. */
export function linesOf(state: AdapterState): string[] {
  if (state.cursor === null) return ['The context adapter has not come by yet.'];
  const lag = state.lagCapped ? `more than ${state.lagEvents}` : `${state.lagEvents}`;
  const lines = [
    `Delivered: ${state.deliveredTotal} events${state.lastDeliveryAt === null ? '' : `, the last at ${state.lastDeliveryAt}`}.`,
    `Behind: ${lag} events, after ${state.cursor}.`,
  ];
  if (!state.parked) return lines;
  return [
    ...lines,
    `Parked since ${state.parkedAt} at event ${state.parkedEventId ?? 'unknown'}, after ${state.failureCount} failed attempts.`,
    `Reason: ${state.parkedReason}`,
    `Tried again at ${state.nextAttemptAt}.`,
  ];
}
