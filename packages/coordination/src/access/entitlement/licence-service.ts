import { z } from 'zod';
import { type JsonAnswer, RequestFailed, requestJson } from '@baton/kernel/outbound/json-request';
import { requireAddress, requireOwnAccount } from '../access-tokens/service-tokens/own-account.ts';
import { createServiceTokens } from '../access-tokens/service-tokens/service-tokens.ts';
import type { Settings } from '../settings.ts';

/** A query: a subject, and the part of this service that it uses. */
export interface LicenceQuestion {
  readonly feature: string;
  readonly subjectId: string;
  readonly correlationId: string;
}

export interface LicenceDecision {
  readonly allowed: boolean;
  /** By this machine's clock; infinite if it doesn't expire. */
  readonly validUntilMs: number;
}

/** The license service returned no decision. */
export class NoDecision extends Error {
  /** Whether the service is unavailable, so that a cached decision may be used; false if it refused to decide. */
  readonly isAway: boolean;

  constructor(reason: string, isAway: boolean) {
    super(reason);
    this.isAway = isAway;
  }
}

/** The license service. See docs/reference/access.md#license-check. */
export interface LicenceService {
  /** @throws NoDecision for every failure */
  decide(question: LicenceQuestion): Promise<LicenceDecision>;
}

/** More than enough: a decision has only a few short fields. */
const answerBytesMax = 64 * 1024;

const DecisionAnswer = z.object({
  allowed: z.boolean(),
  product: z.string().optional(),
  feature: z.string().optional(),
  validUntil: z.iso.datetime({ offset: true }).nullish(),
});

/** @throws Error with one sentence for license settings that would otherwise fail only later */
export function checkEntitlementSettings(settings: Settings): void {
  if (!settings.CP_ENTITLEMENT_ENABLED) return;
  requireAddress('CP_ENTITLEMENT_BASE_URL', settings.CP_ENTITLEMENT_BASE_URL);
  requireOwnAccount(settings, 'CP_ENTITLEMENT_ENABLED');
  for (const name of [
    'CP_ENTITLEMENT_PRODUCT',
    'CP_ENTITLEMENT_AUDIENCE',
    'CP_ENTITLEMENT_DEFAULT_FEATURE',
  ] as const)
    if (settings[name].trim() === '')
      throw new Error(`${name} is required if CP_ENTITLEMENT_ENABLED is set.`);
}

export function openLicenceService(settings: Settings): LicenceService {
  const url = `${settings.CP_ENTITLEMENT_BASE_URL.replace(/\/+$/, '')}/api/v1/decisions:check`;
  const product = settings.CP_ENTITLEMENT_PRODUCT;
  const tokens = createServiceTokens(settings, {
    audience: settings.CP_ENTITLEMENT_AUDIENCE,
    scopes: settings.CP_IAM_CLIENT_SCOPES,
  });

  async function post(question: LicenceQuestion): Promise<JsonAnswer> {
    const token = await tokens.get().catch((error: unknown) => {
      throw new NoDecision(`no token of identity: ${(error as Error).message}`, true);
    });
    const answer = await requestJson(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: { product, requiredAmount: 1, ...question },
      timeoutMs: settings.CP_ENTITLEMENT_TIMEOUT_SECONDS * 1000,
      answerBytesMax,
    }).catch((error: unknown) => {
      if (!(error instanceof RequestFailed)) throw error;
      throw new NoDecision(`the license service is unreachable: ${error.message}`, true);
    });
    if (answer.status === 401) tokens.forget(token);
    return answer;
  }

  return {
    async decide(question) {
      const first = await post(question);
      // The token may have been revoked before its expiry; a new one is tried once.
      const answer = first.status === 401 ? await post(question) : first;
      return decisionOf(answer, { product, feature: question.feature });
    },
  };
}

/** @throws NoDecision also for a response about another product or feature, and for an expired one */
function decisionOf(
  { status, json }: JsonAnswer,
  asked: { product: string; feature: string },
): LicenceDecision {
  if (status < 200 || status >= 300)
    throw new NoDecision(`the license service returned ${status}`, status < 400 || status >= 500);
  const answer = DecisionAnswer.safeParse(json);
  if (!answer.success) throw new NoDecision(`a response with status ${status} that cannot be parsed`, true);
  const { allowed, product = asked.product, feature = asked.feature, validUntil } = answer.data;
  if (product !== asked.product || feature !== asked.feature)
    throw new NoDecision('a response about another product or feature', true);
  const validUntilMs = validUntil == null ? Number.POSITIVE_INFINITY : Date.parse(validUntil);
  if (!(validUntilMs > Date.now())) throw new NoDecision('an expired response', true);
  return { allowed, validUntilMs };
}
