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

/** Whether callers are licensed for the feature that they use. See docs/reference/access.md#license-check. */
export interface Entitlement {
  /**
   * @returns undefined if a cached decision allows it, so that the usual case needs no await
   * @throws Refusal `not_entitled`, `entitlement_unavailable`
   */
  admit(question: LicenceQuestion): Promise<void> | undefined;
}

/** The cached decision for one subject and one feature; times are by `performance.now()`. */
interface Known {
  readonly decision: LicenceDecision | undefined;
  readonly decidedAtMs: number;
  /** After a failure, the license service isn't queried before this time. */
  readonly pausedUntilMs: number;
}

const entriesMax = 10_000;
/** The pause after a failure, so that requests don't wait one after the other for an unavailable service. */
const pauseMs = 1000;
const warnedAgainMs = 60_000;
const retryAfterSeconds = 5;
/** The maximum numbers of concurrent and queued queries. */
const questionBounds = { runningMax: 50, queuedMax: 1000 };

type EntitlementSettings = Pick<
  Settings,
  | 'CP_ENTITLEMENT_PRODUCT'
  | 'CP_ENTITLEMENT_CACHE_TTL_SECONDS'
  | 'CP_ENTITLEMENT_DEGRADED_MAX_AGE_SECONDS'
  | 'CP_ENTITLEMENT_TIMEOUT_SECONDS'
>;

/** Each process has its own cache of decisions; `/metrics` reports the size of the cache. */
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

  /** The decision to use while the license service is unavailable. */
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

  /** Concurrent callers share one query for the same subject and feature. Returns undefined if the query failed. */
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
    // If the queue is full, a cached decision may be used, and the failure isn't recorded against the subject.
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
      'the license service does not respond: requests may be refused with 503',
    );
  }
}

function measuresOf(registry: Registry, count: () => number) {
  const registers = [registry];
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  new Gauge({
    name: 'entitlement_answers_remembered',
    help: 'Decisions and failures of the license service that this process has cached.',
    registers,
    collect() {
      this.set(count());
    },
  });
  const available = new Gauge({
    name: 'entitlement_available',
    help: 'Whether the last query of the license service succeeded.',
    registers,
  });
  available.set(1);
  return {
    available,
    answered: counter('entitlement_answers_total', 'Responses of the license service.'),
    failed: counter('entitlement_failures_total', 'Failed queries of the license service.'),
    degraded: counter(
      'entitlement_degraded_total',
      'Requests decided by a cached decision while the license service was unavailable.',
    ),
    refused: counter('entitlement_refusals_total', 'Requests that the license did not cover.'),
  };
}
