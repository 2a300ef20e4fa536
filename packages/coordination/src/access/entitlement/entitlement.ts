import { Counter, Gauge, type Registry } from 'prom-client';
import { ConcurrencyLimit } from '@baton/kernel/limits/concurrency-limit';
import type { Logger } from '@baton/kernel/process/log';
import { fail } from '../errors.ts';
import type { Settings } from '../settings.ts';
import {
  type LicenceDecision,
  type LicenceQuestion,
  type LicenceService,
  NoDecision,
} from './licence-service.ts';

/** Whether callers are licensed for the part of the service that they use (organisation, section 22). */
export interface Entitlement {
  /**
   * @returns undefined where an answer that is remembered admits, so that the usual case waits for nothing
   * @throws Refusal `not_entitled`, `entitlement_unavailable`
   */
  admit(question: LicenceQuestion): Promise<void> | undefined;
}

/** What is remembered of one subject and one feature; times by `performance.now()`. */
interface Known {
  readonly decision: LicenceDecision | undefined;
  readonly decidedAtMs: number;
  /** The licence service gave no decision: it is not asked again before this. */
  readonly pausedUntilMs: number;
}

const entriesMax = 10_000;
/** After a failure, so that a service that is away is not asked by every request, nor waited for. */
const pauseMs = 1000;
const warnedAgainMs = 60_000;
const retryAfterSeconds = 5;
/** Questions under way at once, and those that wait for that. */
const questionBounds = { runningMax: 50, queuedMax: 1000 };

type EntitlementSettings = Pick<
  Settings,
  | 'CP_ENTITLEMENT_PRODUCT'
  | 'CP_ENTITLEMENT_CACHE_TTL_SECONDS'
  | 'CP_ENTITLEMENT_DEGRADED_MAX_AGE_SECONDS'
  | 'CP_ENTITLEMENT_TIMEOUT_SECONDS'
>;

/** Answers are remembered by each process for itself; `/metrics` says what it remembers (section 26, row 25). */
export function createEntitlement(
  service: LicenceService,
  settings: EntitlementSettings,
  { registry, log }: { registry: Registry; log: Logger },
): Entitlement {
  return new RememberedEntitlement(service, settings, registry, log);
}

class RememberedEntitlement implements Entitlement {
  readonly #service: LicenceService;
  readonly #product: string;
  readonly #freshMs: number;
  readonly #degradedMs: number;
  readonly #log: Logger;
  readonly #limit: ConcurrencyLimit;
  readonly #known = new Map<string, Known>();
  readonly #underWay = new Map<string, Promise<LicenceDecision | undefined>>();
  readonly #measures: ReturnType<typeof measuresOf>;
  #warnedAtMs = Number.NEGATIVE_INFINITY;

  constructor(service: LicenceService, settings: EntitlementSettings, registry: Registry, log: Logger) {
    this.#service = service;
    this.#product = settings.CP_ENTITLEMENT_PRODUCT;
    this.#freshMs = settings.CP_ENTITLEMENT_CACHE_TTL_SECONDS * 1000;
    this.#degradedMs = settings.CP_ENTITLEMENT_DEGRADED_MAX_AGE_SECONDS * 1000;
    this.#log = log;
    const waitMsMax = settings.CP_ENTITLEMENT_TIMEOUT_SECONDS * 1000;
    this.#limit = new ConcurrencyLimit('questions to the licence service', { ...questionBounds, waitMsMax });
    this.#measures = measuresOf(registry, () => this.#known.size);
  }

  admit(question: LicenceQuestion): Promise<void> | undefined {
    const name = `${question.subjectId} ${question.feature}`;
    const known = this.#known.get(name);
    const decision = this.#freshDecision(known);
    if (decision !== undefined) return this.#settle(decision, question);
    const nowMs = performance.now();
    if (known !== undefined && nowMs < known.pausedUntilMs)
      return this.#settle(this.#oldDecision(known), question);
    return this.#ask(name, question).then((answer) => this.#settle(answer, question));
  }

  #freshDecision(known: Known | undefined): LicenceDecision | undefined {
    const { decision, decidedAtMs } = known ?? {};
    if (decision === undefined || performance.now() - (decidedAtMs as number) >= this.#freshMs)
      return undefined;
    return decision.validUntilMs > Date.now() ? decision : undefined;
  }

  /** While the licence service is away. */
  #oldDecision({ decision, decidedAtMs }: Known): LicenceDecision | undefined {
    if (decision === undefined || performance.now() - decidedAtMs >= this.#degradedMs) return undefined;
    if (decision.validUntilMs <= Date.now()) return undefined;
    this.#measures.degraded.inc();
    return decision;
  }

  #settle(decision: LicenceDecision | undefined, { feature }: LicenceQuestion): undefined {
    if (decision?.allowed) return undefined;
    if (decision === undefined) {
      const headers = { 'retry-after': String(retryAfterSeconds) };
      return fail('entitlement_unavailable', {}, { headers });
    }
    this.#measures.refused.inc();
    return fail('not_entitled', { product: this.#product, feature });
  }

  /** One question at a time about the same; whoever asks meanwhile waits for its answer. Undefined for none. */
  #ask(name: string, question: LicenceQuestion): Promise<LicenceDecision | undefined> {
    const running = this.#underWay.get(name);
    if (running !== undefined) return running;
    const asking = this.#decide(name, question).finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, asking);
    return asking;
  }

  async #decide(name: string, question: LicenceQuestion): Promise<LicenceDecision | undefined> {
    try {
      const decision = await this.#limit.run('all', () => this.#service.decide(question));
      this.#measures.answered.inc();
      this.#measures.available.set(1);
      this.#keep(name, { decision, decidedAtMs: performance.now(), pausedUntilMs: 0 });
      return decision;
    } catch (error) {
      return this.#failed(name, error as Error);
    }
  }

  #failed(name: string, error: Error): LicenceDecision | undefined {
    // Too many questions wait: what is remembered may serve, and what is asked about is not at fault.
    const isAway = !(error instanceof NoDecision) || error.isAway;
    this.#measures.failed.inc();
    this.#measures.available.set(0);
    this.#warn(error);
    const { decision, decidedAtMs = 0 } = (isAway ? this.#known.get(name) : undefined) ?? {};
    const known = { decision, decidedAtMs, pausedUntilMs: performance.now() + pauseMs };
    this.#keep(name, known);
    return this.#oldDecision(known);
  }

  #keep(name: string, known: Known): void {
    this.#known.delete(name);
    if (this.#known.size >= entriesMax) this.#known.delete(this.#known.keys().next().value as string);
    this.#known.set(name, known);
  }

  #warn(error: Error): void {
    const nowMs = performance.now();
    if (nowMs - this.#warnedAtMs < warnedAgainMs) return;
    this.#warnedAtMs = nowMs;
    this.#log.warn(
      { reason: error.message },
      'the licence service gives no answer: requests may be answered 503',
    );
  }
}

function measuresOf(registry: Registry, count: () => number) {
  const registers = [registry];
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  new Gauge({
    name: 'entitlement_answers_remembered',
    help: 'Answers of the licence service, and its failures, that this process remembers.',
    registers,
    collect() {
      this.set(count());
    },
  });
  const available = new Gauge({
    name: 'entitlement_available',
    help: 'Whether the last question to the licence service was answered.',
    registers,
  });
  available.set(1);
  return {
    available,
    answered: counter('entitlement_answers_total', 'Answers of the licence service.'),
    failed: counter('entitlement_failures_total', 'Questions that the licence service did not answer.'),
    degraded: counter(
      'entitlement_degraded_total',
      'Requests judged by an older answer while the licence service was away.',
    ),
    refused: counter('entitlement_refusals_total', 'Requests that the licence did not cover.'),
  };
}
