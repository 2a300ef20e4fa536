import type { Job, JobTools } from '../../service/job.ts';
import { createTenantTurns, turnEntriesMax } from '../../service/tenant-turns/tenant-turns.ts';
import { isUnavailable } from '../acts/work-item.ts';
import { ruleConsumer } from '../catalog/rules.ts';
import type { Context } from '../context.ts';
import { createTurnJob } from '../journal-turns/turn-job.ts';
import { AuthorityChanged } from './authorities.ts';
import { findDueRules, findTenantsOnSchedule } from './enabled-rules.sql.ts';
import { findDueEvaluations, findTenantsDue } from './evaluations.sql.ts';
import { continueEvaluation } from './pending-evaluations.ts';
import { runSchedule } from './schedule.ts';
import { takeTurn } from './turn.ts';

type Tools = JobTools<Context>;

/**
 * Evaluates the rules of each tenant for new events, in turns (docs/reference/README.md#background-work): the least
 * recently served tenant is first, so that a tenant with many events delays no other.
 */
export function runRules(tools: Tools): Job {
  const name = 'work-rules';
  return createTurnJob(tools, name, ruleConsumer, (tenantId) =>
    unlessChanged(() => tools.command(name, tenantId, takeTurn), false),
  );
}

/** Evaluates rules whose schedule is due, each in its own transaction, in turns by tenant. */
export function runRuleSchedules({ pool, command, log }: Tools): Job {
  const name = 'rule-schedules';
  return createTenantTurns(
    { name, log },
    {
      findTenants: async (...page) => idsOf(await pool.rows(findTenantsOnSchedule(...page))),
      find: async (tenantId, except) =>
        (await pool.rows(findDueRules(tenantId, except, turnEntriesMax))).map(({ id }) => id),
      handle: (tenantId, id) =>
        unlessChanged(() => command(name, tenantId, (context) => runSchedule(context, id)), 0),
      isOfTenant: isUnavailable,
    },
  );
}

/** Continues pending evaluations, each in its own transaction, in turns by tenant. */
export function continuePendingEvaluations({ pool, command, log }: Tools): Job {
  const name = 'rule-evaluations';
  return createTenantTurns(
    { name, log },
    {
      findTenants: async (...page) => idsOf(await pool.rows(findTenantsDue(...page))),
      find: async (tenantId, except) =>
        (await pool.rows(findDueEvaluations(tenantId, except, turnEntriesMax))).map(({ id }) => id),
      handle: (tenantId, id) =>
        unlessChanged(() => command(name, tenantId, (context) => continueEvaluation(context, id)), 0),
      isOfTenant: isUnavailable,
    },
  );
}

const idsOf = (rows: readonly { tenant_id: string }[]) => rows.map((row) => row.tenant_id);

/** A transaction that was rolled back because a rule's authority changed is simply retried later. */
async function unlessChanged<T>(act: () => Promise<T>, instead: T): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof AuthorityChanged) return instead;
    throw error;
  }
}
