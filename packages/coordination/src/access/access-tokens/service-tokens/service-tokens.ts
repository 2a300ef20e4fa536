import { z } from 'zod';
import { requestJson } from '@baton/kernel/outbound/json-request';
import type { Settings } from '../../settings.ts';

/**
 * Access tokens of this installation's own service account, for the services that it calls. See
 * docs/reference/access.md#own-service-account.
 */
export interface ServiceTokens {
  /**
   * Returns a token that is valid for at least half a minute, or for a third of its lifetime if that is short.
   * Concurrent callers share one request; after a failed request there is a pause.
   * @throws Error with identity's response, without any secret
   */
  get(): Promise<string>;
  /** A service rejected the token: the next call requests a new one. */
  forget(token: string): void;
}

type TokenSettings = Pick<
  Settings,
  'CP_IAM_BASE_URL' | 'CP_IAM_CLIENT_ID' | 'CP_IAM_CLIENT_SECRET' | 'CP_IAM_REQUEST_TIMEOUT_SECONDS'
>;

const answerBytesMax = 64 * 1024;
/** The time before the expiry of a token at which a new one is requested, at most a third of its lifetime. */
const renewBeforeMsMax = 60_000;
/** How long a token is used at most, whatever its expiry. */
const lifeSecondsMax = 86_400;
/** Pauses after failed requests; identity counts failures and may lock the account for a while. */
const pauseMs = { first: 1000, max: 30_000 };

const Granted = z.object({
  accessToken: z
    .string()
    .max(16_384)
    .regex(/^[\x21-\x7e]+$/),
  expiresIn: z.number().positive(),
});

interface HeldToken {
  readonly text: string;
  readonly renewAtMs: number;
  readonly endsAtMs: number;
}

/** @param wanted one audience and the requested scopes; exactly these are granted */
export function createServiceTokens(
  settings: TokenSettings,
  wanted: { audience: string; scopes: readonly string[] },
): ServiceTokens {
  let held: HeldToken | undefined;
  let asking: Promise<HeldToken> | undefined;
  let failed: { readonly error: Error; readonly untilMs: number; readonly pauseMs: number } | undefined;

  function ask(): Promise<HeldToken> {
    asking ??= requestToken(settings, wanted)
      .then((token) => {
        failed = undefined;
        held = token;
        return token;
      })
      .catch((error: unknown) => {
        const wait = Math.min((failed?.pauseMs ?? pauseMs.first / 2) * 2, pauseMs.max);
        failed = { error: error as Error, untilMs: performance.now() + wait, pauseMs: wait };
        throw error;
      })
      .finally(() => {
        asking = undefined;
      });
    return asking;
  }

  return {
    async get() {
      const nowMs = performance.now();
      const isLive = held !== undefined && nowMs < held.endsAtMs;
      if (isLive && nowMs < (held as HeldToken).renewAtMs) return (held as HeldToken).text;
      const mayAsk = failed === undefined || nowMs >= failed.untilMs;
      if (isLive) {
        // The old token can be used until it expires, so this call doesn't wait for the new one.
        if (mayAsk) ask().catch(() => undefined);
        return (held as HeldToken).text;
      }
      if (!mayAsk && asking === undefined) throw failed?.error as Error;
      return (await ask()).text;
    },
    forget(token) {
      if (held?.text === token) held = undefined;
    },
  };
}

async function requestToken(
  settings: TokenSettings,
  { audience, scopes }: { audience: string; scopes: readonly string[] },
): Promise<HeldToken> {
  const askedAtMs = performance.now();
  const { status, json } = await requestJson(
    `${settings.CP_IAM_BASE_URL.replace(/\/+$/, '')}/api/v1/tokens/exchange`,
    {
      method: 'POST',
      body: {
        clientId: settings.CP_IAM_CLIENT_ID,
        clientSecret: settings.CP_IAM_CLIENT_SECRET,
        audience,
        scopes,
      },
      timeoutMs: settings.CP_IAM_REQUEST_TIMEOUT_SECONDS * 1000,
      answerBytesMax,
    },
  );
  if (status !== 200) throw new Error(`identity returned ${status} to the token request`);
  const granted = Granted.safeParse(json);
  if (!granted.success) throw new Error('identity returned no usable token');
  const lifeMs = Math.min(granted.data.expiresIn, lifeSecondsMax) * 1000;
  const reserveMs = Math.min(renewBeforeMsMax, lifeMs / 3);
  return {
    text: granted.data.accessToken,
    renewAtMs: askedAtMs + lifeMs - reserveMs,
    endsAtMs: askedAtMs + lifeMs - reserveMs / 2,
  };
}
