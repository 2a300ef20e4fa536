import { z } from 'zod';
import { type JsonAnswer, RequestFailed, requestJson } from '@baton/kernel/outbound/json-request';
import { requireAddress, requireOwnAccount } from '../service-tokens/own-account.ts';
import { createServiceTokens } from '../service-tokens/service-tokens.ts';
import type { Settings } from '../settings.ts';

/** What is asked about: who wants to use which part of the service. */
export interface LicenceQuestion {
  readonly feature: string;
  readonly subjectId: string;
  readonly correlationId: string;
}

export interface LicenceDecision {
  readonly allowed: boolean;
  /** By the clock of this machine; infinite where it has no end. */
  readonly validUntilMs: number;
}

/** The licence service gave no decision. */
export class NoDecision extends Error {
  /** Whether it is away, so that an older answer may serve; false where it refused to answer. */
  readonly isAway: boolean;

  constructor(reason: string, isAway: boolean) {
    super(reason);
    this.isAway = isAway;
  }
}

/** The licence service (organisation, section 22). */
export interface LicenceService {
  /** @throws NoDecision, whatever it answers or doesn't */
  decide(question: LicenceQuestion): Promise<LicenceDecision>;
}

/** A decision has a few short fields. */
const answerBytesMax = 64 * 1024;

const DecisionAnswer = z.object({
  allowed: z.boolean(),
  product: z.string().optional(),
  feature: z.string().optional(),
  validUntil: z.iso.datetime({ offset: true }).nullish(),
});

/** @throws Error with one sentence for settings of the licence check that could only fail later */
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
      throw new Error(`${name} is needed where CP_ENTITLEMENT_ENABLED is set.`);
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
      throw new NoDecision(`the licence service is out of reach: ${error.message}`, true);
    });
    if (answer.status === 401) tokens.forget(token);
    return answer;
  }

  return {
    async decide(question) {
      const first = await post(question);
      // The token may have been revoked before its end; a fresh one is tried once.
      const answer = first.status === 401 ? await post(question) : first;
      return decisionOf(answer, { product, feature: question.feature });
    },
  };
}

/** @throws NoDecision also for an answer about something else, and for one whose time is over */
function decisionOf(
  { status, json }: JsonAnswer,
  asked: { product: string; feature: string },
): LicenceDecision {
  if (status < 200 || status >= 300)
    throw new NoDecision(`the licence service answered ${status}`, status < 400 || status >= 500);
  const answer = DecisionAnswer.safeParse(json);
  if (!answer.success) throw new NoDecision(`an answer ${status} that can't be read`, true);
  const { allowed, product = asked.product, feature = asked.feature, validUntil } = answer.data;
  if (product !== asked.product || feature !== asked.feature)
    throw new NoDecision('an answer about another product or feature', true);
  const validUntilMs = validUntil == null ? Number.POSITIVE_INFINITY : Date.parse(validUntil);
  if (!(validUntilMs > Date.now())) throw new NoDecision('an answer whose time is over', true);
  return { allowed, validUntilMs };
}
