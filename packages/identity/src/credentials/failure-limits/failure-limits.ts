import { type ErrorTable, Refusal } from '@baton/kernel/http/refusal';
import { clientOfAddress } from '@baton/kernel/listener/counted-address';
import { secretHash } from '../../service/secrets.ts';
import { fail } from '../errors.ts';
import type { Settings } from '../settings.ts';

const windowsMax = 100_000;
/**
 * The maximum number of wrong service credentials from one address per minute. It always applies, because only one
 * other service has the right one.
 */
const delegationFailures = { max: 10, windowSeconds: 60 };

/** The failures per key, in windows of equal length. The map is ordered by the end of the windows. */
class FailureWindows {
  readonly #windows = new Map<string, { failures: number; endsMs: number }>();
  readonly #failuresMax: number;
  readonly #windowMs: number;

  readonly #keyOf: (name: string) => string;

  /**
   * @param failuresMax 0 disables the limit, and nothing is stored
   * @param keyOf returns the key under which the failures of a name are counted
   */
  constructor(failuresMax: number, windowSeconds: number, keyOf: (name: string) => string) {
    this.#failuresMax = failuresMax;
    this.#keyOf = keyOf;
    this.#windowMs = windowSeconds * 1000;
  }

  /** How long until another attempt under the name is allowed; 0 if one is allowed now. */
  waitSeconds(name: string): number {
    if (this.#failuresMax === 0) return 0;
    const window = this.#windows.get(this.#keyOf(name));
    const remainingMs = (window?.endsMs ?? 0) - performance.now();
    return (window?.failures ?? 0) < this.#failuresMax ? 0 : Math.max(0, Math.ceil(remainingMs / 1000));
  }

  add(name: string): void {
    if (this.#failuresMax === 0) return;
    const key = this.#keyOf(name);
    const nowMs = performance.now();
    for (const [oldest, { endsMs }] of this.#windows) {
      if (endsMs > nowMs && this.#windows.size < windowsMax) break;
      this.#windows.delete(oldest);
    }
    const window = this.#windows.get(key);
    if (window === undefined) this.#windows.set(key, { failures: 1, endsMs: nowMs + this.#windowMs });
    else window.failures += 1;
  }
}

/**
 * Limits how many wrong secrets may be presented in this process (see docs/reference/tokens.md#failure-limits). Both
 * limits are off by default.
 */
export class FailureLimits {
  readonly #ofCredentials: FailureWindows;
  readonly #ofAddresses: FailureWindows;
  readonly #ofDelegation = new FailureWindows(
    delegationFailures.max,
    delegationFailures.windowSeconds,
    clientOfAddress,
  );
  readonly #errors: ErrorTable;

  /** @param errors the codes of all layers, to find those with status 401 */
  constructor(settings: Settings, errors: ErrorTable) {
    this.#errors = errors;
    const windowSeconds = settings.IAM_FAILURE_WINDOW_SECONDS;
    // Hashed, because a name from a client may be as long as a body, or may be a slice that keeps the whole body in
    // memory.
    this.#ofCredentials = new FailureWindows(
      settings.IAM_FAILURES_PER_CREDENTIAL_MAX,
      windowSeconds,
      secretHash,
    );
    this.#ofAddresses = new FailureWindows(
      settings.IAM_FAILURES_PER_ADDRESS_MAX,
      windowSeconds,
      clientOfAddress,
    );
  }

  /** @throws Refusal `rate_limited` for an address that failed too often, whatever it presents */
  refuseAddress(address: string): void {
    refuseUntil(this.#ofAddresses.waitSeconds(address), 'address');
  }

  /**
   * Whether an error is the response to a wrong, revoked or forged credential, rather than to a valid one without
   * permission.
   */
  isFailure(error: unknown): boolean {
    return error instanceof Refusal && (error.status ?? this.#errors[error.code]?.status) === 401;
  }

  /**
   * Counts one failure.
   * @throws Refusal `rate_limited` instead of the failure's own code when the credential failed too often before
   */
  count(address: string, credential: string | undefined): void {
    this.#ofAddresses.add(address);
    if (credential === undefined) return;
    const waitSeconds = this.#ofCredentials.waitSeconds(credential);
    this.#ofCredentials.add(credential);
    refuseUntil(waitSeconds, 'credential');
  }

  /**
   * Counts one wrong admin secret. The right secret is not limited, so that an attacker can't lock the operator out.
   * @throws Refusal `rate_limited` when secrets from the address failed too often before
   */
  countAdmin(address: string): void {
    const waitSeconds = this.#ofAddresses.waitSeconds(address);
    this.#ofAddresses.add(address);
    refuseUntil(waitSeconds, 'address');
  }

  /**
   * Counts one wrong service credential. The right one is not limited.
   * @throws Refusal `rate_limited` when 10 from the address failed within a minute
   */
  countDelegation(address: string): void {
    const waitSeconds = this.#ofDelegation.waitSeconds(address);
    this.#ofDelegation.add(address);
    refuseUntil(waitSeconds, 'address');
  }
}

function refuseUntil(waitSeconds: number, whose: string): void {
  if (waitSeconds > 0)
    fail(
      'rate_limited',
      {},
      { headers: { 'retry-after': String(waitSeconds) }, reason: `failures of the ${whose}` },
    );
}

/**
 * Runs `work` for a presented credential and counts its failure. The limit of a credential is checked only after its
 * secret was found wrong, so that guessing doesn't lock out the holder of the right one.
 * @param credential its public part; undefined when it has none
 * @throws Refusal `rate_limited`, and whatever `work` throws
 */
export async function limitFailures<Result>(
  { failureLimits, address }: { failureLimits: FailureLimits; address: string },
  credential: string | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  failureLimits.refuseAddress(address);
  try {
    return await work();
  } catch (error) {
    if (failureLimits.isFailure(error)) failureLimits.count(address, credential);
    throw error;
  }
}
