import type { BatonClient, Transport } from '@baton/sdk';

/** One run of an agent's program. Once killed, it sends and receives nothing. */
export interface AgentProgram {
  readonly baton: BatonClient;
  /** Aborted when it is killed. */
  readonly killed: AbortSignal;
  /** Simulates SIGKILL: nothing is released or closed, and its lease remains live at the service. */
  kill(): void;
  /** The duration of its last claim request, in milliseconds. */
  lastClaimMs(): number;
}

/** @param clientOf creates its client, over a transport that ends with the program */
export function startProgram(
  transport: Transport,
  clientOf: (transport: Transport) => BatonClient,
): AgentProgram {
  const killed = new AbortController();
  let claimMs = 0;
  const ownTransport: Transport = async (request) => {
    killed.signal.throwIfAborted();
    const beganMs = performance.now();
    const answer = await transport(request);
    killed.signal.throwIfAborted();
    if (request.url.endsWith(':claim-next')) claimMs = performance.now() - beganMs;
    return answer;
  };
  return {
    baton: clientOf(ownTransport),
    killed: killed.signal,
    kill: () => killed.abort(new Error('the program was killed')),
    lastClaimMs: () => claimMs,
  };
}
