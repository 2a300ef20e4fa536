import { Counter, Gauge, type Registry, Summary } from 'prom-client';

/**
 * The counters of requests and jobs; labels never contain a tenant, task or run. See
 * docs/reference/README.md#service-endpoints.
 */
export interface Counters {
  claimTakeovers: Counter;
  staleFencingRejections: Counter;
  runCancellations: Counter;
  eventReplayRequests: Counter;
  eventReplayEvents: Counter;
  journalCursorsRefused: Counter;
  toolInvocationsDenied: Counter;
  /** Final evaluations of work rules, by outcome. */
  ruleEvaluations: Counter<'result'>;
  /** Skill calls by `result`: succeeded, failed, retried, cancelled. */
  skillInvocations: Counter<'result'>;
  contextRequests: Counter;
  contextDegraded: Counter;
  contextProviderFailures: Counter;
  contextRequestDuration: Summary;
  /**
   * Each function returns the number of tenants whose circuit to the memory service is open in one part of this
   * process.
   */
  contextCircuits: Set<() => number>;
}

export function createCounters(registry: Registry): Counters {
  const counter = (name: string, help: string) => new Counter({ name, help, registers: [registry] });
  return {
    claimTakeovers: counter('claim_takeovers_total', 'Expired claims replaced by a new one.'),
    staleFencingRejections: counter(
      'stale_fencing_rejections_total',
      'Writes refused because their claim or run had ended.',
    ),
    runCancellations: counter('run_cancellations_total', 'Runs cancelled.'),
    eventReplayRequests: counter('event_replay_requests_total', 'Pages of the journal read.'),
    eventReplayEvents: counter('event_replay_events_total', 'Events returned in pages.'),
    journalCursorsRefused: counter(
      'journal_cursors_refused_total',
      'Cursors of a history that this database does not have.',
    ),
    toolInvocationsDenied: counter(
      'tool_invocation_denied_total',
      'Skill invocations denied by the run, or by the handle that launched it.',
    ),
    ruleEvaluations: new Counter({
      name: 'rule_evaluations_total',
      help: 'Final evaluations of work rules, by result.',
      labelNames: ['result'],
      registers: [registry],
    }),
    skillInvocations: new Counter({
      name: 'skill_invocation_attempts_total',
      help: 'Ended skill invocations and their attempts, by result.',
      labelNames: ['result'],
      registers: [registry],
    }),
    contextRequests: counter('context_requests_total', 'Contexts requested.'),
    contextDegraded: counter(
      'context_degraded_total',
      'Contexts without a memory part, because the memory service did not return it.',
    ),
    contextProviderFailures: counter(
      'context_provider_failures_total',
      'Calls to the memory service that failed or timed out.',
    ),
    contextRequestDuration: new Summary({
      name: 'context_request_duration_seconds',
      help: 'Duration of context requests.',
      percentiles: [],
      registers: [registry],
    }),
    contextCircuits: circuitGauge(registry),
  };
}

/** The gauge is computed on each scrape, because a circuit closes when its time has passed, without any event. */
function circuitGauge(registry: Registry): Set<() => number> {
  const parts = new Set<() => number>();
  new Gauge({
    name: 'context_circuits_open',
    help: 'Tenants whose circuit to the memory service is open in this process, after repeated failures.',
    registers: [registry],
    collect() {
      this.set(openCircuitsOf(parts));
    },
  });
  return parts;
}

export function openCircuitsOf(parts: Counters['contextCircuits']): number {
  return [...parts].reduce((sum, count) => sum + count(), 0);
}
