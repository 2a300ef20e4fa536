import type { AdapterState } from '@baton/sdk';

/** The state in a few lines for a person. */
export function formatAdapterState(state: AdapterState): string[] {
  if (state.cursor === null) return ['The context adapter has not run yet.'];
  const lag = state.lagCapped ? `more than ${state.lagEvents}` : `${state.lagEvents}`;
  const lines = [
    `Delivered: ${state.deliveredTotal} events${state.lastDeliveryAt === null ? '' : `, the last at ${state.lastDeliveryAt}`}.`,
    `Behind: ${lag} events, after ${state.cursor}.`,
  ];
  if (!state.parked) return lines;
  return [
    ...lines,
    `On hold since ${state.parkedAt} at event ${state.parkedEventId ?? 'unknown'}, after ${state.failureCount} failed attempts.`,
    `Reason: ${state.parkedReason}`,
    `Next retry at ${state.nextAttemptAt}.`,
  ];
}
