import { Counter, type Registry } from 'prom-client';

/** What is counted where a decision point is asked (core, section 2); other modes don't have these. */
export interface PolicyCounters {
  /** Of mode `policy`: decisions that the point didn't give. */
  readonly unavailable: Counter;
  readonly shadowChecks: Counter;
  readonly shadowDivergence: Counter;
  readonly shadowUnavailable: Counter;
  readonly shadowSkipped: Counter;
}

/** The parts of one process share a registry, and then these. */
export function policyCounters(registry: Registry): PolicyCounters {
  const counter = (name: string, help: string) =>
    (registry.getSingleMetric(name) as Counter | undefined) ??
    new Counter({ name, help, registers: [registry] });
  return {
    unavailable: counter('authz_policy_unavailable_total', 'Decisions that the decision point did not give.'),
    shadowChecks: counter('authz_shadow_checks_total', 'Checks that the decision point was asked beside.'),
    shadowDivergence: counter('authz_shadow_divergence_total', 'Checks that it would decide otherwise.'),
    shadowUnavailable: counter('authz_shadow_unavailable_total', 'Checks to which it gave no answer.'),
    shadowSkipped: counter(
      'authz_shadow_skipped_total',
      'Checks that it was not asked beside, because too many waited.',
    ),
  };
}
