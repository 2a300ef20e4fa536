import type { ConsoleOptions } from '@baton/console/server';
import { OutboundError } from '@baton/kernel/outbound/outbound';

type Outbound = NonNullable<ConsoleOptions['signIn']>['outbound'];

/**
 * The minimum interval between two identical lines. Anyone can start a sign-in, and each one sends a request to the
 * provider.
 */
const repeatMsMin = 60_000;
/** The settings limit the number of providers, but the providers' documents may name additional hosts. */
const originsMax = 1000;

/**
 * Reports failures of identity providers to the operator, because people who sign in see no details.
 * @param now a monotonic clock, in milliseconds
 */
export function reportProviderFailures(
  outbound: Outbound,
  say: (line: string) => void,
  now: () => number = () => performance.now(),
): Outbound {
  const reportedAt = new Map<string, number>();
  const report = (address: string, what: string) => {
    const origin = URL.canParse(address) ? new URL(address).origin : 'an invalid URL';
    const line = `The identity provider at ${origin} ${what}`;
    const nowMs = now();
    if (nowMs - (reportedAt.get(line) ?? Number.NEGATIVE_INFINITY) < repeatMsMin) return;
    if (reportedAt.size >= originsMax) reportedAt.clear();
    reportedAt.set(line, nowMs);
    say(line);
  };
  const reported = async <Answer>(address: string, answer: Promise<Answer>): Promise<Answer> => {
    try {
      return await answer;
    } catch (error) {
      report(address, `can't be used for sign-in: ${describeFailure(error)}.`);
      throw error;
    }
  };
  return {
    async readJson(address, signal) {
      const document = await reported(address, outbound.readJson(address, signal));
      const { issuer } = (document ?? {}) as { issuer?: unknown };
      const expected = address.replace('/.well-known/openid-configuration', '');
      if (expected !== address && (typeof issuer !== 'string' || issuer.replace(/\/+$/, '') !== expected))
        report(address, "can't be used for sign-in: its discovery document has another issuer.");
      return document;
    },
    async send(address, request, signal) {
      const answer = await reported(address, outbound.send(address, request, signal));
      if (answer.status !== 200)
        report(
          address,
          `returned ${answer.status} for a token request. If nobody can sign in, check the console's client ID and secret at the provider.`,
        );
      return answer;
    },
  };
}

/** The kind of the failure and the underlying system or TLS error code, without any response content. */
function describeFailure(error: unknown): string {
  const kind = error instanceof OutboundError ? error.failure : 'it failed';
  const { code } = ((error as Error).cause ?? error) as NodeJS.ErrnoException;
  return typeof code !== 'string' ? kind : `${kind} (${code})`;
}
