import { Counter, type Registry } from 'prom-client';

/** Counters of decision requests; absent in mode `local`. See docs/reference/README.md#service-endpoints. */
export interface PolicyCounters {
  /** Mode `policy`: decisions that the decision point didn't return. */
  readonly unavailable: Counter;
  readonly shadowChecks: Counter;
  readonly shadowDivergence: Counter;
  readonly shadowUnavailable: Counter;
  readonly shadowSkipped: Counter;
}

/** Returns the counters of a registry; the parts of one process share them. */
export function policyCounters(registry: Registry): PolicyCounters {
  const counter = (name: string, help: string) =>
    (registry.getSingleMetric(name) as Counter | undefined) ??
    new Counter({ name, help, registers: [registry] });
  return {
    unavailable: counter(
      'authz_policy_unavailable_total',
      'Decisions that the decision point did not return.',
    ),
    shadowChecks: counter('authz_shadow_checks_total', 'Local decisions compared with the decision point.'),
    shadowDivergence: counter(
      'authz_shadow_divergence_total',
      "Local decisions that differ from the decision point's.",
    ),
    shadowUnavailable: counter(
      'authz_shadow_unavailable_total',
      'Comparisons that failed because no decision was returned.',
    ),
    shadowSkipped: counter(
      'authz_shadow_skipped_total',
      'Local decisions that were not compared, because the queue was full.',
    ),
  };
}
