import { Counter, Gauge, type Registry, Summary } from 'prom-client';

/** The counters of coordination-core section 2 that this part moves. No tenant, task or run is ever a label. */
export interface Counters {
  claimTakeovers: Counter;
  staleFencingRejections: Counter;
  runCancellations: Counter;
  eventReplayRequests: Counter;
  eventReplayEvents: Counter;
  journalCursorsRefused: Counter;
  toolInvocationsDenied: Counter;
  /** Final evaluations of work rules, by what came of them. */
  ruleEvaluations: Counter<'result'>;
  /** By `result`: succeeded, failed, retried, cancelled. */
  skillInvocations: Counter<'result'>;
  contextRequests: Counter;
  contextDegraded: Counter;
  contextProviderFailures: Counter;
  contextRequestDuration: Summary;
  /** Each says for how many tenants a part of this process does not ask the memory service now. */
  contextCircuits: Set<() => number>;
}

export function createCounters(registry: Registry): Counters {
  const counter = (name: string, help: string) => new Counter({ name, help, registers: [registry] });
  return {
    claimTakeovers: counter('claim_takeovers_total', 'Dead claims replaced by a new one.'),
    staleFencingRejections: counter(
      'stale_fencing_rejections_total',
      'Writes refused because their claim or run was over.',
    ),
    runCancellations: counter('run_cancellations_total', 'Runs cancelled.'),
    eventReplayRequests: counter('event_replay_requests_total', 'Pages of the journal read.'),
    eventReplayEvents: counter('event_replay_events_total', 'Events handed out by pages.'),
    journalCursorsRefused: counter(
      'journal_cursors_refused_total',
      'Cursors of a history that this database does not have.',
    ),
    toolInvocationsDenied: counter(
      'tool_invocation_denied_total',
      'Calls of skills that a run, or the handle that it was launched by, may not make.',
    ),
    ruleEvaluations: new Counter({
      name: 'rule_evaluations_total',
      help: 'Final evaluations of work rules, by result.',
      labelNames: ['result'],
      registers: [registry],
    }),
    skillInvocations: new Counter({
      name: 'skill_invocation_attempts_total',
      help: 'Calls of skills, and attempts of them, that ended, by result.',
      labelNames: ['result'],
      registers: [registry],
    }),
    contextRequests: counter('context_requests_total', 'Contexts asked for.'),
    contextDegraded: counter(
      'context_degraded_total',
      'Contexts without what the memory service knows, because it did not say.',
    ),
    contextProviderFailures: counter(
      'context_provider_failures_total',
      'Calls to the memory service that failed or took too long.',
    ),
    contextRequestDuration: new Summary({
      name: 'context_request_duration_seconds',
      help: 'How long contexts took.',
      percentiles: [],
      registers: [registry],
    }),
    contextCircuits: circuitGauge(registry),
  };
}

/** The gauge is read when the metrics are: a circuit closes by the time alone. */
function circuitGauge(registry: Registry): Set<() => number> {
  const parts = new Set<() => number>();
  new Gauge({
    name: 'context_circuits_open',
    help: 'Tenants for which this process does not ask the memory service now, after repeated failures.',
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
