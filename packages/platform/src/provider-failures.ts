import type { ConsoleOptions } from '@baton/console/server';
import { OutboundError } from '@baton/kernel/outbound/outbound';

type Outbound = NonNullable<ConsoleOptions['signIn']>['outbound'];

/** The same line again, for one provider. Anybody may begin a sign-in, and each begins with a request to the provider. */
const repeatMsMin = 60_000;
/** As many providers as settings name; addresses in their documents may be further hosts. */
const originsMax = 1000;

/**
 * Reports each failure of an identity provider to the operator: people who sign in see no more than that it failed.
 * @param say prints one line
 * @param now milliseconds of a clock that does not go back
 */
export function reportProviderFailures(
  outbound: Outbound,
  say: (line: string) => void,
  now: () => number = () => performance.now(),
): Outbound {
  const reportedAt = new Map<string, number>();
  const report = (address: string, what: string) => {
    const origin = URL.canParse(address) ? new URL(address).origin : 'an address that is no URL';
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
      report(address, `can't be used for sign-in: ${failureOf(error)}.`);
      throw error;
    }
  };
  return {
    async readJson(address, signal) {
      const document = await reported(address, outbound.readJson(address, signal));
      const { issuer } = (document ?? {}) as { issuer?: unknown };
      const expected = address.replace('/.well-known/openid-configuration', '');
      if (expected !== address && (typeof issuer !== 'string' || issuer.replace(/\/+$/, '') !== expected))
        report(address, "can't be used for sign-in: its discovery document names another issuer.");
      return document;
    },
    async send(address, request, signal) {
      const answer = await reported(address, outbound.send(address, request, signal));
      if (answer.status !== 200)
        report(
          address,
          `answered ${answer.status} to a request for tokens. If nobody can sign in, check the client id and secret that it has for the console.`,
        );
      return answer;
    },
  };
}

/** The kind of the failure, and the code of the system's or TLS's error behind it; nothing of an answer. */
function failureOf(error: unknown): string {
  const kind = error instanceof OutboundError ? error.failure : 'it failed';
  const { code } = ((error as Error).cause ?? error) as NodeJS.ErrnoException;
  return typeof code !== 'string' ? kind : `${kind} (${code})`;
}
